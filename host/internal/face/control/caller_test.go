// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestACallerIsDescribedByItsFormOrByItsParts(t *testing.T) {
	for text, want := range map[string]tool.Principal{
		"anonymous": {}, `{"kind":"anonymous"}`: {}, "stdio/local/ada": {Kind: tool.Stdio, Subject: "ada"}, "operator/root": {Kind: tool.Operator, Subject: "root"},
		"named/a/b": {Kind: tool.Named, Subject: "a/b"}, `["c","https://i","s"]`: {Kind: tool.Token, ClientID: "c", Issuer: "https://i", Subject: "s"},
		`{"client_id":"c","scopes":["r"]}`: {Kind: tool.Token, ClientID: "c", Scopes: []string{"r"}},
		`{"kind":"named","subject":"ada"}`: {Kind: tool.Named, Subject: "ada"}, `{"kind":"stdio","subject":"ada"}`: {Kind: tool.Stdio, Subject: "ada"},
	} {
		c, err := ParseCaller(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.principal()
		if err != nil || !got.Is(want) || got.Standing() != want.Standing() {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "is no caller", "ada": "is no caller", "stdio/ada": "is no caller", "king/ada": "has the kind", `{`: "is no JSON", `{"a":1}`: "unknown field",
		`{"client_id":"c"} x`: "is no JSON", `{"client_id":"c","client_id":"d"}`: "is no JSON", `["a","b"]`: "no token's form", `{"kind":"stdio"}`: "has a subject",
		`{"kind":"stdio","subject":"a","scopes":["x"]}`: "nothing else", `{"kind":"anonymous","subject":"a"}`: "all the same", `{"kind":"named"}`: "has a subject",
		`{"client_id":"c","claims":[1]}`: "no object", strings.Repeat("a", maxCaller+1): "longer than",
	} {
		if _, err := ParseCaller(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func TestACallIsExplainedForWhomeverItSays(t *testing.T) {
	f := &fake{}
	both(t, f, func(t *testing.T, api API) {
		as := &Caller{Kind: "token", ClientID: "agent", Scopes: []string{"a&b"}, Claims: json.RawMessage(`{"x":1}`)}
		if _, err := api.Explain(t.Context(), "orders_get", json.RawMessage(`{}`), as); err != nil {
			t.Fatal(err)
		}
		if _, err := api.Explain(t.Context(), "orders_get", json.RawMessage(`{}`), &Caller{Kind: "king"}); err == nil || !strings.Contains(err.Error(), `the kind "king"`) {
			t.Errorf("%v", err)
		}
	})
	for _, c := range f.explaining {
		if p := c.Principal; p.Kind != tool.Token || p.ClientID != "agent" || !p.Has("a&b") || string(p.Claims.Canonical()) != `{"x":1}` {
			t.Errorf("%+v", p)
		}
	}
	if len(f.explaining) != 2 {
		t.Errorf("%d explained", len(f.explaining))
	}
}

func FuzzParseCaller(f *testing.F) {
	for _, seed := range []string{"anonymous", `["a","b","c"]`, `{"kind":"token","claims":{"a":1}}`, "named/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCaller(text)
		if err != nil {
			return
		}
		if _, err := c.principal(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}
