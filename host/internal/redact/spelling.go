// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings returns every text that is looked for, without doubles.
func spellings(secrets []string) []string {
	seen := map[string]bool{}
	for _, s := range secrets {
		for _, part := range parts(s) {
			for _, text := range ways(part) {
				if len(text) >= MinSecret {
					seen[text] = true
				}
			}
		}
	}
	patterns := make([]string, 0, len(seen))
	for text := range seen {
		patterns = append(patterns, text)
	}
	slices.Sort(patterns)
	return patterns
}

// Passwords inside connection strings are what error messages like to repeat.
var (
	inUserInfo = regexp.MustCompile(`^[^:/@\s]+:(.+)@`)
	inPairs    = regexp.MustCompile(`(?i)\b(?:password|pwd)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^\s;]+))`)
)

// parts returns the secret, its lines if there are several, and the password in
// it if it is a connection string; those that are long enough. The frame of PEM
// is no secret.
func parts(secret string) []string {
	var all []string
	add := func(s string) {
		if len(s) >= MinSecret && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	add(secret)
	if strings.ContainsAny(secret, "\r\n") {
		for line := range strings.FieldsFuncSeq(secret, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				add(line)
			}
		}
	}
	if u, err := url.Parse(secret); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
	}
	if m := inUserInfo.FindStringSubmatch(secret); m != nil {
		add(m[1])
	}
	for _, m := range inPairs.FindAllStringSubmatch(secret, -1) {
		add(m[1] + m[2] + m[3])
	}
	return all
}

// ways returns how a secret may be spelled.
func ways(secret string) []string {
	all := []string{secret}
	all = append(all, inBase64(secret)...)
	all = append(all, inURL(secret)...)
	return append(all, inJSON(secret)...)
}

// inBase64 returns what is always there when the secret is inside something that
// is encoded, at each of the three places where it can begin in a group of three
// bytes. The characters at both ends, which it shares with its neighbours, are
// not part of it; they tell up to four of its bits each. Padding plays no role.
func inBase64(secret string) []string {
	var all []string
	for before := range 3 {
		in := append(make([]byte, before), secret...)
		first := (before*8 + 5) / 6
		last := len(in) * 8 / 6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, e.EncodeToString(in)[first:last])
		}
	}
	return all
}

// inURL returns the percent-encodings in use: of queries and of paths in Go, of
// encodeURIComponent and encodeURI in JavaScript, of RFC 3986 with nothing
// reserved left, of forms; each in both cases of hex.
func inURL(secret string) []string {
	var all []string
	for _, plain := range []string{
		"-_.~",                 // RFC 3986, unreserved; url.QueryEscape but for the blank
		"-_.!~*'()",            // encodeURIComponent
		"-_.!~*'();/?:@&=+$,#", // encodeURI
		"-_.~$&+:=@",           // url.PathEscape
		"-_.~!$&'()*+,;=",      // url.UserPassword, and more than one server
		"-_.*",                 // forms in browsers
	} {
		for _, hex := range []string{"%%%02X", "%%%02x"} {
			text := percent(secret, plain, hex)
			all = append(all, text, strings.ReplaceAll(text, "%20", "+"))
		}
	}
	return all
}

func percent(secret, plain, hex string) string {
	var b strings.Builder
	for i := range len(secret) {
		c := secret[i]
		if alphanumeric(c) || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, hex, c)
		}
	}
	return b.String()
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// inJSON returns how encoders write the secret into JSON that is then given as
// text: as little escaped as possible, with / escaped, as Go does it for HTML,
// in ASCII only, and with \u for all that is not alphanumeric; each in both cases
// of hex.
func inJSON(secret string) []string {
	var all []string
	for _, upper := range []bool{false, true} {
		for _, escape := range []func(rune) bool{
			func(rune) bool { return false },
			func(r rune) bool { return r > '~' },
			func(r rune) bool { return strings.ContainsRune("<>&\u2028\u2029", r) },
			func(r rune) bool { return strings.ContainsRune("<>&'", r) || r > '~' },
			func(r rune) bool { return r >= utf8.RuneSelf || !alphanumeric(byte(r)) }, //nolint:gosec // below RuneSelf
		} {
			text := escaped(secret, upper, escape)
			all = append(all, text, strings.ReplaceAll(text, "/", `\/`))
		}
	}
	return all
}

// escaped writes what has to be escaped in its shortest form, and as \u what
// escape says.
func escaped(secret string, upper bool, escape func(rune) bool) string {
	form := `\u%04x`
	if upper {
		form = `\u%04X`
	}
	var b strings.Builder
	for _, r := range secret {
		short := strings.IndexRune("\"\\\b\f\n\r\t", r)
		switch {
		case escape(r) && r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, form+form, hi, lo)
		case escape(r):
			fmt.Fprintf(&b, form, r)
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[short])
		case r < ' ':
			fmt.Fprintf(&b, form, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quoted returns s as a JSON string.
func quoted(s string) []byte {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string always marshals
	return b
}
