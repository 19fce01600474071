// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"strings"
	"testing"
)

func TestAnAddressIsWhereTheDSNLeads(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://u:p@db.example/x":                   "db.example:5432",
		"postgresql://u@db.example:6000/x":              "db.example:6000",
		"postgres://u:p@[::1]:6000/x?sslmode=disable":   "[::1]:6000",
		"postgres://u:p@a,b/x":                          "",
		"postgres://u:p@/x":                             "",
		"postgres://u:p@%2Ftmp/x":                       "",
		"postgres://u:p@h":                              "",
		"postgres://h/x":                                "",
		"host=h user=u password=s3cret":                 "",
		"postgres://u:s3cret%zz@h/x":                    "",
		"postgres://u:s3cret@h:99999999/x":              "",
		"mysql://u:s3cret@h/x":                          "",
		"postgres://u:s3cret@h/x?host=other":            "",
		"postgres://u:s3cret@h/x?options=-csearch_path": "",
		"postgres://u:s3cret@h/x?sslmode=a&sslmode=b":   "",
		"postgres://u:s3cret@h/x?service=s":             "",
	} {
		got, err := Address(in)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q %v", in, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is in %v", err)
		}
	}
}

func TestWhatIsNotSaidOfTLSIsNotPlainText(t *testing.T) {
	for dsn, plain := range map[string]bool{
		"postgres://u:p@db.example/x":                 false,
		"postgres://u:p@db.example/x?sslmode=disable": true,
		"postgres://u:p@10.0.0.1/x?sslmode=require":   false,
	} {
		cfg, _, err := configure(dsn, Options{Limits: testLimits})
		if err != nil || (cfg.TLSConfig == nil) != plain || len(cfg.Fallbacks) != 0 {
			t.Errorf("%s: %v %v %v", dsn, cfg.TLSConfig != nil, len(cfg.Fallbacks), err)
		}
	}
	if _, _, err := configure("postgres://u:s3cret@h/x?sslmode=nonsense", Options{}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestTheSchemaIsOne(t *testing.T) {
	for path, want := range map[string]string{"": "public", "Audit": "audit", "a,b": "", "$user": "", `"a"`: ""} {
		if got, err := firstSchema(path); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q %v", path, got, err)
		}
	}
}

func TestADatabaseThatCannotBeOpenedIsToldWithoutItsDSN(t *testing.T) {
	running(t)
	for _, c := range []struct{ dsn, want string }{
		{dsn("reader", "nowhere_such"), "3D000"},
		{dsn("nobody_such", "postgres"), "28"},
		{"postgres://reader:s3cret@127.0.0.1:1/nowhere_such", "cannot be reached"},
		{strings.Replace(dsn("reader", "postgres"), "disable", "require", 1), "has no TLS"},
	} {
		_, err := openWith(t.Context(), c.dsn, Options{Limits: testLimits}, unguarded)
		e, ok := errors.AsType[*OpenError](err)
		if !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		for _, secret := range []string{"s3cret", "127.0.0.1", "nowhere_such", "nobody_such"} {
			if strings.Contains(e.Error(), secret) {
				t.Errorf("%s is in %v", secret, e)
			}
		}
	}
}
