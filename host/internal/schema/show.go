// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shown cuts a text to about limit bytes and escapes what does not print:
// control and bidirectional characters would let it pose as something else.
func shown(s string, limit int) string {
	var b strings.Builder
	for i, r := range s {
		if b.Len() >= limit && i < len(s) {
			return b.String() + "…"
		}
		if r != utf8.RuneError && strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// show writes a value as JSON, cut to maxShown bytes.
func show(v any) string { return shown(string(appendCut(nil, v)), maxShown) }

// appendCut writes JSON, but not much more than is shown.
func appendCut(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case json.Number:
		return append(out, v...)
	case string:
		cut := v[:min(len(v), maxShown)]
		return append(out, quote(strings.ToValidUTF8(cut, ""))...)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if len(out) > maxShown {
				return out
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCut(out, item)
		}
		return append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if len(out) > maxShown {
				return out
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, quote(name)...), ':')
			out = appendCut(out, v[name])
		}
		return append(out, '}')
	default:
		return fmt.Append(out, v)
	}
}

// list joins what show makes of each, and says how many it left out.
func list[T any](all []T, show func(T) string) string {
	var b strings.Builder
	for i, v := range all {
		if b.Len() > maxList {
			return b.String() + fmt.Sprintf(" and %d more", len(all)-i)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(show(v))
	}
	return b.String()
}

// spell writes a path as a person would: filter.items[2].price.
func spell(path []string, value any) string {
	var b strings.Builder
	for _, token := range path {
		switch v := value.(type) {
		case []any:
			b.WriteString("[" + token + "]")
			value, _ = step(v, token)
			continue
		default:
			value, _ = step(v, token)
		}
		switch {
		case !isWord(token):
			b.WriteString("[" + shown(quote(token), maxShown) + "]")
		case b.Len() > 0:
			b.WriteString("." + shown(token, maxShown))
		default:
			b.WriteString(shown(token, maxShown))
		}
		if b.Len() > 4*maxShown {
			return b.String() + "…"
		}
	}
	return b.String()
}

// isWord reports whether a name reads well between dots.
func isWord(name string) bool {
	return name != "" && !strings.ContainsAny(name, ".[]\" \t\r\n")
}

// find returns the value that a path leads to.
func find(path []string, value any) (any, bool) {
	for _, token := range path {
		var ok bool
		if value, ok = step(value, token); !ok {
			return nil, false
		}
	}
	return value, true
}

func step(value any, token string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		sub, ok := v[token]
		return sub, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// decimal writes a number exactly where that is short.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return shown(r.Num().String(), maxShown)
	}
	if digits, exact := r.FloatPrec(); exact && digits <= maxShown {
		return shown(r.FloatString(digits), maxShown)
	}
	return new(big.Float).SetRat(r).Text('g', 17)
}

// typeName returns the JSON type of a value.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}
