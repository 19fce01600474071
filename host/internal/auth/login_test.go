// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestAnAnswerIsTakenOfTheIssuerThatWasAskedOnly(t *testing.T) {
	a := Attempt{State: "st"}
	quiet := metadata{issuer: "https://id.example"}
	telling := metadata{issuer: "https://id.example", saysIssuer: true}
	const own, other = "&iss=https%3A%2F%2Fid.example", "&iss=https%3A%2F%2Fevil.example"
	for name, c := range map[string]struct {
		of      metadata
		query   string
		attempt Attempt
		want    error
	}{
		"an answer":                           {quiet, "code=c&state=st", a, nil},
		"that names its issuer":               {quiet, "code=c&state=st" + own, a, nil},
		"that has to":                         {telling, "code=c&state=st" + own, a, nil},
		"that has to, and does not":           {telling, "code=c&state=st", a, ErrForeign},
		"that names no issuer by its name":    {quiet, "code=c&state=st&iss=", a, ErrForeign},
		"of another issuer":                   {quiet, "code=c&state=st" + other, a, ErrForeign},
		"of two issuers":                      {quiet, "code=c&state=st" + own + other, a, ErrForeign},
		"a no of another issuer":              {quiet, "error=x&state=st" + other, a, ErrForeign},
		"a no":                                {quiet, "error=x&state=st&code=c", a, ErrDeclined},
		"two codes":                           {quiet, "code=c&code=d&state=st", a, ErrForeign},
		"no code":                             {quiet, "state=st", a, ErrForeign},
		"another state":                       {quiet, "code=c&state=ST", a, ErrForeign},
		"no state, where none was ever given": {quiet, "code=c", Attempt{}, ErrForeign},
		"what cannot be read":                 {quiet, "code=c&state=st&%", a, ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := readCallback(c.query, c.attempt, c.of)
			if !errors.Is(err, c.want) || (err == nil) != (code == "c") {
				t.Errorf("%q, %v", code, err)
			}
		})
	}
}

func FuzzCallback(f *testing.F) {
	f.Add("code=c&state=st&iss=https://id.example")
	f.Add("error=access_denied&state=st")
	f.Add("code=c&state=st&state=st;x=%zz")
	m := metadata{issuer: "https://id.example"}
	f.Fuzz(func(t *testing.T, query string) {
		code, err := readCallback(query, Attempt{State: "st"}, m)
		if (err == nil) != (code != "") {
			t.Fatalf("%q: %q, %v", query, code, err)
		}
		if err != nil {
			return
		}
		values, err := url.ParseQuery(query)
		if err != nil || values.Get("state") != "st" || values.Get("code") != code || values.Has("error") {
			t.Errorf("%q is taken: %v", query, err)
		}
	})
}

func TestNobodySignsInAtAnIssuerThatDoesNotSayWhereOrNamesPeopleToEachClientOtherwise(t *testing.T) {
	const issuer = "https://id.example"
	page := func(more string) string {
		return fmt.Sprintf(`{"issuer":%q,"jwks_uri":"https://id.example/keys",%s"x":1}`, issuer, more)
	}
	const both = `"authorization_endpoint":"https://id.example/a","token_endpoint":"https://id.example/t",`
	for name, c := range map[string]struct {
		page     string
		pairwise bool
		says     string // empty: people sign in
	}{
		"both":                      {page(both), false, ""},
		"public subjects too":       {page(both + `"subject_types_supported":["pairwise","public"],`), false, ""},
		"pairwise subjects":         {page(both + `"subject_types_supported":["pairwise"],`), false, "approval.self"},
		"pairwise, which will do":   {page(both + `"subject_types_supported":["pairwise"],`), true, ""},
		"no place to sign in":       {page(`"token_endpoint":"https://id.example/t",`), false, "authorization_endpoint"},
		"in another case":           {page(strings.Replace(both, "token", "Token", 1)), false, "token_endpoint"},
		"no place for codes":        {page(`"authorization_endpoint":"https://id.example/a",`), false, "token_endpoint"},
		"codes in the clear":        {page(strings.Replace(both, "https://id.example/t", "http://id.example/t", 1)), false, "token_endpoint must be https"},
		"codes to this machine":     {page(strings.Replace(both, "https://id.example/t", "http://127.0.0.1/t", 1)), false, "token_endpoint must be https"},
		"signing in by another way": {page(strings.Replace(both, "https://id.example/a", "javascript:x", 1)), false, "authorization_endpoint"},
		"a place that is no text":   {page(strings.Replace(both, `"https://id.example/t"`, "1", 1)), false, "token_endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := readMetadata([]byte(c.page), issuer)
			if err != nil {
				t.Fatal(err) // tokens are checked all the same
			}
			err = m.signsIn(c.pairwise)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}
