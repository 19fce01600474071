// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// kind is one kind of secret.
type kind struct {
	name    string
	pattern *regexp.Regexp
}

// wellKnown are secrets that can be told by their form. Each is long and peculiar
// enough that little else looks like it.
func wellKnown() []kind {
	return []kind{
		{"private key", regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?s:.*?-----END (?:[A-Z]+ )*PRIVATE KEY-----)?`)},
		{"AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
		{"GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b`)},
		{"Slack token", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
		{"JSON web token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
		{"password in a URL", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/?#@]+:[^\s/?#@]+@`)},
	}
}

// findings are the kinds of secrets that were found, each once.
type findings struct {
	kinds  []string
	inKeys bool // one was the key of an object, where masking would lose it
}

func (f *findings) none() bool     { return len(f.kinds) == 0 }
func (f *findings) String() string { return strings.Join(f.kinds, ", ") }

// text masks the secrets in a text.
func (s *scanner) text(text string, f *findings) string {
	for _, k := range s.kinds {
		if !k.pattern.MatchString(text) {
			continue
		}
		if !slices.Contains(f.kinds, k.name) {
			f.kinds = append(f.kinds, k.name)
		}
		text = k.pattern.ReplaceAllLiteralString(text, "["+k.name+"]")
	}
	return text
}

// document masks the secrets in the texts of a JSON document. The texts are looked at
// as they are meant, not as they are escaped; numbers keep their digits.
func (s *scanner) document(data json.RawMessage, f *findings) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading what is scanned: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("reading what is scanned: more than one JSON value")
	}
	value = s.value(value, f)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("writing what was scanned: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func (s *scanner) value(v any, f *findings) any {
	switch v := v.(type) {
	case string:
		return s.text(v, f)
	case []any:
		for i := range v {
			v[i] = s.value(v[i], f)
		}
	case map[string]any:
		for key := range v {
			if s.text(key, f) != key {
				f.inKeys = true
			}
			v[key] = s.value(v[key], f)
		}
	}
	return v
}
