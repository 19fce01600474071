// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// mostDecoded is how often percent signs are decoded: whoever serves a URI does it
// once, some do it once more.
const mostDecoded = 2

// spellings are what else a resource may be called by, nil if there is nothing. The
// client spells the URI of a member of a family, and an adapter may take
// "file:///docs/%73ecret", "file:///docs/a/../secret" and "file:///docs/secret" for
// the same. Tools and prompts have no URI and only one spelling.
func spellings(name string) []string {
	kind, uri := split(name)
	if kind == "" || isTidy(uri) {
		return nil
	}
	forms := []string{uri}
	for range mostDecoded {
		forms = append(forms, decoded(forms[len(forms)-1]))
	}
	for _, f := range slices.Clone(forms) {
		forms = append(forms, norm.NFC.String(f), norm.NFD.String(f), norm.NFKC.String(f))
	}
	for _, f := range slices.Clone(forms) {
		forms = append(forms, tidied(f))
	}
	slices.Sort(forms)
	forms = slices.Compact(forms)
	out := make([]string, 0, len(forms))
	for _, f := range forms {
		if f != uri {
			out = append(out, kind+":"+f)
		}
	}
	return out
}

// isTidy reports whether there is but one way to read a URI.
func isTidy(uri string) bool {
	for i := range len(uri) {
		if c := uri[i]; c == '%' || c >= 0x80 {
			return false
		}
	}
	return tidied(uri) == uri
}

// decoded decodes percent signs, where two hexadecimal digits follow.
func decoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := digit(s[i+1]), digit(s[i+2]); hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo)) //nolint:gosec // two digits
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func digit(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }

// tidied is a URI whose scheme and authority are in lower case and whose path has
// no empty segments and none of dots (RFC 3986, 6.2.2).
func tidied(uri string) string {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return uri
	}
	authority := ""
	if after, has := strings.CutPrefix(rest, "//"); has {
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		authority, rest = "//"+strings.ToLower(after[:end]), after[end:]
	}
	tail := ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest, tail = rest[:i], rest[i:]
	}
	if rest != "" {
		clean := path.Clean(rest)
		if strings.HasSuffix(rest, "/") && clean != "/" {
			clean += "/"
		}
		rest = clean
	}
	return strings.ToLower(scheme) + ":" + authority + rest + tail
}
