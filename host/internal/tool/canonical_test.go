// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// decoded reads JSON by encoding/json. Numbers become exact fractions, so that
// values can be compared whatever they were spelled like.
func decoded(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return exact(v), nil
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			panic("no number: " + v)
		}
		return r.String()
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	case string:
		return "text " + v // not to be taken for a number
	}
	return v
}

func mustParse(t *rapid.T, raw string) tool.JSON {
	j, err := tool.ParseJSON([]byte(raw))
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	return j
}

func TestSpellingDoesNotChangeTheCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := randomValue(3).Draw(t, "value")
		a, b := mustParse(t, spelled(t, v)), mustParse(t, spelled(t, v))
		if !bytes.Equal(a.Canonical(), b.Canonical()) || a.Digest() != b.Digest() {
			t.Fatalf("%q\n%q\nbecame\n%q\n%q", a.Bytes(), b.Bytes(), a.Canonical(), b.Canonical())
		}
	})
}

func TestAnotherValueHasAnotherCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := randomValue(2).Draw(t, "value"), randomValue(2).Draw(t, "other")
		a, b := mustParse(t, spelled(t, v)), mustParse(t, spelled(t, w))
		if equal := bytes.Equal(a.Canonical(), b.Canonical()); equal != same(v, w) || equal != (a.Digest() == b.Digest()) {
			t.Fatalf("%q\n%q\nare the same: %v, but became\n%q\n%q", a.Bytes(), b.Bytes(), same(v, w), a.Canonical(), b.Canonical())
		}
	})
}

func TestASmallChangeIsAnotherCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := randomValue(3).Draw(t, "value")
		changed := change(t, v)
		a, b := mustParse(t, spelled(t, v)), mustParse(t, spelled(t, changed))
		if bytes.Equal(a.Canonical(), b.Canonical()) || a.Digest() == b.Digest() {
			t.Fatalf("%q and %q are both %q", a.Bytes(), b.Bytes(), a.Canonical())
		}
	})
}

// change returns v with one thing in it changed.
func change(t *rapid.T, v value) value {
	if len(v.members) > 0 && rapid.Bool().Draw(t, "deeper") {
		i := rapid.IntRange(0, len(v.members)-1).Draw(t, "member")
		members := append([]value{}, v.members...)
		members[i] = change(t, members[i])
		v.members = members
		return v
	}
	null := value{kind: 'l', text: "null"}
	switch v.kind {
	case 'l':
		return value{kind: '"', text: v.text}
	case '"':
		v.text += "a"
	case '0':
		if strings.Trim(v.number.digits, "0") == "" {
			v.number.digits = "1"
		} else {
			v.number.negative = !v.number.negative
		}
	case '[':
		v.members = append(append([]value{}, v.members...), null)
	default:
		v.names = append(append([]string{}, v.names...), "another name")
		v.members = append(append([]value{}, v.members...), null)
	}
	return v
}

func TestTheCanonicalFormIsThatOfItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := mustParse(t, spelled(t, randomValue(3).Draw(t, "value")))
		again := mustParse(t, string(j.Canonical()))
		if !bytes.Equal(again.Canonical(), j.Canonical()) || again.Digest() != j.Digest() {
			t.Fatalf("%q became %q", j.Canonical(), again.Canonical())
		}
	})
}

func TestOtherReadersSeeTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := mustParse(t, spelled(t, randomValue(3).Draw(t, "value")))
		want, err := decoded(j.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoded(j.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q", j.Bytes(), j.Canonical())
		}
	})
}

func TestAnyNumberThatIsReadHasACanonicalFormThatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := func(most int) string {
			n := rapid.IntRange(0, most).Draw(t, "length")
			return strings.Repeat(rapid.SampledFrom([]string{"0", "1", "10", "9"}).Draw(t, "digits"), n)
		}
		raw := "1" + digits(600)
		if rapid.Bool().Draw(t, "small") {
			raw = "0"
		}
		raw += ".0" + digits(600)
		raw += fmt.Sprintf("e%d", rapid.IntRange(-400, 400).Draw(t, "exponent"))
		j, err := tool.ParseJSON([]byte(raw))
		if err != nil {
			if len(raw) < 400 || !strings.Contains(err.Error(), "longer than 1024 bytes") {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		again := mustParse(t, string(j.Canonical()))
		if !bytes.Equal(again.Canonical(), j.Canonical()) {
			t.Fatalf("%s became %s", j.Canonical(), again.Canonical())
		}
		want, _ := decoded(j.Bytes())
		if got, err := decoded(j.Canonical()); err != nil || got != want {
			t.Fatalf("%s is not %s", j.Canonical(), raw)
		}
	})
}

// reasons are those for which JSON that encoding/json reads is refused.
var reasons = []string{
	"duplicate key", "lone surrogate", "invalid UTF-8", "nested deeper", "exponent over", "number longer than",
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		``, `null`, ` [true , false] `, `{"b":1,"a":{"\u0061":"\ud83d\ude00"}}`, `-0.0e-5`, `1E+400`, `10e400`, `0.1e-400`,
		`{"a":1,"\u0061":2}`, `"\ud83d"`, "\"\xff\"", `[1,]`, `{"é":1,"e":2,"\n":3}`, `"\/\b\f\n\r\t"`, "\"\u2028\ufffd\"",
		strings.Repeat("[", 65) + strings.Repeat("]", 65), `{"\uff61":1,"\ud83d\ude00":2}`, `123456789012345678901234567890.5`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		j, err := tool.ParseJSON(raw)
		if err != nil {
			if !json.Valid(raw) {
				return
			}
			for _, reason := range reasons {
				if strings.Contains(err.Error(), reason) {
					return
				}
			}
			t.Fatalf("%q is JSON, but: %v", raw, err)
		}
		want, err := decoded(raw)
		if err != nil {
			t.Fatalf("%q is no JSON: %v", raw, err)
		}
		got, err := decoded(j.Canonical())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q, %v", raw, j.Canonical(), err)
		}
		again, err := tool.ParseJSON(j.Canonical())
		if err != nil || !bytes.Equal(again.Canonical(), j.Canonical()) {
			t.Fatalf("%q became %q, %v", j.Canonical(), again.Canonical(), err)
		}
	})
}
