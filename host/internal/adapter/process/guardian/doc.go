// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package guardian is the process between the host and a plugin: the host's own
// program, executed again. Whatever the plugin starts becomes the guardian's child
// once its own parent is gone, also what has left its group and its session; when
// the plugin ends, or the host does, the guardian ends all of it. It also puts the
// plugin into its sandbox. Only Linux has what this needs.
//
// It imports little, and acts from its init, before the packages of the host are
// initialised: so it costs a few milliseconds and about a megabyte, and programs
// that embed the host, and tests, need to know nothing of it.
package guardian

// Word is the hidden first argument of the program that makes it a guardian; the
// plugin's path and arguments follow. The host holds the other end of file
// descriptor 3, a socket: the guardian ends the plugin when it is closed.
const Word = "toolwharf-guardian"

// What a guardian tells the host, a line each.
const (
	// Started is followed by the plugin's process id.
	Started = "started "
	// Refused is followed by the errno of the execution that failed.
	Refused = "refused "
	// Unconfined is followed by why the plugin could not be confined, or is not what
	// it was to be.
	Unconfined = "unconfined "
	// Clear says that nothing of the plugin is left. The signal follows that has
	// ended it, or 0: the first process of a pid namespace cannot end by a signal as
	// the plugin did.
	Clear = "clear "
)
