// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAConfigurationIsYAMLOrJSONWithItsSecretsFilledIn(t *testing.T) {
	t.Setenv("CONFORM_TOKEN", "hunter2")
	for text, want := range map[string]string{
		``:                                       `{}`,
		`{"a": 9007199254740993, "b": [1.10]}`:   `{"a":9007199254740993,"b":[1.10]}`,
		"a: ${CONFORM_TOKEN}\nb: $${X}\nc: ~":    `{"a":"hunter2","b":"${X}","c":null}`,
		"a: &x {b: true}\nc: *x\nd: 0x10\ne: no": `{"a":{"b":true},"c":{"b":true},"d":16,"e":"no"}`,
	} {
		got, secrets, err := ReadConfig(write(t, "c.yaml", text))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
		if has := strings.Contains(text, "TOKEN"); has != (len(secrets) == 1 && secrets[0] == "hunter2") {
			t.Errorf("%q: secrets %q", text, secrets)
		}
	}
}

func TestWhatIsNoConfigurationIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[1]`:                        "is an object",
		`{`:                          "yaml",
		`a: ${CONFORM_SURELY_UNSET}`: "CONFORM_SURELY_UNSET} is not set",
		`a: .nan`:                    "no JSON",
		"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]": "too large",
	} {
		if _, _, err := ReadConfig(write(t, "c.yaml", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadExamples(write(t, "e.yaml", "cals: {}")); err == nil || !strings.Contains(err.Error(), "cals") {
		t.Errorf("%v", err)
	}
	e, err := ReadExamples(write(t, "e.yaml", "calls: {a: [{n: 1.10}]}\nslow: {b: {}}"))
	if err != nil || string(e.Calls["a"][0]) != `{"n":1.10}` || string(e.Slow["b"]) != `{}` {
		t.Errorf("%+v, %v", e, err)
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{"a: 1", "a: &a [*a]", "<<: {a: 1}", "? [a]\n: b", "a: .inf", "a: !!int x", "a: !!binary x", "--- {}\n--- {}", "a: 2026-01-02"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		config, _, err := parseConfig([]byte(s), "fuzz.yaml")
		if err == nil && !json.Valid(config) {
			t.Errorf("%q became %s", s, config)
		}
	})
}

func FuzzHandshake(f *testing.F) {
	for _, s := range []string{"", "1|1|unix|/x|grpc|", "1|1|unix|/x|grpc|TUlJQg|false\r", "1|2", "|||||||"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if l, err := parseLine(s); err == nil && l.certificate == nil {
			t.Errorf("%q has no certificate and is taken", s)
		}
	})
}
