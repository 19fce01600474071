// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

// The secrets of the tests are put together here, so that no other scanner finds them
// in this file.
var (
	awsKey  = "AKIA" + "IOSFODNN7EXAMPLE"
	github  = "ghp_" + strings.Repeat("a1B2", 9)
	slack   = "xoxb-" + "1234567890-abc"
	token   = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiJhZGEifQ.c2lnbmF0dXJl"
	dsn     = "postgres://ada:" + "engine@db/orders"
	private = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"
)

func start(t *testing.T, config map[string]any) *plugintest.Host {
	t.Helper()
	return plugintest.Start(t, plugin(), plugintest.Config(config))
}

func TestSecretsAreToldByTheirForm(t *testing.T) {
	h := start(t, map[string]any{"patterns": []string{`NX-\d{6}`}})
	for text, want := range map[string]string{
		"a " + awsKey + ".":                   "[AWS access key]",
		github:                                "[GitHub token]",
		slack:                                 "[Slack token]",
		"Bearer " + token:                     "[JSON web token]",
		dsn:                                   "[password in a URL]",
		private:                               "[private key]",
		"NX-123456":                           "[pattern 0]",
		awsKey + " " + awsKey + " " + slack:   "[AWS access key Slack token]",
		"":                                    "[]",
		"AKIA and ghp_ and eyJ and xoxb":      "[]",
		"https://example.com/a:b@c":           "[]",
		"-----BEGIN PUBLIC KEY-----":          "[]",
		strings.ToLower(awsKey) + " NX-12345": "[]",
	} {
		var got scanOut
		h.Call("scan", scanIn{text}).Into(&got)
		if fmt.Sprint(got.Kinds) != want {
			t.Errorf("%.40q: got %v, want %s", text, got.Kinds, want)
		}
	}
}

func TestArgumentsWithASecretAreRefused(t *testing.T) {
	h := start(t, map[string]any{})
	if v := h.Before("mail", "mail_send", map[string]any{"to": "ada", "n": json.Number("9007199254740993")}); !v.Passed() {
		t.Error(v)
	}
	for name, args := range map[string]any{
		"a text":      map[string]any{"body": "it is " + awsKey},
		"deep inside": map[string]any{"a": []any{1, map[string]any{"b": dsn}}},
		"a key":       map[string]any{github: true},
		"escaped":     json.RawMessage(`{"body":"\u0041KIA` + awsKey[4:] + `"}`),
	} {
		v := h.Before("mail", "mail_send", args)
		if v.Refusal.GetCode() != "secret_in_arguments" || strings.Contains(v.Refusal.String(), "EXAMPLE") || strings.Contains(v.Refusal.String(), "engine") {
			t.Errorf("%s: %v", name, v.Refusal)
		}
	}
}

func TestArgumentsMayBeMasked(t *testing.T) {
	h := start(t, map[string]any{"arguments": "mask"})
	v := h.Before("mail", "mail_send", json.RawMessage(`{"body":"see `+dsn+` & go","n":9007199254740993.10}`))
	if string(v.Arguments) != `{"body":"see [password in a URL]db/orders & go","n":9007199254740993.10}` {
		t.Errorf("got %s, %v", v.Arguments, v.Refusal)
	}
	if v := h.Before("mail", "mail_send", map[string]any{awsKey: 1}); v.Refusal.GetCode() != "secret_in_arguments" {
		t.Errorf("got %v", v)
	}
}

func TestResultsAreMasked(t *testing.T) {
	h := start(t, map[string]any{})
	if v := h.After("sql", "sql_query", struct{}{}, plugintest.TextResult("nothing")); !v.Passed() {
		t.Error(v)
	}
	v := h.After("sql", "sql_query", struct{}{}, plugintest.TextResult("key: "+private+"!"))
	if got := v.Result.GetContent()[0].GetText().GetText(); got != "key: [private key]!" {
		t.Errorf("got %q", got)
	}
	v = h.After("sql", "sql_query", struct{}{}, plugintest.StructuredResult(json.RawMessage(`[{"k":"`+slack+`"},1.10]`)))
	if got := string(v.Result.GetStructured()); got != `[{"k":"[Slack token]"},1.10]` {
		t.Errorf("got %s", got)
	}
	if v := h.After("sql", "sql_query", struct{}{}, plugintest.StructuredResult(json.RawMessage(`{"`+awsKey+`":1}`))); v.Refusal.GetCode() != "secret_in_result" {
		t.Errorf("got %v", v)
	}
}

func TestResultsMayBeWithheld(t *testing.T) {
	h := start(t, map[string]any{"results": "refuse"})
	if v := h.After("sql", "sql_query", struct{}{}, plugintest.TextResult(token)); v.Refusal.GetCode() != "secret_in_result" || v.Result != nil {
		t.Errorf("got %v", v)
	}
}

func TestWhatCannotBeScannedIsRefused(t *testing.T) {
	h := start(t, map[string]any{"results": "mask"})
	if v := h.After("sql", "sql_query", struct{}{}, plugintest.StructuredResult(json.RawMessage(`{"a":1} {`))); v.Refusal == nil || v.Refusal.GetText() != "" {
		t.Errorf("got %v", v)
	}
}

func TestPatternsAreJudged(t *testing.T) {
	h := plugintest.Start(t, plugin(), plugintest.Unconfigured())
	got := h.Configure(map[string]any{"patterns": []string{"(", "ok", "x*"}}).Errors()
	if fmt.Sprint(got) != "[/patterns/0: is no regular expression /patterns/2: fits the empty text, and so everything]" {
		t.Errorf("got %q", got)
	}
}
