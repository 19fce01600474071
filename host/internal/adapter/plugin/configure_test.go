// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

func TestAPluginIsToldItsConfigurationAndWhatTheHostWillAccept(t *testing.T) {
	h := newHarness(t)
	d := acting(t, "with a config")
	d.Config = []byte(`{"dsn":"db://orders","n":9007199254740993}`)
	d.Limits = adapter.Limits{Timeout: 7 * time.Second, MaxInFlight: 3, StartTimeout: bound}
	in := h.started(d)
	want := []string{
		`adapter orders, config {"dsn":"db://orders","n":9007199254740993}, message 16777216, result 1048576, ` +
			`calls 3, timeout 7s, tools 1000`,
	}
	if diff := cmp.Diff(want, in.About().Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutAConfigurationThePluginGetsTheEmptyOne(t *testing.T) {
	in := newHarness(t).started(acting(t, "with warnings"))
	if notes := in.About().Notes; len(notes) != 1 || !strings.Contains(notes[0], "config {},") {
		t.Errorf("notes %q", notes)
	}
}

func TestAConfigurationThatDoesNotMatchIsRefusedBeforeThePluginSeesIt(t *testing.T) {
	for name, tc := range map[string]struct {
		as, config string
		words      []string
	}{
		"something is missing":         {"with a config", `{}`, []string{"configure: config: ", "dsn"}},
		"something unknown is there":   {"with a config", `{"dsn":"db://x","port":1}`, []string{"configure: config: ", "port"}},
		"something is of another type": {"with a config", `{"dsn":"db://x","n":"many"}`, []string{"configure: config: ", "n"}},
		"a secret does not match":      {"with a config", `{"dsn":"hunter2"}`, []string{"configure: config: ", "dsn"}},
		"the plugin takes none":        {"with warnings", `{"dsn":"hunter2"}`, []string{"configure: config: "}},
		"a key is there twice":         {"with a config", `{"dsn":"db://x","dsn":"db://y"}`, []string{"configure: config: ", "duplicate key"}},
		"the plugin says what is wrong": {
			"with diagnostics", `{"dsn":"db://x"}`,
			[]string{"configure: toolwharf.yaml at /dsn: no such host (check the name); toolwharf.yaml at : and so on"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := acting(t, tc.as)
			d.Config = []byte(tc.config)
			d.Locate = func(pointer string) string { return "toolwharf.yaml at " + pointer }
			e := newHarness(t).fails(d)
			if e.Phase != adapter.PhaseConfigure || !e.Refused {
				t.Errorf("phase %s, refused %v", e.Phase, e.Refused)
			}
			expectWords(t, e.Error(), tc.words...)
			if strings.Contains(e.Error(), "hunter2") {
				t.Errorf("a secret is told: %v", e)
			}
		})
	}
}

func TestADroppedInPluginThatNeedsConfigurationSaysSo(t *testing.T) {
	h := newHarness(t)
	d := acting(t, "with a config")
	d.Configured = false
	_, err := h.Start(t.Context(), d)
	var needs *adapter.NeedsConfigError
	if !errors.As(err, &needs) || needs.Plugin != "orders" {
		t.Errorf("%v", err)
	}
	h.expectNothingLeft()
}

func TestAPluginThatFailsWhileItIsConfiguredSaysWhy(t *testing.T) {
	for as, tc := range map[string]struct {
		phase adapter.Phase
		words []string
	}{
		"with a broken config schema": {adapter.PhaseDescribe, []string{"the plugin's config schema: "}},
		"failing in configure":        {adapter.PhaseConfigure, []string{"Internal: out of order"}},
		"ending in configure":         {adapter.PhaseConfigure, []string{"the plugin ended (exit status 5)", "its last words: panic: no such database"}},
	} {
		t.Run(as, func(t *testing.T) {
			d := acting(t, as)
			d.Config = []byte(`{"dsn":"db://x"}`)
			e := newHarness(t).fails(d)
			if e.Phase != tc.phase || e.Refused || e.Ended != strings.Contains(e.Reason, " ended ") {
				t.Errorf("phase %s, refused %v, ended %v: %s", e.Phase, e.Refused, e.Ended, e.Reason)
			}
			expectWords(t, e.Error(), tc.words...)
		})
	}
}
