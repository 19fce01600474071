// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package logbook

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/go-hclog"
)

// Bounds of one line.
const (
	// maxLine is how much of a line is read. Of a longer one, what is beyond half
	// of it is dropped: a secret that was cut in two is in the part that is
	// dropped.
	maxLine = 64 << 10
	// maxAttributes of one line, and how deep one may be.
	maxAttributes = 100
	maxDepth      = 16
)

// Unlevelled is the level of a line that does not say its own.
const Unlevelled = hclog.Debug

// parsed is what a line says.
type parsed struct {
	level      hclog.Level
	message    string
	attributes map[string]any // of JSON, numbers as json.Number
	plain      bool           // it says no level
}

// parse reads one line: a JSON object in hclog's form, "[WARN] text", or text.
func parse(raw []byte, redact func(raw []byte, isJSON bool) []byte) parsed {
	if len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
		if p, ok := parseJSON(redact(raw, true)); ok {
			return p
		}
	}
	text := string(redact(raw, false))
	if word, rest, ok := strings.Cut(text, "]"); ok && strings.HasPrefix(word, "[") {
		if level, known := levelOf(word[1:]); known {
			return parsed{level: level, message: printable(strings.TrimSpace(rest))}
		}
	}
	return parsed{level: Unlevelled, message: printable(text), plain: true}
}

// parseJSON reads hclog's form: @message, @level, @timestamp and @module are what
// the line is about, and all else are its attributes.
func parseJSON(raw []byte) (parsed, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return parsed{}, false
	}
	message, ok := object["@message"].(string)
	if !ok {
		return parsed{}, false
	}
	p := parsed{level: Unlevelled, message: printable(message), attributes: map[string]any{}}
	if word, ok := object["@level"].(string); ok {
		if level, known := levelOf(word); known {
			p.level = level
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch {
		case strings.HasPrefix(key, "@"): // time and module are the host's to say
		case len(p.attributes) < maxAttributes:
			p.attributes[printable(key)] = clean(object[key], maxDepth)
		default:
			p.attributes["attributes_cut_from"] = len(object)
		}
	}
	return p, true
}

func levelOf(word string) (level hclog.Level, known bool) {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "warning":
		return hclog.Warn, true
	case "fatal", "critical", "panic":
		return hclog.Error, true
	}
	level = hclog.LevelFromString(word)
	return level, level != hclog.NoLevel && level != hclog.Off
}

// clean returns a JSON value with its texts printable, and without what is too deep.
func clean(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return printable(v)
	case map[string]any:
		if depth == 0 {
			return "..."
		}
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[printable(key)] = clean(inner, depth-1)
		}
		return out
	case []any:
		if depth == 0 {
			return "..."
		}
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = clean(inner, depth-1)
		}
		return out
	default: // json.Number, bool, nil
		return v
	}
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

// line is what is kept of it, and its attributes as arguments of the log.
func (p *parsed) line() (Line, []any) {
	l := Line{Level: p.level, Message: p.message}
	if len(p.attributes) == 0 {
		return l, nil
	}
	if raw, err := json.Marshal(p.attributes); err == nil {
		l.Attributes = raw
	}
	args := make([]any, 0, 2*len(p.attributes))
	for _, key := range slices.Sorted(maps.Keys(p.attributes)) {
		args = append(args, key, p.attributes[key])
	}
	return l, args
}

// Plain is a line of stderr as a person reads it: what it says, without the form.
func Plain(raw string) string {
	p := parse([]byte(raw), func(raw []byte, _ bool) []byte { return raw })
	if l, _ := p.line(); l.Attributes != nil {
		return p.message + " " + string(l.Attributes)
	}
	return p.message
}
