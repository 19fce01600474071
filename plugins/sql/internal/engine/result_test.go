// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

var wide = Limits{MaxRows: 100, MaxBytes: 1 << 20, MaxCellBytes: 1 << 10}

// result makes a result of one column of values.
func result(l Limits, values ...any) string {
	r := NewResult(NewHeader([]string{"v"}), l, l.MaxRows, 0)
	more := false
	for _, v := range values {
		if more = r.Full(); more {
			break
		}
		r.StartRow()
		switch v := v.(type) {
		case nil:
			r.Null()
		case int64:
			r.Int(v)
		case float64:
			r.Float(v)
		case string:
			r.Text([]byte(v))
		case []byte:
			r.Bytes(v)
		}
		if !r.EndRow() {
			break
		}
	}
	return string(r.Finish(more))
}

func TestAResultIsOneObject(t *testing.T) {
	for want, values := range map[string][]any{
		`{"columns":["v"],"rows":[],"row_count":0,"truncated":false}`:                                                                                                                      nil,
		`{"columns":["v"],"rows":[{"v":null},{"v":1},{"v":-0},{"v":"x"}],"row_count":4,"truncated":false}`:                                                                                 {nil, int64(1), math.Copysign(0, -1), "x"},
		`{"columns":["v"],"rows":[{"v":9007199254740991}],"row_count":1,"truncated":false}`:                                                                                                {int64(1<<53 - 1)},
		`{"columns":["v"],"rows":[{"v":"1"},{"v":"0.5"},{"v":null},{"v":"9007199254740992"},{"v":"2"}],"row_count":5,"truncated":false,"columns_meta":[{"name":"v","encoding":"string"}]}`: {int64(1), 0.5, nil, int64(1 << 53), int64(2)},
		`{"columns":["v"],"rows":[{"v":"AQI="},{"v":""}],"row_count":2,"truncated":false,"columns_meta":[{"name":"v","encoding":"base64"}]}`:                                               {[]byte{1, 2}, []byte{}},
		`{"columns":["v"],"rows":[{"v":{"$base64":"AQI="}},{"v":"x"},{"v":3}],"row_count":3,"truncated":false}`:                                                                            {[]byte{1, 2}, "x", int64(3)},
		`{"columns":["v"],"rows":[{"v":{"$base64":"AQ=="}},{"v":"x"},{"v":"9007199254740993"}],"row_count":3,"truncated":false,"columns_meta":[{"name":"v","encoding":"string"}]}`:         {[]byte{1}, "x", int64(1<<53 + 1)},
		`{"columns":["v"],"rows":[{"v":"NaN"},{"v":"Infinity"},{"v":"-Infinity"}],"row_count":3,"truncated":false}`:                                                                        {math.NaN(), math.Inf(1), math.Inf(-1)},
		`{"columns":["v"],"rows":[{"v":"NaN"},{"v":"9007199254740993"}],"row_count":2,"truncated":false,"columns_meta":[{"name":"v","encoding":"string"}]}`:                                {math.NaN(), int64(1<<53 + 1)},
		`{"columns":["v"],"rows":[{"v":{"$base64":"/w=="}}],"row_count":1,"truncated":false,"warnings":["some text is not valid UTF-8 and is given as {\"$base64\": ...}"]}`:               {"\xff"},
	} {
		if got := result(wide, values...); got != want {
			t.Errorf("%v:\ngot  %s\nwant %s", values, got, want)
		}
	}
}

func TestAResultKeepsItsLimits(t *testing.T) {
	l := Limits{MaxRows: 3, MaxBytes: 2000, MaxCellBytes: 10}
	row := func(n int) []any { return slices.Repeat([]any{int64(7)}, n) }
	for _, c := range []struct {
		values []any
		want   string
	}{
		{row(3), `"row_count":3,"truncated":false`},
		{row(4), `"row_count":3,"truncated":true,"truncated_by":"rows"`},
		{[]any{"0123456789"}, `[{"v":"0123456789"}]`},
		{[]any{"0123456789a"}, `[{"v":{"$truncated":true,"bytes":11,"head":"0123456789"}}]`},
		{[]any{"012345678ü"}, `[{"v":{"$truncated":true,"bytes":11,"head":"012345678"}}]`},
		{[]any{"0123456\U0001F6A2"}, `[{"v":{"$truncated":true,"bytes":11,"head":"0123456"}}]`},
		{[]any{"012345678\xff\xff"}, `[{"v":{"$truncated":true,"bytes":11,"head_base64":"MDEyMzQ1Njc4/w=="}}]`},
		{[]any{[]byte("0123456789a")}, `[{"v":{"$truncated":true,"bytes":11,"head_base64":"MDEyMzQ1Njc4OQ=="}}]`},
	} {
		if got := result(l, c.values...); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.values, got)
		}
	}

	l = Limits{MaxRows: 1000, MaxBytes: 2000, MaxCellBytes: 5000}
	for _, values := range [][]any{row(500), append(row(400), int64(math.MaxInt64)), {strings.Repeat("x", 3000)}, slices.Repeat([]any{[]byte{1}, "x"}, 300)} {
		got := result(l, values...)
		if len(got) > l.MaxBytes || !json.Valid([]byte(got)) || !strings.Contains(got, `"truncated_by":"bytes"`) {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}

// Whatever the values, the size is kept even if all of them are rewritten.
func TestRewritingStaysWithinTheSize(t *testing.T) {
	l := Limits{MaxRows: 100_000, MaxBytes: 10_000, MaxCellBytes: 5000}
	values := append(slices.Repeat([]any{int64(1)}, 300), int64(math.MaxInt64))
	values = append(values, slices.Repeat([]any{int64(1), []byte{1}, "x"}, 1000)...)
	got := result(l, values...)
	if len(got) > l.MaxBytes || len(got) < l.MaxBytes*3/4 || !json.Valid([]byte(got)) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestColumnNamesBecomeKeysOfOneObject(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"a,b,c", "a,b,c"},
		{"id,id", "id,id_2"},
		{"id,id,id_2", "id,id_3,id_2"},
		{"id_2,id,id", "id_2,id,id_3"},
		{"id,id,id,id", "id,id_2,id_3,id_4"},
		{"id,id_2,id,id_2", "id,id_2,id_3,id_2_2"},
		{"a,A", "a,A"},
	} {
		if got := strings.Join(UniqueNames(strings.Split(c.names, ",")), ","); got != c.want {
			t.Errorf("%s: %s, want %s", c.names, got, c.want)
		}
	}
	if got := UniqueNames([]string{"", "", "\xff", "\uFFFD"}); !slices.Equal(got, []string{"", "_2", "\uFFFD", "\uFFFD_2"}) {
		t.Errorf("%q", got)
	}
}

func FuzzStringsAndFloatsReadBackTheSame(f *testing.F) {
	f.Add("plain", 1.5)
	f.Add("\"\\\b\f\n\r\t\x00\x1f\x7f\u2028🚢</script>", math.Copysign(0, -1))
	f.Fuzz(func(t *testing.T, s string, v float64) {
		s = strings.ToValidUTF8(s, "")
		var text string
		if err := json.Unmarshal(appendString(nil, s), &text); err != nil || text != s {
			t.Errorf("%q: %q %v", s, text, err)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		var number float64
		if err := json.Unmarshal(appendFloat(nil, v), &number); err != nil || math.Float64bits(number) != math.Float64bits(v) {
			t.Errorf("%v: %s %v", v, appendFloat(nil, v), err)
		}
		if want, _ := json.Marshal(v); string(want) != string(appendFloat(nil, v)) {
			t.Errorf("%s is not as encoding/json has it: %s", appendFloat(nil, v), want)
		}
	})
}
