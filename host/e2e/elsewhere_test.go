// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheCommandLineDecidesAtAHostElsewhere(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	const asked = `{"line":"one","n":9007199254740993}`
	p := waiting(t, s, asked)
	away := t.TempDir() // where there is no configuration and no state
	token := "@" + filepath.Join(dir, ".toolwharf", "operator.token")
	at := func(args ...string) []string {
		return append(append([]string{"approvals"}, args...), "--host", h.base, "--token", token)
	}

	stdout, stderr, code := run(t, away, at("list", "--json")...)
	if code != 0 || !strings.Contains(stdout, p.approval) || !strings.Contains(stdout, "9007199254740993") {
		t.Errorf("list: exit %d: %s%s", code, stdout, stderr)
	}
	stdout, stderr, code = run(t, away, at("show", p.approval)...)
	if code != 0 || !strings.Contains(stdout, `"n": 9007199254740993`) {
		t.Errorf("show: exit %d: %s%s", code, stdout, stderr)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"arguments that do not fit": {at("approve", p.approval, "--args", `{"line":4}`), 1, "edited arguments"},
		"one that is not there":     {at("deny", "apr_"+strings.Repeat("A", 26)), 4, "no approval"},
		"no id":                     {at("deny", "../approvals"), 4, "no approval"},
		"a wrong token":             {[]string{"approvals", "list", "--host", h.base, "--token", "twh_" + strings.Repeat("x", 43)}, 1, "not known here"},
		"no token":                  {[]string{"approvals", "list", "--host", h.base}, 2, "go together"},
		"no file of a token":        {[]string{"approvals", "list", "--host", h.base, "--token", "@nowhere"}, 2, "nowhere"},
		"nobody":                    {[]string{"approvals", "list", "--host", "http://127.0.0.1:1", "--token", token}, 3, "cannot be reached"},
		"in the clear":              {[]string{"approvals", "list", "--host", "http://tools.example.com", "--token", token}, 2, "https"},
		"no host at all":            {[]string{"approvals", "list", "--host", "tools", "--token", token}, 2, "https://tools.example.com"},
		"another command":           {[]string{"tools", "list", "--host", h.base, "--token", token}, 2, "not built yet"},
	} {
		if stdout, stderr, code := run(t, away, c.args...); code != c.code || !strings.Contains(stderr, c.says) || strings.Contains(stderr, operatorToken(t, dir)) {
			t.Errorf("%s: exit %d: %s%s", name, code, stdout, stderr)
		}
	}
	if stdout, stderr, code := run(t, away, at("approve", p.approval, "--args", `{"line":"edited","n":9007199254740995}`, "--reason", "half")...); code != 0 || !strings.Contains(stdout, "approved") {
		t.Errorf("approve: exit %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := run(t, away, at("deny", p.approval)...); code != 1 || !strings.Contains(stderr, "is approved") {
		t.Errorf("deny it then: exit %d: %s", code, stderr)
	}
	if r, err := appendLine(t, s, asked, p); err != nil || r.IsError {
		t.Fatalf("resume: %v %s", err, textOf(r))
	}
	if got, want := ran(t, lines), []string{"edited 9007199254740995"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
}
