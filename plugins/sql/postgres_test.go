// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

func TestAPostgresDSNAsksForItsAddressAndNothingElse(t *testing.T) {
	grants, err := check(t.Context(), config{DSN: "postgres://reader:hunter2@db.example:5433/shop", AllowedTables: []string{"orders", `audit."a.b"`, "*"}})
	if err != nil || len(grants) != 1 || grants[0] != toolwharf.Connect("db.example:5433") {
		t.Errorf("%v, %v", grants, err)
	}
}

func TestFaultsOfAPostgresConfigurationAreToldAtOnceWithoutTheDSN(t *testing.T) {
	_, err := check(t.Context(), config{DSN: "postgres://reader:hunter2@db.example/shop?no_such=1", AllowedTables: []string{"a.b.c", `"x`}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"/dsn", "/allowed_tables/0", "/allowed_tables/1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the password is told: %v", err)
	}
}
