// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
)

const (
	// maxLogLine is how much of one line is kept, in bytes.
	maxLogLine = 64 << 10
	// logRate is how much of a plugin's log is kept, in bytes a second, and at
	// once.
	logRate = 256 << 10
)

// launched is a process whose stderr is read here. go-plugin's own reader
// panics at a line such as {"@message":1}, and takes any @module that a plugin
// gives itself: a plugin could end the host, and speak in its name.
type launched struct {
	*process.Process
	log hclog.Logger
}

// Stderr is at its end when the process's is, and holds nothing.
func (l launched) Stderr() io.ReadCloser {
	stderr := l.Process.Stderr()
	return &logReader{Closer: stderr, lines: bufio.NewReaderSize(stderr, maxLogLine), log: l.log, pace: rate.NewLimiter(logRate, logRate)}
}

// logReader logs what there is to read, line by line.
type logReader struct {
	io.Closer
	lines *bufio.Reader
	log   hclog.Logger

	pace    *rate.Limiter // in bytes
	dropped int           // lines, since the last that was logged
	dying   bool          // a Go program's last words have begun
}

// Read reads everything and returns nothing of it.
func (r *logReader) Read([]byte) (int, error) {
	for {
		line, err := r.line()
		if len(line) > 0 {
			r.take(line)
		}
		if err != nil {
			r.tellDropped()
			if errors.Is(err, io.EOF) {
				return 0, io.EOF
			}
			return 0, err
		}
	}
}

// line is the next line, or the beginning of one that is too long.
func (r *logReader) line() ([]byte, error) {
	line, more, err := r.lines.ReadLine()
	if !more {
		return line, err
	}
	line = append(bytes.Clone(line), "..."...)
	for more && err == nil {
		_, more, err = r.lines.ReadLine()
	}
	return line, err
}

// take logs a line, unless there were too many.
func (r *logReader) take(line []byte) {
	if !r.pace.AllowN(time.Now(), len(line)+1) {
		r.dropped++
		return
	}
	r.tellDropped()
	level, message, attributes := parseLog(line, r.dying)
	r.dying = r.dying || dies(message)
	r.log.Log(level, message, attributes...)
}

func (r *logReader) tellDropped() {
	if r.dropped > 0 {
		r.log.Warn("lines of the plugin's log were dropped: it writes too fast", "lines", r.dropped, "bytes_per_second", logRate)
		r.dropped = 0
	}
}

// parseLog reads one line of a plugin's log: a JSON object in hclog's form, a
// line that begins with its level, or anything else.
func parseLog(line []byte, dying bool) (level hclog.Level, message string, attributes []any) {
	if level, message, attributes, ok := parseLogJSON(line); ok {
		return level, message, attributes
	}
	message = printable(string(line))
	if end := strings.IndexByte(message, ']'); end > 0 && message[0] == '[' {
		if level := hclog.LevelFromString(message[1:end]); level != hclog.NoLevel && level != hclog.Off {
			return level, strings.TrimSpace(message[end+1:]), nil
		}
	}
	if dying || dies(message) {
		return hclog.Error, message, nil
	}
	return hclog.Debug, message, nil
}

// dies: what follows is a Go program's stack.
func dies(message string) bool {
	return strings.HasPrefix(message, "panic: ") || strings.HasPrefix(message, "fatal error: ")
}

func parseLogJSON(line []byte) (level hclog.Level, message string, attributes []any, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return 0, "", nil, false
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber() // digits as they are
	if d.Decode(&object) != nil || d.InputOffset() != int64(len(line)) {
		return 0, "", nil, false
	}
	name, _ := object["@level"].(string)
	text, said := object["@message"].(string)
	level = hclog.LevelFromString(name)
	if !said || level == hclog.NoLevel || level == hclog.Off {
		return 0, "", nil, false
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		// Time and module are the host's to say.
		if !strings.HasPrefix(key, "@") {
			attributes = append(attributes, printable(key), printableValue(object[key]))
		}
	}
	return level, printable(text), attributes, true
}

// printable keeps a text on its line, and from commanding a terminal.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// printableValue does so with every text in a value.
func printableValue(v any) any {
	switch v := v.(type) {
	case string:
		return printable(v)
	case []any:
		for i := range v {
			v[i] = printableValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[printable(key)] = printableValue(value)
		}
		return clean
	}
	return v
}
