// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package pin knows programs and tools again: the hash of an executable, of a
// folder with everything in it, and the fingerprint of each tool's spec. They
// are named in toolwharf.lock, which only an operator writes, and what is in
// the way between "as it was accepted" and "as it is now" is held back here.
package pin
