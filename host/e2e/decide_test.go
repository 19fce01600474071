// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decider asks a host's approvals over HTTP.
type decider struct {
	t      *testing.T
	base   string
	header headers
}

// operatorToken is that of the host of a directory.
func operatorToken(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, ".toolwharf", "operator.token")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", file, info.Mode(), err)
	}
	return strings.TrimSpace(string(raw))
}

func (h *host) decider(with headers) decider { return decider{h.t, h.base, with} }

func (h *host) operator() decider {
	return h.decider(headers{"Authorization": "Bearer " + operatorToken(h.t, h.dir)})
}

// seen is an approval as operators see it, or a refusal.
type seen struct {
	ID, Status, Tool, Principal, Why, Reason, Error, Message string
	DecidedBy                                                string          `json:"decided_by"`
	Arguments                                                json.RawMessage `json:"arguments"`
	Edited                                                   json.RawMessage `json:"edited_arguments"`
}

func (d decider) do(method, path, body string) (*http.Response, []byte) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range d.header {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp, raw
}

func (d decider) ask(method, path, body string) (int, seen) {
	d.t.Helper()
	resp, raw := d.do(method, path, body)
	var s seen
	if err := json.Unmarshal(raw, &s); err != nil {
		d.t.Fatalf("%s %s: %s: %s", method, path, resp.Status, raw)
	}
	return resp.StatusCode, s
}

// list returns the ids that a query finds, and the cursor of the rest.
func (d decider) list(query string) (ids []string, next string) {
	d.t.Helper()
	resp, raw := d.do(http.MethodGet, "/v1/approvals?"+query, "")
	var page struct {
		Approvals []seen
		Next      string `json:"next_cursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: %s: %s", query, resp.Status, raw)
	}
	for _, a := range page.Approvals {
		ids = append(ids, a.ID)
	}
	return ids, page.Next
}

func TestOperatorsDecideOverHTTPAndNobodyElseLearnsOrDoesAnything(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk")
	ops := newToken(t, "--client-id", "ops", "--scope", "toolwharf:operate")
	agent := newToken(t, "--client-id", "agent", "--scope", "toolwharf:operate")
	dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, auth: {tokens: [%s, %s, %s]}}\n", freePort(t), desk.entry(), ops.entry(), agent.entry()))
	h := serve(t, dir)
	s := h.connectWith(desk.header(), "", nil)
	lists(t, s, "echo_append_line", true)
	const asked = `{"line":"one","n":9007199254740993}`
	r, err := appendLine(t, s, asked, pending{})
	p := parked(t, r, err)
	operator, other := h.operator(), h.decider(ops.header())

	// Nobody else: the same answers whether or not there is such an approval.
	none := "apr_" + strings.Repeat("A", 26)
	for name, c := range map[string]struct {
		d      decider
		status int
		code   string
	}{
		"nobody":             {h.decider(nil), 401, "unauthorized"},
		"a wrong token":      {h.decider(headers{"Authorization": "Bearer twh_" + strings.Repeat("x", 43)}), 401, "unauthorized"},
		"a password":         {h.decider(headers{"Authorization": "Basic " + operatorToken(t, dir)}), 401, "unauthorized"},
		"the asker":          {h.decider(desk.header()), 403, "not-operator"},
		"a token in the URL": {decider{t, h.base, nil}, 401, "unauthorized"},
	} {
		var answers []string
		for _, id := range []string{p.approval, none} {
			for _, do := range [][2]string{
				{http.MethodGet, ""}, {http.MethodPost, `{"approve":true}`}, {http.MethodPost, `{`}, {http.MethodDelete, ""},
			} {
				path := "/v1/approvals/" + id
				if name == "a token in the URL" {
					path += "?access_token=" + operatorToken(t, dir)
				}
				resp, raw := c.d.do(do[0], path, do[1])
				var said seen
				if err := json.Unmarshal(raw, &said); err != nil || resp.StatusCode != c.status || said.Error != c.code || said.Message == "" {
					t.Errorf("%s: %s %s: %s %s", name, do[0], path, resp.Status, raw)
				}
				answers = append(answers, string(raw))
			}
		}
		if len(slices.Compact(answers)) != 1 {
			t.Errorf("%s can tell what there is: %q", name, answers)
		}
		if resp, raw := c.d.do(http.MethodGet, "/v1/approvals?status=x", ""); resp.StatusCode != 401 && resp.StatusCode != 403 || bytes.Contains(raw, []byte("apr_")) {
			t.Errorf("%s lists: %s %s", name, resp.Status, raw)
		}
	}

	// What an operator sees.
	status, a := operator.ask(http.MethodGet, "/v1/approvals/"+p.approval, "")
	if status != 200 || a.Status != "pending" || a.Tool != "echo_append_line" || a.Principal != `["desk","",""]` || string(a.Arguments) != asked || a.Why == "" {
		t.Errorf("%d %+v", status, a)
	}
	for path, want := range map[string]int{
		"/v1/approvals/" + none: 404, "/v1/approvals/x": 404, "/v1/approvals/x/y": 404, "/v1/approvals?limit=0": 400, "/v1/approvals?what=x": 400,
	} {
		if status, said := operator.ask(http.MethodGet, path, ""); status != want || said.Error == "" || said.Message == "" {
			t.Errorf("%s: %d %+v", path, status, said)
		}
	}
	if resp, _ := operator.do(http.MethodPut, "/v1/approvals/"+p.approval, ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, POST" {
		t.Errorf("PUT: %s %v", resp.Status, resp.Header)
	}

	// A decision that is none decides nothing.
	for body, want := range map[string]int{
		`{"approve":"yes"}`:                              400,
		`{"reason":"x"}`:                                 400,
		`{"approve":true,"x"}`:                           400,
		`{"approve":false,"edited_arguments":{}}`:        422,
		`{"approve":true,"edited_arguments":{"line":4}}`: 422,
		`{"approve":true,"edited_arguments":[]}`:         422,
		`{"approve":true,"reason":"two\nlines"}`:         422,
		`{"approve":true,"edited_arguments":{"line":"x","n":1,"extra":"` + strings.Repeat("x", 2<<20) + `"}}`: 413,
	} {
		if status, said := operator.ask(http.MethodPost, "/v1/approvals/"+p.approval, body); status != want || said.Message == "" {
			t.Errorf("%.80s: %d %+v", body, status, said)
		}
	}
	form := operator
	form.header = headers{"Authorization": operator.header["Authorization"], "Content-Type": "application/x-www-form-urlencoded"}
	if status, said := form.ask(http.MethodPost, "/v1/approvals/"+p.approval, `{"approve":true}`); status != 415 || said.Error != "not-json" {
		t.Errorf("a form: %d %+v", status, said)
	}
	r, err = appendLine(t, s, asked, p)
	parked(t, r, err)

	// A bearer of the scope decides; not twice, and not about its own call.
	status, a = other.ask(http.MethodPost, "/v1/approvals/"+p.approval, `{"approve":true,"edited_arguments":{"line":"edited","n":9007199254740995},"reason":"half"}`)
	if status != 200 || a.Status != "approved" || a.DecidedBy != `["ops","",""]` || a.Reason != "half" || string(a.Edited) != `{"line":"edited","n":9007199254740995}` || string(a.Arguments) != asked {
		t.Errorf("%d %+v", status, a)
	}
	if status, said := operator.ask(http.MethodPost, "/v1/approvals/"+p.approval, `{"approve":false}`); status != 409 || said.Error != "not-pending" {
		t.Errorf("again: %d %+v", status, said)
	}
	if r, err = appendLine(t, s, asked, p); err != nil || r.IsError {
		t.Fatalf("resume: %v %s", err, textOf(r))
	}
	own := h.connectWith(agent.header(), "", nil)
	r, err = appendLine(t, own, asked, pending{})
	p = parked(t, r, err)
	if status, said := h.decider(agent.header()).ask(http.MethodPost, "/v1/approvals/"+p.approval, `{"approve":true}`); status != 403 || said.Error != "own-call" {
		t.Errorf("its own call: %d %+v", status, said)
	}
	if status, a = operator.ask(http.MethodPost, "/v1/approvals/"+p.approval, `{"approve":false,"reason":"no"}`); status != 200 || a.Status != "denied" || !strings.HasPrefix(a.DecidedBy, "operator/") {
		t.Errorf("%d %+v", status, a)
	}
	r, err = appendLine(t, own, asked, p)
	says(t, r, err, "approval_denied", "approval_declined")
	if got, want := ran(t, lines), []string{"edited 9007199254740995"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}

	// Page by page, the newest first.
	var made []string
	for i := range 5 {
		r, err = appendLine(t, s, fmt.Sprintf(`{"line":"x","n":%d}`, i), pending{})
		made = append([]string{parked(t, r, err).approval}, made...)
	}
	var got []string
	for cursor, more := "", true; more; more = cursor != "" {
		query := url.Values{"status": {"pending"}, "principal": {`["desk","",""]`}, "limit": {"2"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		var ids []string
		ids, cursor = operator.list(query.Encode())
		got = append(got, ids...)
	}
	if !slices.Equal(got, made) {
		t.Errorf("listed %q, made %q", got, made)
	}
	if ids, _ := operator.list("status=denied&tool=echo_append_line&adapter=echo"); !slices.Equal(ids, []string{p.approval}) {
		t.Errorf("denied: %q", ids)
	}
	if log := h.stderr.String(); strings.Contains(log, operatorToken(t, dir)) {
		t.Error("the log has the operator's token")
	}
}
