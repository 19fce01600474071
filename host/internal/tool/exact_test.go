// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAValueIsHeldWithAllOfItsDigitsOrNotAtAll(t *testing.T) {
	for raw, want := range map[string]any{
		`null`: nil, `"a"`: "a", `[true,{"b":1}]`: []any{true, map[string]any{"b": int64(1)}},
		`0`: int64(0), `-0`: int64(0), `42.0`: int64(42), `4.2e1`: int64(42), `9223372036854775807`: int64(9223372036854775807),
		`9007199254740993`: int64(9007199254740993), `0.1`: 0.1, `1e20`: 1e20, `1e-7`: 1e-7, `-12.5`: -12.5, `9223372036854775808`: 9223372036854775808.0,
	} {
		j, err := tool.ParseJSON([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.Exact()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", raw, err, diff)
		}
	}
	for _, raw := range []string{
		`9223372036854776000`, `18446744073709551615`, `{"a":[0.1000000000000000055]}`, `1e400`, `1e-400`, `12345678901234567.5`, `1e23`,
	} {
		j, err := tool.ParseJSON([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := j.Exact(); err == nil || !strings.Contains(err.Error(), "cannot be held") {
			t.Errorf("%s is %v, %v", raw, got, err)
		}
	}
}

// FuzzExact holds it against the decoder of the standard library.
func FuzzExact(f *testing.F) {
	for _, seed := range []string{
		`1`, `0.3`, `1e308`, `{"a":[1,2.5e-3],"b":{}}`, `123456789012345678901234567890`, `["\"\\\u0001",[],[[]],""]`, `{"\ud83d\ude00":null,"":false}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		j, err := tool.ParseJSON(raw)
		if err != nil {
			return
		}
		v, err := j.Exact()
		if err != nil {
			if !strings.Contains(err.Error(), "cannot be held") {
				t.Errorf("%s: %v", raw, err)
			}
			return
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		sameValue(t, v, want)
	})
}

// sameValue fails the test unless got is what the standard library has read.
func sameValue(t *testing.T, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok || len(m) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for k, v := range want {
			sameValue(t, m[k], v)
		}
	case []any:
		l, ok := got.([]any)
		if !ok || len(l) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i, v := range want {
			sameValue(t, l[i], v)
		}
	case json.Number:
		said, _ := new(big.Rat).SetString(want.String())
		held, ok := new(big.Rat).SetString(fmt.Sprint(got))
		if !ok || said == nil || held.Cmp(said) != 0 {
			t.Fatalf("%v, want %v", got, want)
		}
	default:
		if got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
