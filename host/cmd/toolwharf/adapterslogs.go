// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

func (p *program) adaptersLogs() *cobra.Command {
	var n int
	var follow bool
	c := &cobra.Command{
		Use: "logs NAME", Short: "Show what an adapter's process wrote to stderr", Args: cobra.ExactArgs(1),
		Long: "Logs shows the last lines that an adapter's processes wrote to stderr, as far as the running host keeps\n" +
			"them (1,000 lines, 64 KiB), without the adapter's secrets. With --json each line is a JSON object.",
		Example: "  toolwharf adapters logs orders\n  toolwharf adapters logs orders --follow -n 0",
		RunE: func(c *cobra.Command, args []string) error {
			if n < 0 || n > maxLogLines {
				return &usageError{fmt.Errorf("-n %d: it is 0 to %d", n, maxLogLines)}
			}
			host, err := p.runningHostOf(c)
			if err != nil {
				return err
			}
			for line, err := range host.Logs(c.Context(), args[0], n, follow) {
				if follow && c.Context().Err() != nil {
					return nil // Ctrl-C is how it ends
				}
				if err == nil {
					err = p.printLine(c.OutOrStdout(), line)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", 100, "how many lines, the last `N`")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the lines that come, until Ctrl-C")
	return c
}

// maxLogLines a host keeps.
const maxLogLines = 1000

func (p *program) printLine(w io.Writer, line control.LogLine) error {
	if p.json {
		return json.NewEncoder(w).Encode(line)
	}
	_, err := fmt.Fprintf(w, "%s %-5s %s%s\n", line.Time.Format(time.RFC3339), strings.ToUpper(line.Level), printable(line.Message), attributes(line.Attributes))
	return err
}

// attributes are those of a line, as " key=value" each.
func attributes(raw json.RawMessage) string {
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil { // none, or the brace
		return ""
	}
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return b.String()
		}
		fmt.Fprintf(&b, " %v=%s", key, value)
	}
	return printable(b.String())
}
