// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestJSONHasOneCanonicalForm(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"space":                          {" \t\r\n{ \"a\" :\n[ 1 ,\t2 ] } ", `{"a":[1,2]}`},
		"nothing in it":                  {`{ } `, `{}`},
		"nothing in an array":            {`[ ]`, `[]`},
		"literals":                       {`[true,false,null]`, `[true,false,null]`},
		"a scalar":                       {` "x" `, `"x"`},
		"an empty key":                   {`{"b":1,"":2}`, `{"":2,"b":1}`},
		"keys in order":                  {`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		"a key that begins another":      {`{"aa":1,"a":2,"ab":3}`, `{"a":2,"aa":1,"ab":3}`},
		"keys in nested objects":         {`{"b":{"d":1,"c":[{"f":2,"e":3}]},"a":0}`, `{"a":0,"b":{"c":[{"e":3,"f":2}],"d":1}}`},
		"more keys than a few":           {`{"j":0,"i":1,"h":2,"g":3,"f":4,"e":5,"d":6,"c":7,"b":8,"a":9}`, `{"a":9,"b":8,"c":7,"d":6,"e":5,"f":4,"g":3,"h":2,"i":1,"j":0}`},
		"digits as keys":                 {`{"10":1,"9":2,"1":3}`, `{"1":3,"10":1,"9":2}`},
		"order of an array":              {`[2,1]`, `[2,1]`},
		"short escapes":                  {`"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
		"escapes that have short ones":   {`"\u0022\u005C\u002f\u0008\u000c\u000A\u000d\u0009"`, `"\"\\/\b\f\n\r\t"`},
		"control characters":             {`"\u0000\u001F\u000b\u007f"`, "\"\\u0000\\u001f\\u000b\u007f\""},
		"escapes of what needs none":     {`"\u0061\u00e9\u20AC"`, `"aé€"`},
		"a surrogate pair":               {`"\ud83D\uDE00"`, `"😀"`},
		"the last code point":            {`"\udbff\udfff"`, "\"\U0010ffff\""},
		"code points next to surrogates": {`"\ud7ff\ue000"`, "\"\ud7ff\ue000\""},
		"a replacement character":        {"\"\\ufffd\ufffd\"", "\"\ufffd\ufffd\""},
		"line separators, not escaped":   {`"\u2028\u2029"`, "\"\u2028\u2029\""},
		"what HTML would escape":         {`"<&>"`, `"<&>"`},
		"no normalisation of letters":    {`["\u00e9","e\u0301"]`, "[\"é\",\"e\u0301\"]"},
		// RFC 8785, section 3.2.2; its first number is exact here.
		"the sample of RFC 8785": {
			`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],` +
				`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		// RFC 8785, section 3.2.3.
		"the order of RFC 8785": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"a surrogate pair before what follows the surrogates": {"{\"\uff61\":1,\"\ue000\":2,\"\U0001f600\":3,\"\U0010ffff\":4,\"\ud7ff\":5}", "{\"\ud7ff\":5,\"\U0001f600\":3,\"\U0010ffff\":4,\"\ue000\":2,\"\uff61\":1}"},
		"the same within a key":                               {"{\"a\uff61\":1,\"a\U0001f600\":2}", "{\"a\U0001f600\":2,\"a\uff61\":1}"},
		"keys that are escaped":                               {`{"\\":1,"[":2,"]":3,"\"":4,"!":5,"#":6,"\u0001":7,"\n":8,"\u000b":9}`, `{"\u0001":7,"\n":8,"\u000b":9,"!":5,"\"":4,"#":6,"[":2,"\\":1,"]":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := tool.ParseJSON([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(j.Canonical()) != tc.want {
				t.Errorf("got  %s\nwant %s", j.Canonical(), tc.want)
			}
			if string(j.Bytes()) != tc.in {
				t.Errorf("the bytes became %s", j.Bytes())
			}
			if j.Digest() != tool.DigestOf([]byte(tc.want)) {
				t.Error("the digest is not that of the canonical form")
			}
		})
	}
}

func TestJSONIsRefused(t *testing.T) {
	deep := func(n int, open, end string) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	for name, tc := range map[string]struct{ in, want string }{
		"nothing":                             {``, "no JSON value at offset 0"},
		"space alone":                         {" \n", "no JSON value at offset 2"},
		"two values":                          {`{} {}`, "more than one JSON value at offset 3"},
		"a comma at the end":                  {`{},`, "more than one JSON value at offset 2"},
		"a byte order mark":                   {"\ufeff{}", "unexpected character at offset 0"},
		"a NUL":                               {"\x00", "unexpected character at offset 0"},
		"a NUL at the end":                    {"1\x00", "more than one JSON value at offset 1"},
		"a space that is none":                {"\u00a0{}", "unexpected character at offset 0"},
		"a comment":                           {`{/**/}`, "expected a key in an object at offset 1"},
		"a word":                              {`nil`, "unexpected character at offset 0"},
		"half a word":                         {`[tru]`, "unexpected character at offset 1"},
		"a word in capitals":                  {`True`, "unexpected character at offset 0"},
		"an open array":                       {`[1`, "expected , or ] in an array at offset 2"},
		"an open array after a comma":         {`[1,`, "unexpected end of JSON at offset 3"},
		"a comma before the end":              {`[1,]`, "unexpected character at offset 3"},
		"a comma at the beginning":            {`[,1]`, "unexpected character at offset 1"},
		"no comma":                            {`[1 2]`, "expected , or ] in an array at offset 3"},
		"the wrong bracket":                   {`[1}`, "expected , or ] in an array at offset 2"},
		"an open object":                      {`{`, "expected a key in an object at offset 1"},
		"a key alone":                         {`{"a"}`, "expected : after a key at offset 4"},
		"a key without a value":               {`{"a":}`, "unexpected character at offset 5"},
		"a key that is no text":               {`{1:2}`, "expected a key in an object at offset 1"},
		"a comma before the end of an object": {`{"a":1,}`, "expected a key in an object at offset 7"},
		"no comma in an object":               {`{"a":1 "b":2}`, "expected , or } in an object at offset 7"},
		"an open text":                        {`"a`, "unterminated string at offset 2"},
		"an open text after a backslash":      {`"a\`, "unterminated string at offset 2"},
		"single quotes":                       {`'a'`, "unexpected character at offset 0"},
		"a line break in a text":              {"\"a\nb\"", "control character in a string at offset 2"},
		"a tab in a key":                      {"{\"\t\":1}", "control character in a string at offset 2"},
		"an unknown escape":                   {`"\x41"`, "invalid escape in a string at offset 1"},
		"an escape in capitals":               {`"\U0041"`, "invalid escape in a string at offset 1"},
		"three hex digits":                    {`"\u004"`, `invalid \u escape in a string at offset 1`},
		"no hex digit":                        {`"\u00g0"`, `invalid \u escape in a string at offset 1`},
		"hex digits cut off":                  {`"\u00`, `invalid \u escape in a string at offset 1`},
		"a lone high surrogate":               {`"\ud83d"`, "lone surrogate in a string at offset 1"},
		"a lone low surrogate":                {`"\ude00"`, "lone surrogate in a string at offset 1"},
		"a high surrogate before text":        {`"\ud83dabcdef"`, "lone surrogate in a string at offset 1"},
		"a high surrogate before an escape":   {`"\ud83d\n12345"`, "lone surrogate in a string at offset 1"},
		"a high surrogate before another":     {`"\ud83d\ud83d"`, "lone surrogate in a string at offset 1"},
		"a high surrogate before a letter":    {`"\ud83d\u0061"`, "lone surrogate in a string at offset 1"},
		"surrogates the wrong way round":      {`"\ude00\ud83d"`, "lone surrogate in a string at offset 1"},
		"a lone surrogate in a key":           {`{"\ud83d":1}`, "lone surrogate in a string at offset 2"},
		"a surrogate in UTF-8":                {"\"\xed\xa0\xbd\"", "invalid UTF-8 at offset 1"},
		"a byte that begins nothing":          {"\"a\xff\"", "invalid UTF-8 at offset 2"},
		"a code point cut off":                {"\"\xe2\x82\"", "invalid UTF-8 at offset 1"},
		"a code point spelled too long":       {"\"\xc0\xaf\"", "invalid UTF-8 at offset 1"},
		"beyond the last code point":          {"\"\xf4\x90\x80\x80\"", "invalid UTF-8 at offset 1"},
		"a key twice":                         {`{"a":1,"a":1}`, `duplicate key "a" at offset 7`},
		"a key twice, not side by side":       {`{"a":1,"b":2,"a":3}`, `duplicate key "a" at offset 13`},
		"a key twice, spelled otherwise":      {`{"a":1,"\u0061":2}`, `duplicate key "a" at offset 7`},
		"the same, not side by side":          {`{"\u0061":1,"b":2,"a":3}`, `duplicate key "a" at offset 18`},
		"the same, sorted":                    {`{"a":1,"\u0062":2,"b":3}`, `duplicate key "b" at offset 18`},
		"a pair and its escapes":              {"{\"\U0001f600\":1,\"\\ud83d\\ude00\":2}", "duplicate key \"\U0001f600\" at offset 10"},
		"a slash and its escape":              {`{"/":1,"\/":2}`, `duplicate key "/" at offset 7`},
		"an empty key twice":                  {`{"":1,"":2}`, `duplicate key "" at offset 6`},
		"a key twice in an inner object":      {`[{"x":{"a":1,"a":2}}]`, `duplicate key "a" at offset 13`},
		"a long key twice":                    {`{"` + strings.Repeat("ä", 5_000) + `":1,"` + strings.Repeat("ä", 5_000) + `":2}`, `duplicate key "` + strings.Repeat("ä", 32) + `..." at offset 10006`},
		"arrays 65 deep":                      {deep(65, `[`, `]`), "nested deeper than 64 at offset 64"},
		"objects 65 deep":                     {strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65), "nested deeper than 64 at offset 320"},
		"a million open arrays":               {strings.Repeat("[", 1_000_000), "nested deeper than 64 at offset 64"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := tool.ParseJSON([]byte(tc.in))
			if _, ok := errors.AsType[*tool.SyntaxError](err); !ok {
				t.Fatalf("got %v, want a *SyntaxError", err)
			}
			if err.Error() != tc.want {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			if !j.IsZero() || j.Canonical() != nil {
				t.Error("there is a value beside the error")
			}
		})
	}
}

func TestJSONMayBeSixtyFourDeep(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
		strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		"[" + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "," + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "]",
	} {
		j, err := tool.ParseJSON([]byte(in))
		if err != nil || string(j.Canonical()) != in {
			t.Errorf("%.20s: %v", in, err)
		}
	}
}

func TestArgumentsAreAnObject(t *testing.T) {
	for in, want := range map[string]string{
		``:           `{}`,
		" \r\n\t":    `{}`,
		`{}`:         `{}`,
		` {"a": 1} `: `{"a":1}`,
	} {
		j, err := tool.ParseArgs([]byte(in))
		if err != nil || string(j.Canonical()) != want {
			t.Errorf("%q: got %s, %v", in, j.Canonical(), err)
		}
	}
	for in, want := range map[string]string{
		`[]`:            "arguments must be an object",
		`null`:          "arguments must be an object",
		`"{}"`:          "arguments must be an object",
		`{"a":1,"a":2}`: `arguments: duplicate key "a" at offset 7`,
		`{`:             "arguments: expected a key in an object at offset 1",
		"\u00a0":        "arguments: unexpected character at offset 0",
	} {
		_, err := tool.ParseArgs([]byte(in))
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != tool.ArgsInvalid || e.Code != "invalid_args" || e.Text != want {
			t.Errorf("%q: got %v", in, err)
		}
	}
}

func TestTheZeroJSONIsNoValue(t *testing.T) {
	var j tool.JSON
	if !j.IsZero() || j.Bytes() != nil || j.Canonical() != nil || !j.Digest().IsZero() {
		t.Errorf("got %#v", j)
	}
	if j, err := tool.ParseJSON([]byte(`null`)); err != nil || j.IsZero() {
		t.Errorf("null is a value: %v", err)
	}
}

func BenchmarkParseArgs(b *testing.B) {
	many := make(map[string]int)
	for i := range 20_000 {
		many[strings.Repeat("ä", 2)+string(rune('一'+i))] = i
	}
	unsorted, err := json.Marshal(many)
	if err != nil {
		b.Fatal(err)
	}
	// encoding/json sorts by bytes; the first key last puts it out of order.
	unsorted = append(unsorted[:len(unsorted)-1], `,"a":1}`...)
	for name, in := range map[string][]byte{
		"three arguments":           []byte(`{"sql": "select id, total from orders where total > 10", "limit": 10, "format": "json"}`),
		"twenty thousand wide keys": unsorted,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, err := tool.ParseArgs(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
