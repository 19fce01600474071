// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// node is a JSON value that keeps what encoding/json forgets: the order of
// members, the spelling of numbers and strings.
type node struct {
	// kind is the first byte of the value: { [ " t f n, or 0 for a number.
	kind byte
	// text is a scalar as it was spelled.
	text    string
	members []member
	items   []*node
}

type member struct {
	key string
	// quoted is the key as it was spelled.
	quoted string
	value  *node
}

// parse reads what tool.ParseJSON accepted, whose depth is bounded.
func parse(j tool.JSON) *node {
	p := parser{in: string(j.Bytes())}
	return p.value()
}

// parser reads JSON that is known to be valid. Texts share in's memory.
type parser struct {
	in  string
	pos int
}

// next skips space, and the , and : that a parser of valid JSON need not see.
func (p *parser) next() byte {
	for {
		switch c := p.in[p.pos]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			p.pos++
		default:
			return c
		}
	}
}

func (p *parser) value() *node {
	switch c := p.next(); c {
	case '{':
		n := &node{kind: c}
		for p.pos++; p.next() != '}'; {
			quoted := p.quoted()
			n.members = append(n.members, member{unquote(quoted), quoted, p.value()})
		}
		p.pos++
		return n
	case '[':
		n := &node{kind: c}
		for p.pos++; p.next() != ']'; {
			n.items = append(n.items, p.value())
		}
		p.pos++
		return n
	case '"':
		return &node{kind: c, text: p.quoted()}
	case 't', 'f', 'n':
		return &node{kind: c, text: p.plain()}
	default:
		return &node{kind: '0', text: p.plain()}
	}
}

func (p *parser) quoted() string {
	start := p.pos
	for p.pos++; p.in[p.pos] != '"'; p.pos++ {
		if p.in[p.pos] == '\\' {
			p.pos++
		}
	}
	p.pos++
	return p.in[start:p.pos]
}

func (p *parser) plain() string {
	rest := p.in[p.pos:]
	n := strings.IndexAny(rest, " \t\n\r,]}")
	if n < 0 {
		n = len(rest)
	}
	p.pos += n
	return rest[:n]
}

// unquote returns what a valid quoted string says.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(quoted), &s) // valid
	return s
}

// quote spells a string as JSON.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) //nolint:errchkjson // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}

// object returns an object of members in this order.
func object(members ...member) *node { return &node{kind: '{', members: members} }

// named returns a member.
func named(key string, value *node) member { return member{key, quote(key), value} }

// text returns a string.
func text(s string) *node { return &node{kind: '"', text: quote(s)} }

// get returns the value of a member, nil if there is none.
func (n *node) get(key string) *node {
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// str returns what a string says; false if n is no string.
func (n *node) str() (string, bool) {
	if n == nil || n.kind != '"' {
		return "", false
	}
	return unquote(n.text), true
}

// size counts the values in n, itself included.
func (n *node) size() int {
	total := 1
	for i := range n.members {
		total += n.members[i].value.size()
	}
	for _, item := range n.items {
		total += item.size()
	}
	return total
}

// append writes n without space, its strings and numbers as they were spelled.
func (n *node) append(out []byte) []byte {
	switch n.kind {
	case '{':
		out = append(out, '{')
		for i, m := range n.members {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, m.quoted...), ':')
			out = m.value.append(out)
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.append(out)
		}
		return append(out, ']')
	default:
		return append(out, n.text...)
	}
}

// length is that of what append writes.
func (n *node) length() int {
	switch n.kind {
	case '{', '[':
		total := 2 + max(0, len(n.members)+len(n.items)-1)
		for i := range n.members {
			total += len(n.members[i].quoted) + 1 + n.members[i].value.length()
		}
		for _, item := range n.items {
			total += item.length()
		}
		return total
	default:
		return len(n.text)
	}
}

// any returns n in the types of encoding/json with UseNumber.
func (n *node) any() any {
	switch n.kind {
	case '{':
		m := make(map[string]any, len(n.members))
		for _, mm := range n.members {
			m[mm.key] = mm.value.any()
		}
		return m
	case '[':
		a := make([]any, len(n.items))
		for i, item := range n.items {
			a[i] = item.any()
		}
		return a
	case '"':
		return unquote(n.text)
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	default:
		return json.Number(n.text)
	}
}

// at returns the value that a token of a JSON pointer (RFC 6901) leads to, nil
// if there is none.
func (n *node) at(token string) *node {
	switch n.kind {
	case '{':
		return n.get(token)
	case '[':
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(n.items) || strconv.Itoa(i) != token {
			return nil
		}
		return n.items[i]
	default:
		return nil
	}
}
