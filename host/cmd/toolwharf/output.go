// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
)

// print writes v as JSON.
func print(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// table writes rows under a header, in columns.
func table(w io.Writer, header string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, header)
	for _, r := range rows {
		for i, cell := range r {
			r[i] = printable(cell)
		}
		_, _ = fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// printable replaces what a terminal would act upon: names and descriptions
// come from plugins.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// firstLine of s, cut at about max characters.
func firstLine(s string, max int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(line); len(runes) > max {
		return strings.TrimSpace(string(runes[:max])) + "..."
	}
	return line
}
