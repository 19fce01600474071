// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package logline

import (
	"encoding/json"
	"io"
	"strings"
)

// MaxLine is the longest line in bytes. A host reads lines into a buffer; what
// is longer would come in pieces and lose its level.
const MaxLine = 32 << 10

// cutter replaces lines that are too long by what matters of them.
type cutter struct{ w io.Writer }

func (c cutter) Write(line []byte) (int, error) {
	short := line
	if len(line) > MaxLine {
		short = shorten(line)
	}
	if _, err := c.w.Write(short); err != nil {
		return 0, err
	}
	return len(line), nil
}

// shorten drops the attributes of a line and cuts its message.
func shorten(line []byte) []byte {
	var whole struct {
		Timestamp string `json:"@timestamp"`
		Level     string `json:"@level"`
		Message   string `json:"@message"`
		Module    string `json:"@module"`
		CutFrom   int    `json:"cut_from_bytes"`
	}
	_ = json.Unmarshal(line, &whole)
	whole.CutFrom = len(line)
	// Every byte may be written as six.
	if most := (MaxLine - 1024) / 6; len(whole.Message) > most {
		whole.Message = strings.ToValidUTF8(whole.Message[:most], "") + "..."
	}
	short, err := json.Marshal(whole)
	if err != nil {
		return nil // texts and a number: it cannot be
	}
	return append(short, '\n')
}
