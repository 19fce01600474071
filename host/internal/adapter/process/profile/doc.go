// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package profile says which files a program needs to run at all, before it does
// anything of its own: nothing but itself if it is static, the system's libraries
// if it is dynamic, an installation if it is interpreted. A sandbox is made of it,
// so it errs on the side of less: no home, no /tmp, no /run, no other program.
package profile
