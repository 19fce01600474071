// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxExpanded is how many bytes one tree may grow to by its references: a
// short file with many references to large ones must not fill the memory. It
// is below the 16 MiB of one plugin message.
const MaxExpanded = 8 << 20

// ErrExpanded is returned when references exceed MaxExpanded.
var ErrExpanded = errors.New("the values behind the references are larger than 8 MiB together")

// Missing is a reference that leads nowhere.
type Missing struct {
	Ref     Ref
	Pointer string // RFC 6901, within the tree; empty for a single string
	Reason  string // "is not set", "no such file", ...
}

// String is the reference and the reason, without the place.
func (m Missing) String() string {
	if m.Ref.File != "" {
		return m.Ref.String() + ": " + m.Reason
	}
	return m.Ref.String() + " " + m.Reason
}

// Expand replaces the references of s. When one is missing or cannot be read,
// the text is empty: half an expansion is never handed out. The error is a
// *SyntaxError or ErrExpanded.
func Expand(s string, src Source) (string, []Missing, error) {
	e := expander{src: src}
	out := e.text(s, "")
	if len(e.missing) > 0 || len(e.errs) > 0 {
		return "", e.missing, errors.Join(e.errs...)
	}
	return out, nil, nil
}

// ExpandTree replaces the references in every string of a JSON tree
// (map[string]any, []any and scalars); keys are left alone and v is not
// changed. A file is read once for the whole tree. secrets are the values that
// stand behind the references, each once, so that they can be redacted later.
// When something is missing or cannot be read, the tree is nil and the lists
// are complete; the error joins every *SyntaxError.
func ExpandTree(v any, src Source) (tree any, missing []Missing, secrets []string, err error) {
	e := expander{src: src}
	tree = e.tree(v, "")
	if len(e.missing) > 0 || len(e.errs) > 0 {
		return nil, e.missing, nil, errors.Join(e.errs...)
	}
	return tree, nil, e.secrets(), nil
}

// expander is the state of one expansion.
type expander struct {
	src     Source
	values  map[Ref]string // found
	absent  map[Ref]string // not found, with the reason
	size    int
	missing []Missing
	errs    []error
}

func (e *expander) tree(v any, pointer string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = e.tree(v[key], pointer+"/"+escapeToken(key))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = e.tree(item, pointer+"/"+strconv.Itoa(i))
		}
		return out
	case string:
		return e.text(v, pointer)
	}
	return v
}

func (e *expander) text(s, pointer string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	pieces, err := split(s)
	if err != nil {
		if syntax, ok := errors.AsType[*SyntaxError](err); ok {
			syntax.Pointer = pointer
		}
		e.errs = append(e.errs, err)
		return ""
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.ref == (Ref{}) {
			b.WriteString(p.text)
			continue
		}
		value, why := e.value(p.ref)
		if why != "" {
			e.missing = append(e.missing, Missing{Ref: p.ref, Pointer: pointer, Reason: why})
			continue
		}
		if e.size > MaxExpanded {
			continue
		}
		if e.size += len(value); e.size > MaxExpanded {
			e.errs = append(e.errs, ErrExpanded)
			continue
		}
		b.WriteString(value)
	}
	return b.String()
}

// value looks ref up once; why says why there is none.
func (e *expander) value(ref Ref) (value, why string) {
	if value, ok := e.values[ref]; ok {
		return value, ""
	}
	if why, ok := e.absent[ref]; ok {
		return "", why
	}
	value, why = lookup(ref, e.src)
	if why != "" {
		if e.absent == nil {
			e.absent = map[Ref]string{}
		}
		e.absent[ref] = why
		return "", why
	}
	if e.values == nil {
		e.values = map[Ref]string{}
	}
	e.values[ref] = value
	return value, ""
}

func (e *expander) secrets() []string {
	out := slices.Sorted(maps.Values(e.values))
	return slices.Compact(out)
}

func lookup(ref Ref, src Source) (value, why string) {
	if ref.File == "" {
		value, ok := src.Env(ref.Env)
		switch {
		case !ok:
			return "", "is not set"
		case value == "":
			return "", "is set but empty"
		}
		return value, unusable(value, "is")
	}
	data, err := src.File(ref.File)
	if err != nil {
		return "", reason(err)
	}
	if len(data) > MaxFile { // a Source of a test or an embedder may not look
		return "", ErrTooLarge.Error()
	}
	value = trimNewline(string(data))
	if value == "" {
		return "", "the file is empty"
	}
	return value, unusable(value, "the file is")
}

// unusable says why a value cannot stand in JSON or an environment.
func unusable(value, subject string) string {
	switch {
	case !utf8.ValidString(value):
		return fmt.Sprintf("%s not UTF-8 text", subject)
	case strings.ContainsRune(value, 0):
		return fmt.Sprintf("%s not text: it holds a NUL byte", subject)
	}
	return ""
}

// trimNewline drops the one line break that editors and echo leave behind. A
// second one is content.
func trimNewline(s string) string {
	if t, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(t, "\r")
	}
	return s
}

func escapeToken(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}
