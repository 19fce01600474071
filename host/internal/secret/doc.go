// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package secret reads references to secrets inside text: ${NAME} is a variable
// of the host's environment, ${file:/path} the content of a file, and $${ a
// literal ${. Everything else, a lone $ and $NAME included, is text.
//
// A reference that leads nowhere is reported, never replaced by nothing: an
// empty password that fails far away is the worst form of a missing one. No
// error of this package shows a value or any part of the text around it.
package secret
