// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"
)

// Name is the name of a table as a tuple. Its parts are never joined for a
// comparison: a table that is called "audit.log" is not log in audit.
type Name struct {
	// Schema is empty where the default one is meant.
	Schema, Name string
}

// ParseName reads an entry of allowed_tables: name, schema.name, or either part
// in double quotes, in which "" is one quote: audit.log, "we;ird", public."a.b".
// Parts are taken as they stand, upper and lower case included.
func ParseName(s string) (Name, error) {
	first, rest, err := namePart(s)
	if err != nil {
		return Name{}, err
	}
	if rest == "" {
		return Name{Name: first}, nil
	}
	second, rest, err := namePart(rest[1:])
	if err != nil {
		return Name{}, err
	}
	if rest != "" {
		return Name{}, errors.New("a name has at most two parts, schema.name; put a part that holds a dot in double quotes")
	}
	return Name{Schema: first, Name: second}, nil
}

// namePart takes the first part of s. rest is empty or begins with the dot.
func namePart(s string) (part, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		var b strings.Builder
		for i := 1; i < len(s); i++ {
			if s[i] != '"' {
				b.WriteByte(s[i])
				continue
			}
			if i+1 < len(s) && s[i+1] == '"' {
				b.WriteByte('"')
				i++
				continue
			}
			part, rest = b.String(), s[i+1:]
			switch {
			case part == "":
				return "", "", errors.New("a part of the name is empty")
			case rest != "" && rest[0] != '.':
				return "", "", errors.New("something stands behind the closing quote")
			}
			return part, rest, nil
		}
		return "", "", errors.New("a double quote is not closed")
	}
	part, rest = s, ""
	if i := strings.IndexByte(s, '.'); i >= 0 {
		part, rest = s[:i], s[i:]
	}
	switch {
	case part == "":
		return "", "", errors.New("a part of the name is empty")
	case strings.ContainsRune(part, '"'):
		return "", "", errors.New(`a part that holds a double quote stands in double quotes itself, with "" for each`)
	}
	return part, rest, nil
}

// String is the name as [ParseName] reads it.
func (n Name) String() string {
	if n.Schema == "" {
		return quotePart(n.Name)
	}
	return quotePart(n.Schema) + "." + quotePart(n.Name)
}

func quotePart(s string) string {
	if s != "" && !strings.ContainsAny(s, `."`) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
