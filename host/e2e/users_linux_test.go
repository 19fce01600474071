// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
)

// rootHost skips what only a host of root has.
func rootHost(t *testing.T) {
	t.Helper()
	whole(t)
	if err := account.Possible(); err != nil {
		t.Skip("no users can be given: ", err)
	}
}

// ownUser is what is said of an adapter that has one.
var ownUser = regexp.MustCompile(`, user (\d+) of its own`)

func TestAnAdapterOfARootHostHasAUserOfItsOwnWhereThatReachesWhatItNeeds(t *testing.T) {
	t.Parallel()
	rootHost(t)
	dir, plugins := workspace(t, `
rules: [{allow: ["*"]}]
adapters:
  plain: {plugin: mischief, env: {MISCHIEF: intrudes}}
  other: {plugin: mischief, env: {MISCHIEF: intrudes}}
  reads: {plugin: mischief, env: {MISCHIEF: intrudes}, config: {read: [DIR/shown], write: [DIR/common]}}
  shop: {plugin: sql, config: {dsn: 'sqlite:shop.db', allowed_tables: ['*']}}
  hidden: {plugin: mischief, env: {MISCHIEF: intrudes}, config: {read: [DIR/secret]}}
  buried: {plugin: mischief, env: {MISCHIEF: intrudes}, config: {read: [DIR/tree]}}
  writes: {plugin: mischief, env: {MISCHIEF: intrudes}, config: {write: [DIR/shop.db]}}
  closed: {plugin: private}
  free: {plugin: mischief, env: {MISCHIEF: intrudes}, sandbox: off}
`)
	at := func(name string) string { return filepath.Join(dir, name) }
	file := at("toolwharf.yaml")
	text, err := os.ReadFile(file)
	err = errors.Join(err, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "DIR", dir)), 0o600),
		os.MkdirAll(at("tree/below"), 0o755), os.Mkdir(at("common"), 0o755), os.Chmod(at("common"), 0o1777),
		os.WriteFile(at("tree/below/private"), nil, 0o600), os.WriteFile(at("shown"), []byte("x"), 0o644), os.WriteFile(at("secret"), []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	shopDatabase(t, at("shop.db"))
	install(t, "mischief", plugins)
	if err := os.Rename(install(t, "hello", plugins), filepath.Join(plugins, "private")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(plugins, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := serve(t, dir)
	i := &intruders{host: h, caller: h.caller()}
	all := h.moored()
	users := map[string]string{}
	for name, want := range map[string]string{ // what is said of it
		"plain": "", "other": "", "reads": "", "shop": "",
		"hidden": "the host's user (" + at("secret") + " may not be read by others: permission denied)",
		"buried": "the host's user (" + at("tree/below/private") + " may not be read by others",
		"writes": "the host's user (" + at("shop.db") + " may not be read and written by others",
		"closed": "the host's user (" + plugins + "/private may not be read and executed by others",
		"free":   "off",
	} {
		a := all[name]
		if a.State != "ready" || !strings.Contains(a.Sandbox, want) {
			t.Errorf("%s is %s (%s): %s, want %q", name, a.State, a.Cause, a.Sandbox, want)
		}
		own := ownUser.FindStringSubmatch(a.Sandbox)
		if (own != nil) != (want == "") {
			t.Errorf("%s: %s", name, a.Sandbox)
		}
		user := "0"
		if own != nil {
			user = own[1]
			if other, two := users[user]; two {
				t.Errorf("%s and %s are user %s", name, other, user)
			}
			users[user] = name
		}
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.PID)); err != nil || !regexp.MustCompile(`(?m)^Uid:(\t`+user+`){4}$`).Match(status) {
			t.Errorf("%s is not user %s: %v\n%.400s", name, user, err, status)
		}
	}
	if a := h.caller().call(t.Context(), "shop_query", `{"sql":"SELECT count(*) AS n FROM orders"}`); !a.ok() {
		t.Errorf("SQLite as a user of its own: %v", a)
	}
	i.expects(t, "reads what is granted", "reads", "read "+at("shown"), works)
	i.expects(t, "writes what is granted", "reads", "write "+at("common/f"), works)
	i.expects(t, "reads what only the host's user may", "hidden", "read "+at("secret"), works)
	i.expects(t, "has one group", "plain", "who", "others []")
	for _, name := range []string{"plain", "reads"} {
		for _, f := range []string{at("shown"), file, at("secret"), at("shop.db"), filepath.Join(plugins, "mischief"), filepath.Join(dir, ".toolwharf")} {
			for _, verb := range []string{"mode", "times", "owner"} {
				i.expects(t, fmt.Sprintf("%s changes the %s of %s", name, verb, filepath.Base(f)), name, verb+" "+f, refused)
			}
		}
	}
	// That is what having the host's user means, and it is said so.
	i.expects(t, "an adapter with the host's user changes the times of the host's files", "hidden", "times "+at("shown"), works)

	t.Run("and keeps it", func(t *testing.T) {
		h.stop()
		h := serve(t, dir)
		for name, a := range h.moored() {
			if was := ownUser.FindString(all[name].Sandbox); ownUser.FindString(a.Sandbox) != was {
				t.Errorf("%s had %q, has %s", name, was, a.Sandbox)
			}
		}
		stdout, _, _ := run(t, dir, "doctor")
		for _, want := range []string{"ok users each adapter has a user of its own", "ok adapter plain ready", "ok adapter hidden ready"} {
			if !hasCheck(stdout, want[:2], want[3:]) {
				t.Errorf("doctor does not say %q:\n%s", want, stdout)
			}
		}
		for _, want := range []string{"user ", " of its own", "the host's user (" + at("secret")} {
			if !strings.Contains(stdout, want) {
				t.Errorf("doctor does not say %q:\n%s", want, stdout)
			}
		}
	})
}

func TestUnderStressAnAdapterThatBreedsEndsAtTheLimitOfItsUserAndHarmsNobody(t *testing.T) {
	rootHost(t)
	dir, plugins := workspace(t, `
rules: [{allow: ["*"]}]
adapters: {bad: {plugin: mischief, env: {MISCHIEF: intrudes}}}
`)
	for _, plugin := range []string{"echo", "hello", "mischief"} {
		install(t, plugin, plugins)
	}
	h := serve(t, dir)
	i := &intruders{host: h, caller: h.caller()}
	h.unharmed(t, func() {
		i.expects(t, "breeds", "bad", "breed", "resource temporarily unavailable")
		was := h.moored()["bad"].PID
		if err := syscall.Kill(was, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is started again", func() error {
			if a := h.moored()["bad"]; a.State != "ready" || a.PID == was {
				return fmt.Errorf("it is %s (%s), process %d", a.State, a.Cause, a.PID)
			}
			return nil
		})
		i.expects(t, "has room again", "bad", "nothing", works)
	})
}
