// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// waiting parks a call of arguments.
func waiting(t *testing.T, s *mcp.ClientSession, args string) pending {
	t.Helper()
	r, err := appendLine(t, s, args, pending{})
	return parked(t, r, err)
}

func lineOf(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"line": text, "n": 1}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestAPersonDecidesOnTheApprovalPage(t *testing.T) {
	t.Parallel()
	b := browse(t)
	dir, lines := approving(t, "http: {allow_anonymous: true, max_body: 3MiB, listen: \""+freePort(t)+"\"}\nrules: [{confirm: [\"echo_append_*\"]}]\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)

	const asked = `{"line":"one","n":9007199254740993.0}`
	p := waiting(t, s, asked)
	t.Run("who has not said who it is learns nothing", func(t *testing.T) {
		b.t = t
		b.open(h.base + "/approve/" + p.approval)
		signIn := b.text()
		b.open(h.base + "/approve/apr_" + strings.Repeat("A", 26))
		if none := b.text(); none != signIn || strings.Contains(signIn, "echo") {
			t.Errorf("an approval:\n%s\nnone:\n%s", signIn, none)
		}
		b.fill("#token", "twh_"+strings.Repeat("x", 43))
		b.submit("main button")
		b.has("no token of an operator")
	})
	t.Run("approve", func(t *testing.T) {
		b.t = t
		b.signIn(h, p.approval)
		b.has("Let a caller without a name call echo_append_line?", "Waiting for a decision", "expires in", "Additive",
			"rule on line 3: confirm echo_append_*", "9007199254740993.0", "Sign out")
		b.submit("button[value=approve]")
		b.has("Approved", "It may run once", "operator")
		if n := eval[int](b, "document.querySelectorAll('main form').length"); n != 0 {
			t.Errorf("%d forms on the page of what is decided", n)
		}
		if r, err := appendLine(t, s, asked, p); err != nil || r.IsError {
			t.Fatalf("resume: %v %s", err, textOf(r))
		}
		b.open(h.base + "/approve/" + p.approval)
		b.has("Approved and used")
	})
	t.Run("deny, with a reason", func(t *testing.T) {
		b.t = t
		p := waiting(t, s, asked)
		b.open(h.base + "/approve/" + p.approval)
		b.fill("#reason", "not on a Friday & <b>never</b>")
		b.submit("button[value=deny]")
		b.has("Denied", "not on a Friday & <b>never</b>")
		r, err := appendLine(t, s, asked, p)
		says(t, r, err, "approval_denied", "approval_declined")
		if !strings.Contains(textOf(r), "not on a Friday & <b>never</b>") {
			t.Errorf("the caller is told %q", textOf(r))
		}
	})
	t.Run("approve other arguments", func(t *testing.T) {
		b.t = t
		p := waiting(t, s, asked)
		b.open(h.base + "/approve/" + p.approval)
		b.do("open the details", chromedp.Click(chromedp.CSS("summary")))
		if got := eval[string](b, "document.querySelector('textarea').value"); got != "{\n  \"line\": \"one\",\n  \"n\": 9007199254740993.0\n}" {
			t.Errorf("there is to edit %q", got)
		}
		for sent, want := range map[string]string{
			`{"line": 4}`: "edited arguments", `{"line":`: "end of JSON", ` `: "there are no arguments", `{"n":1,"n":2}`: "duplicate key",
		} {
			b.fill("textarea", sent)
			b.submit("button[value=edit]")
			b.has("Nothing was decided", want)
			if got := eval[string](b, "document.querySelector('textarea').value"); strings.TrimSpace(sent) != "" && got != sent {
				t.Errorf("%s: there is to edit %q", sent, got)
			}
			if strings.TrimSpace(sent) == "" {
				b.do("open the details", chromedp.Click(chromedp.CSS("summary")))
			}
		}
		b.fill("textarea", "{\n \"line\": \"edited\",\n \"n\": 9007199254740995\n}")
		b.fill("#edit-reason", "less")
		b.submit("button[value=edit]")
		b.has("Run instead", "9007199254740993.0", "9007199254740995", "less")
		if r, err := appendLine(t, s, asked, p); err != nil || r.IsError {
			t.Fatalf("resume: %v %s", err, textOf(r))
		}
		if got, want := ran(t, lines), []string{"one 9007199254740993.0", "edited 9007199254740995"}; !slices.Equal(got, want) {
			t.Errorf("ran %q", got)
		}
	})
	t.Run("decided meanwhile", func(t *testing.T) {
		b.t = t
		p := waiting(t, s, asked)
		b.open(h.base + "/approve/" + p.approval)
		decide(t, dir, "deny", p.approval, "--reason", "I was first")
		b.submit("button[value=approve]")
		b.has("Nothing was decided by you", "Denied", "I was first")
	})
	t.Run("one that is not there", func(t *testing.T) {
		b.t = t
		for _, id := range []string{"apr_" + strings.Repeat("A", 26), "apr_1", "x"} {
			b.open(h.base + "/approve/" + id)
			b.has("There is no such approval, or it is not yours to decide.")
		}
	})
	t.Run("arguments that want to be taken for something else", func(t *testing.T) {
		b.t = t
		const text = "</pre></main><script>document.title='mine'</script><img src=x onerror=\"document.title='mine'\"> \u202egnp.exe\u202c" +
			" \u0000\u001b[31m\u200b\u00a0\u3164 \u05d0\u05d1 \"q\" {{1+1}} &lt;b&gt;"
		p := waiting(t, s, lineOf(t, text))
		b.open(h.base + "/approve/" + p.approval)
		shown := eval[string](b, "document.getElementById('asked').textContent")
		var back struct{ Line string }
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back.Line != text {
			t.Errorf("%v: shown as %s", err, shown)
		}
		for _, hidden := range []string{"\u202e", "\u200b", "\u00a0", "\u3164", "\u001b"} {
			if strings.Contains(shown, hidden) {
				t.Errorf("%q stands there as it is", hidden)
			}
		}
		b.has("7 characters below are written as escapes")
		if scripts := eval[int](b, "document.scripts.length + document.images.length"); scripts != 0 || eval[string](b, "document.title") == "mine" {
			t.Errorf("%d scripts and images", scripts)
		}
		if marks := eval[int](b, "document.querySelectorAll('#asked mark').length"); marks != 7 {
			t.Errorf("%d characters are marked", marks)
		}
		if eval[int](b, "document.querySelectorAll('#asked bdi').length") == 0 {
			t.Error("what is read from right to left may reorder the rest")
		}
		b.submit("button[value=approve]")
		if r, err := appendLine(t, s, lineOf(t, text), p); err != nil || r.IsError {
			t.Fatalf("resume: %v %s", err, textOf(r))
		}
	})
	t.Run("a megabyte of arguments", func(t *testing.T) {
		b.t = t
		text := strings.Repeat("0123456789\u202e\"\\x", 60_000)
		args := lineOf(t, text)
		if len(args) < 1<<20 {
			t.Fatal(len(args))
		}
		p := waiting(t, s, args)
		b.open(h.base + "/approve/" + p.approval)
		var back struct{ Line string }
		if err := json.Unmarshal([]byte(eval[string](b, "document.getElementById('asked').textContent")), &back); err != nil || back.Line != text {
			t.Errorf("%v: it is not all there: %d bytes", err, len(back.Line))
		}
		b.has("60000 characters below are written as escapes", "1.0 MiB")
		b.do("edit the end of it", chromedp.Click(chromedp.CSS("summary")),
			chromedp.Evaluate[chromedp.Void](`(a => { a.value = a.value.replace('"n": 1', '"n": 2').replace('"n":1', '"n":2') })(document.querySelector('textarea'))`))
		b.submit("button[value=edit]")
		b.has("Run instead", "Approved")
	})
}

func TestThePageOfAnApprovalThatNobodyDecidedInTimeSaysSo(t *testing.T) {
	t.Parallel()
	b := browse(t)
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\napproval: {mode: deferred, expires: 1s}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	p := waiting(t, s, `{"line":"a","n":1}`)
	if id := onlyOne(t, dir, "expired"); id != p.approval {
		t.Errorf("expired is %s, asked for %s", id, p.approval)
	}
	b.signIn(h, p.approval)
	b.has("Expired", "Nobody decided in time")
	if n := eval[int](b, "document.querySelectorAll('main form').length"); n != 0 {
		t.Errorf("%d forms", n)
	}
	if got := ran(t, lines); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

func TestPagesElsewhereCannotDecideWithTheBrowserOfAnOperator(t *testing.T) {
	t.Parallel()
	b := browse(t)
	dir, _ := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	p := waiting(t, s, `{"line":"a","n":1}`)
	b.signIn(h, p.approval)
	target := h.base + "/approve/" + p.approval
	// The worst case: the page knows what no page can know, the session's token.
	csrf := eval[string](b, "document.querySelector('main form input[name=csrf]').value")

	var page atomic.Pointer[string] // a browser also asks by itself, for an icon
	show := func(text string) { page.Store(&text) }
	show("")
	// Another port of the same host name: the browser sends the session's cookie along.
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, *page.Load())
	}))
	defer evil.Close()
	stillWaits := func(t *testing.T) {
		t.Helper()
		if _, a := h.operator().ask(http.MethodGet, "/v1/approvals/"+p.approval, ""); a.Status != "pending" {
			t.Errorf("it is %s by %s", a.Status, a.DecidedBy)
		}
	}
	form := fmt.Sprintf(`<form method=post action=%q><input name=csrf value=%q><input name=decision value=approve><button>x</button></form>`,
		target, html.EscapeString(csrf))
	t.Run("a form on another port", func(t *testing.T) {
		b.t = t
		show(form)
		b.open(evil.URL)
		b.submit("button")
		b.has("not sent by a page of this host")
		stillWaits(t)
	})
	t.Run("a form without an origin", func(t *testing.T) {
		b.t = t
		show(`<meta name=referrer content=no-referrer>` + form)
		b.open(evil.URL)
		b.submit("button")
		b.has("origin-not-allowed")
		stillWaits(t)
	})
	t.Run("a script on another port", func(t *testing.T) {
		b.t = t
		show(fmt.Sprintf(`<script>var done = fetch(%q, {method: "POST", mode: "no-cors", credentials: "include",
			headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: %q}).then(r => r.type, e => "failed")</script>`,
			target, url.Values{"csrf": {csrf}, "decision": {"approve"}}.Encode()))
		b.open(evil.URL)
		if got := eval[string](b, "done", chromedp.EvalAwaitPromise); got == "" {
			t.Error("the script has not run")
		}
		stillWaits(t)
	})
	t.Run("a frame on another port", func(t *testing.T) {
		b.t = t
		said := &console{}
		err := chromedp.Listen(b.ctx, func(e any) {
			if e, ok := e.(*log.EventEntryAdded); ok {
				said.add(e.Entry.Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		show(fmt.Sprintf(`<iframe src=%q></iframe>`, target))
		b.open(evil.URL)
		eventually(t, "the browser refuses to frame it", func() error {
			if !said.has("frame-ancestors") {
				return errors.New("it has not said so")
			}
			return nil
		})
		stillWaits(t)
	})
	t.Run("a link on another site opens the page all the same", func(t *testing.T) {
		b.t = t
		show(fmt.Sprintf(`<a href=%q>x</a>`, target))
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(evil.URL, "http://"))
		b.open("http://localhost:" + port) // to which 127.0.0.1 is another site
		b.do("follow it", chromedp.Click(chromedp.CSS("a")), chromedp.WaitReady(chromedp.CSS("button[value=approve]")))
		b.has("Waiting for a decision")
	})
	t.Run("the form of another session", func(t *testing.T) {
		b.t = t
		b.open(target)
		b.do("forge", chromedp.Evaluate[chromedp.Void](`document.querySelector('main form input[name=csrf]').value = 'x'`))
		b.submit("button[value=approve]")
		b.has("not made for you")
		stillWaits(t)
	})
	t.Run("after signing out", func(t *testing.T) {
		b.t = t
		b.open(target)
		b.submit("header button")
		b.has("signed out")
		b.open(target)
		b.has("Sign in to decide")
		stillWaits(t)
	})
}

func TestThePageTellsBrowsersToKeepItToItself(t *testing.T) {
	t.Parallel()
	dir, _ := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	p := waiting(t, s, `{"line":"a","n":1}`)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, path string, form url.Values, with headers) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, h.base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for k, v := range with {
			r.Header.Set(k, v)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(raw)
	}
	own := headers{"Origin": h.base}
	token := url.Values{"token": {operatorToken(t, dir)}, "next": {p.approval}}

	resp, _ := send(http.MethodGet, "/approve/"+p.approval, nil, nil)
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	policy := resp.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") || resp.StatusCode != 401 || len(resp.Cookies()) != 0 {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}

	for name, with := range map[string]headers{
		"no origin":        nil,
		"another port":     {"Origin": "http://127.0.0.1:1"},
		"another scheme":   {"Origin": strings.Replace(h.base, "http:", "https:", 1)},
		"another name":     {"Origin": strings.Replace(h.base, "127.0.0.1", "localhost", 1)},
		"said to be cross": {"Origin": h.base, "Sec-Fetch-Site": "same-site"},
	} {
		if resp, body := send(http.MethodPost, "/approve/login", token, with); resp.StatusCode != 403 || len(resp.Cookies()) != 0 {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
	}
	if resp, _ := send(http.MethodGet, "/approve/login?"+token.Encode(), nil, own); len(resp.Cookies()) != 0 || resp.StatusCode == 303 {
		t.Errorf("by GET: %s %v", resp.Status, resp.Cookies())
	}
	resp, _ = send(http.MethodPost, "/approve/login", token, own)
	if resp.StatusCode != 303 || resp.Header.Get("Location") != p.approval || len(resp.Cookies()) != 1 {
		t.Fatalf("signing in: %s %v", resp.Status, resp.Header)
	}
	cookie := resp.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Domain != "" || cookie.MaxAge <= 0 || cookie.MaxAge > 3600 {
		t.Errorf("cookie %+v", cookie)
	}
	for _, next := range []string{"https://evil.example", "//evil.example", "../v1/approvals", "login", ""} {
		form := url.Values{"token": token["token"], "next": {next}}
		if resp, _ := send(http.MethodPost, "/approve/login", form, own); resp.StatusCode != 200 || resp.Header.Get("Location") != "" {
			t.Errorf("next %q: %s %v", next, resp.Status, resp.Header)
		}
	}

	// A session is no token for anything else, and looking changes nothing.
	signedIn := headers{"Cookie": cookie.Name + "=" + cookie.Value, "Origin": h.base}
	if resp, _ := send(http.MethodGet, "/v1/approvals", nil, signedIn); resp.StatusCode != 401 {
		t.Errorf("the list: %s", resp.Status)
	}
	if resp, body := send(http.MethodGet, "/approve/"+p.approval+"?decision=approve", nil, signedIn); resp.StatusCode != 200 || !strings.Contains(body, "Waiting for a decision") {
		t.Errorf("by GET: %s", resp.Status)
	}
	for name, with := range map[string]headers{
		"a cookie that was changed": {"Cookie": cookie.Name + "=" + cookie.Value[:len(cookie.Value)-2] + "AA"},
		"two of them":               {"Cookie": cookie.Name + "=" + cookie.Value + "; " + cookie.Name + "=" + cookie.Value},
		"a token in its place":      {"Authorization": "Bearer " + token.Get("token")},
	} {
		if resp, body := send(http.MethodGet, "/approve/"+p.approval, nil, with); resp.StatusCode != 401 || strings.Contains(body, "echo_append_line") {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	for path, large := range map[string]int{"/approve/login": 64 << 10, "/approve/" + p.approval: 5 << 20} {
		if resp, body := send(http.MethodPost, path, url.Values{"token": {strings.Repeat("x", large)}}, signedIn); resp.StatusCode != 413 || !strings.Contains(body, "too") {
			t.Errorf("a large form to %s: %s %s", path, resp.Status, body)
		}
	}
	if log := h.stderr.String(); strings.Contains(log, token.Get("token")) || strings.Contains(log, cookie.Value) {
		t.Error("the log has a token or a session")
	}
}

func TestATokenWithTheScopeSignsItsBearerInAndDecidesNotAboutItsOwnCalls(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk")
	ops := newToken(t, "--client-id", "ops", "--subject", "ada", "--scope", "toolwharf:operate")
	agent := newToken(t, "--client-id", "agent", "--scope", "toolwharf:operate")
	dir, _ := approving(t, fmt.Sprintf("http: {listen: %q, auth: {tokens: [%s, %s, %s]}}\n", freePort(t), desk.entry(), ops.entry(), agent.entry()))
	h := serve(t, dir)
	s := h.connectWith(agent.header(), "", nil)
	lists(t, s, "echo_append_line", true)
	p := waiting(t, s, `{"line":"a","n":1}`)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, path, cookie string, form url.Values) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, h.base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range (headers{"Content-Type": "application/x-www-form-urlencoded", "Origin": h.base, "Cookie": cookie}) {
			r.Header.Set(k, v)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(raw)
	}
	page := "/approve/" + p.approval
	signIn := func(c credential) (cookie, csrf, body string) {
		t.Helper()
		resp, _ := send(http.MethodPost, "/approve/login", "", url.Values{"token": {c.Token}, "next": {p.approval}})
		if len(resp.Cookies()) == 0 {
			return "", "", resp.Status
		}
		cookie = resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
		_, body = send(http.MethodGet, page, cookie, nil)
		_, rest, _ := strings.Cut(body, `name="csrf" value="`)
		csrf, _, _ = strings.Cut(rest, `"`)
		return cookie, csrf, body
	}
	if cookie, _, status := signIn(desk); cookie != "" || status != "401 Unauthorized" {
		t.Errorf("a token without the scope signs in: %s", status)
	}
	cookie, csrf, body := signIn(agent)
	if !strings.Contains(body, "somebody else has to decide") || strings.Contains(body, `value="approve"`) {
		t.Errorf("the asker sees:\n%s", body)
	}
	if resp, _ := send(http.MethodPost, page, cookie, url.Values{"csrf": {csrf}, "decision": {"approve"}}); resp.StatusCode != 403 {
		t.Errorf("the asker decides: %s", resp.Status)
	}
	other, mine, body := signIn(ops)
	if !strings.Contains(body, "client ops") || !strings.Contains(body, `value="approve"`) {
		t.Errorf("an operator sees:\n%s", body)
	}
	// What one session was given is nothing to another.
	if resp, _ := send(http.MethodPost, page, other, url.Values{"csrf": {csrf}, "decision": {"approve"}}); resp.StatusCode != 403 {
		t.Errorf("by the form of another session: %s", resp.Status)
	}
	if resp, body := send(http.MethodPost, page, other, url.Values{"csrf": {mine}, "decision": {"approve"}}); resp.StatusCode != 303 {
		t.Errorf("an operator decides: %s %s", resp.Status, body)
	}
	if _, a := h.operator().ask(http.MethodGet, "/v1/approvals/"+p.approval, ""); a.Status != "approved" || a.DecidedBy != `["ops","","ada"]` {
		t.Errorf("%s by %s", a.Status, a.DecidedBy)
	}
}
