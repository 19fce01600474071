// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strconv"
	"strings"
	"unicode"
)

// suggest says which of the known words the user may have meant, or lists them
// when there are few.
func suggest(word string, known []string) string {
	if best := closest(word, known); best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	const few = 16
	if len(known) == 0 || len(known) > few {
		return ""
	}
	return "known keys: " + strings.Join(known, ", ")
}

// didYouMean is suggest without the list.
func didYouMean(word string, known []string) string {
	if best := closest(word, known); best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	return ""
}

// closest is the known word within a third of the word's length; "" when none
// is so close. Case, - and _ do not count: maxInFlight means max_in_flight.
func closest(word string, known []string) string {
	const longest = 64 // nothing known is longer, and the distance is quadratic
	if len(word) > longest {
		return ""
	}
	best, least := "", len(word)/3+1
	word = fold(word)
	for _, k := range known {
		if d := distance(word, fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance is the Damerau-Levenshtein distance (optimal string alignment): a
// swap of neighbours counts once.
func distance(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	before, last, this := row(), row(), row()
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		this[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			this[j] = min(last[j]+1, this[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				this[j] = min(this[j], before[j-2]+1)
			}
		}
		before, last, this = last, this, before
	}
	return last[len(b)]
}
