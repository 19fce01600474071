// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault carries every fault of a file at once, each with the key that
// it is about and the line where that key stands. A reader of configuration
// that stops at the first fault makes its user start it once per mistake.
package fault
