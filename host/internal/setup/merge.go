// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any
}

// write writes o at an indentation, as people write such files.
func (o object) write(indent, step, newline string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(newline + indent + step + quote(m.key) + ": " + compact(m.value, indent+step, step, newline))
	}
	b.WriteString(newline + indent + "}")
	return b.String()
}

// compact writes a value; lists of text stand on one line.
func compact(v any, indent, step, newline string) string {
	switch v := v.(type) {
	case object:
		return v.write(indent, step, newline)
	case string:
		return quote(v)
	case json.RawMessage:
		return string(v)
	case []string:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = quote(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case map[string]string:
		var o object
		for _, key := range sortedKeys(v) {
			o = append(o, member{key, v[key]})
		}
		return o.write(indent, step, newline)
	}
	panic(fmt.Sprintf("setup: a %T in an entry", v))
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// snippet is a whole file with nothing but the entry.
func snippet(section, name string, body object) string {
	return object{{section, object{{name, body}}}}.write("", "  ", "\n")
}

// reach are the keys that say how a server is reached, in all dialects. Of an
// older entry they are replaced; the rest, such as disabled, is the user's.
var reach = []string{"type", "command", "args", "url", "serverUrl", "httpUrl"}

// merge puts an entry into a client's file. Nothing but the entry changes.
// Errors begin with a line, as in "3: ...".
func merge(data []byte, section, name string, body object) ([]byte, error) {
	bom := []byte("\ufeff")
	text, marked := bytes.CutPrefix(data, bom)
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte(snippet(section, name, body) + "\n"), nil
	}
	if err := readable(text); err != nil {
		return nil, err
	}
	root, err := members(text, 0)
	if err != nil {
		return nil, err
	}
	style := styleOf(text)
	out, err := style.put(text, root, section, name, body)
	if err != nil {
		return nil, err
	}
	if !json.Valid(out) {
		return nil, fmt.Errorf("1: the edited file would be no JSON: %w", ErrNotRewritten)
	}
	if marked {
		out = append(bom, out...)
	}
	return out, nil
}

// put edits text, whose members are known.
func (s style) put(text []byte, root parsed, section, name string, body object) ([]byte, error) {
	sec, ok, err := root.member(text, section)
	if err != nil {
		return nil, err
	}
	if !ok {
		value := object{{name, body}}.write(s.step, s.step, s.newline)
		return s.insert(text, root, section, value, ""), nil
	}
	servers, err := members(text, sec.start)
	if err != nil {
		return nil, fmt.Errorf("%d: %q is not an object: %w", lineOf(text, sec.start), section, ErrNotRewritten)
	}
	old, ok, err := servers.member(text, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return s.insert(text, servers, name, body.write(s.step+s.step, s.step, s.newline), s.step), nil
	}
	merged := keep(text, old, body)
	if same(text[old.start:old.end], merged) {
		return text, nil
	}
	return splice(text, old.start, old.end, merged.write(s.step+s.step, s.step, s.newline)), nil
}

// keep adds to body what an older entry has beside how it is reached.
func keep(text []byte, old span, body object) object {
	entry, err := members(text, old.start)
	if err != nil { // not an object: nothing of it can be kept
		return body
	}
	out := slices.Clone(body)
	for _, m := range entry.members {
		replaced := slices.Contains(reach, m.key) ||
			slices.ContainsFunc(body, func(b member) bool { return b.key == m.key })
		if !replaced {
			out = append(out, member{m.key, json.RawMessage(text[m.start:m.end])})
		}
	}
	return out
}

// same reports whether an entry says already what it should.
func same(old []byte, want object) bool {
	var a, b any
	if json.Unmarshal(old, &a) != nil || json.Unmarshal([]byte(want.write("", "", "")), &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

// insert adds a member after the last one of an object.
func (s style) insert(text []byte, o parsed, key, value, indent string) []byte {
	line := s.newline + indent + s.step + quote(key) + ": " + value
	if n := len(o.members); n > 0 {
		last := o.members[n-1].end
		if !bytes.Contains(text[last:o.end], []byte("\n")) {
			line += s.newline + indent // the closing brace gets a line of its own
		}
		return splice(text, last, last, ","+line)
	}
	return splice(text, o.start+1, o.end-1, line+s.newline+indent)
}

func splice(text []byte, start, end int, with string) []byte {
	return slices.Concat(text[:start], []byte(with), text[end:])
}

// readable refuses what is no plain JSON. Comments would survive our edit, but
// finding one's way between them takes a parser that the clients do not share.
func readable(text []byte) error {
	if at := comment(text); at >= 0 {
		return fmt.Errorf("%d: has comments, which an edit could misplace: %w", lineOf(text, at), ErrNotRewritten)
	}
	var v any
	err := json.Unmarshal(text, &v)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := int(syntax.Offset) - 1
		hint := ""
		if before := bytes.TrimRight(text[:max(at, 0)], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
			hint = " (after a comma)"
		}
		return fmt.Errorf("%d: is not valid JSON: %s%s: %w", lineOf(text, at), syntax.Error(), hint, ErrNotRewritten)
	}
	return fmt.Errorf("1: is not valid JSON: %w: %w", err, ErrNotRewritten)
}

// comment is where the first comment begins, outside of strings; -1: nowhere.
func comment(text []byte) int {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && c == '/' && i+1 < len(text) && (text[i+1] == '/' || text[i+1] == '*'):
			return i
		}
	}
	return -1
}

// lineOf is the line of an offset, from 1.
func lineOf(text []byte, at int) int {
	return bytes.Count(text[:min(max(at, 0), len(text))], []byte("\n")) + 1
}

// span is a value within a text.
type span struct{ start, end int }

// parsed is an object within a text.
type parsed struct {
	span
	members []parsedMember
}

type parsedMember struct {
	key string
	span
}

// member finds a key. Readers differ in which of two equal keys they take, so
// two are refused.
func (p parsed) member(text []byte, key string) (found span, ok bool, err error) {
	for _, m := range p.members {
		if m.key != key {
			continue
		}
		if ok {
			return span{}, false, fmt.Errorf("%d: the key %q stands twice: %w", lineOf(text, m.start), key, ErrNotRewritten)
		}
		found, ok = m.span, true
	}
	return found, ok, nil
}

// members reads the object that begins at or after an offset of valid JSON.
func members(text []byte, from int) (parsed, error) {
	dec := json.NewDecoder(bytes.NewReader(text[from:]))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		return parsed{}, fmt.Errorf("%d: is not a JSON object: %w", lineOf(text, from), ErrNotRewritten)
	}
	p := parsed{span: span{start: from + int(dec.InputOffset()) - 1}}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return parsed{}, err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return parsed{}, err
		}
		end := from + int(dec.InputOffset())
		name, _ := key.(string)
		p.members = append(p.members, parsedMember{name, span{end - len(raw), end}})
	}
	if _, err := dec.Token(); err != nil {
		return parsed{}, err
	}
	p.end = from + int(dec.InputOffset())
	return p, nil
}

// style is how a file is laid out.
type style struct{ step, newline string }

// styleOf takes the first indented line as the step: two blanks where there is
// none.
func styleOf(text []byte) style {
	s := style{step: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(bytes.TrimSpace(rest)) > 0 {
			s.step = string(line[:n])
			break
		}
	}
	return s
}
