// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretsAreNotPrinted(t *testing.T) {
	type config struct {
		DSN  Secret `json:"dsn"`
		Ptr  *Secret
		List []Secret
	}
	s := Secret("s3cret")
	c := config{s, &s, []Secret{s}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "config", c)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "config", c)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{log.String(), string(text), s.String(), s.GoString(), fmt.Sprint(c, s), fmt.Errorf("x: %v", c).Error()}
	for verb := range strings.SplitSeq("v +v #v s q x X d T t 08.3f", " ") {
		all = append(all, fmt.Sprintf("%"+verb, s), fmt.Sprintf("%"+verb, c))
	}
	for _, got := range all {
		for _, form := range []string{"s3cret", fmt.Sprintf("%x", "s3cret"), fmt.Sprintf("%X", "s3cret")} {
			if strings.Contains(got, form) {
				t.Errorf("printed: %s", got)
			}
		}
	}
	if s.Reveal() != "s3cret" || fmt.Sprintf("%s", s) != "***" || string(text) != `{"dsn":"***","Ptr":"***","List":["***"]}` {
		t.Errorf("got %q, %s", s.Reveal(), text)
	}
}

func TestSecretsAreReadFromJSON(t *testing.T) {
	var c struct{ DSN Secret }
	if err := json.Unmarshal([]byte(`{"DSN":"s3cret"}`), &c); err != nil || c.DSN.Reveal() != "s3cret" {
		t.Errorf("got %q, %v", c.DSN.Reveal(), err)
	}
}
