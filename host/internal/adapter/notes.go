// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import "fmt"

// maxNotes of one kind are shown: they are for people, and an adapter may give
// cause for any number.
const maxNotes = 20

// Few returns the first notes, and in the place of the rest how many they are.
func Few(notes []string) []string {
	if len(notes) <= maxNotes {
		return notes
	}
	return append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more like these", len(notes)-maxNotes))
}
