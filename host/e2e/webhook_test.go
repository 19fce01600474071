// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// notice is a message of a webhook.
type notice struct {
	id   string
	Type string
	Data struct {
		Approval  string `json:"approval_id"`
		Status    string
		DecidedBy string `json:"decided_by"`
		Arguments json.RawMessage
	}
}

func TestAWebhookIsToldOfEachApprovalThoughHostsAreKilledMeanwhile(t *testing.T) {
	t.Parallel()
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	verifier, err := standard.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan notice, 100)
	var holds atomic.Pointer[chan struct{}] // answers nobody until it is closed
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := verifier.Verify(body, r.Header); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		n := notice{id: r.Header.Get("Webhook-Id")}
		if err := json.Unmarshal(body, &n); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		told <- n
		if hold := holds.Load(); hold != nil {
			<-*hold
		}
	}))
	t.Cleanup(receiver.Close)
	with := "WEBHOOK_SECRET=" + secret
	dir, _ := approving(t, fmt.Sprintf("http: {allow_anonymous: true, listen: %q}\napproval: {mode: deferred, webhooks: [{url: %q, secret: \"${WEBHOOK_SECRET}\"}]}\n",
		freePort(t), receiver.URL))
	h := serveWith(t, dir, toolwharf, with)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	p := waiting(t, s, `{"line":"a","n":1}`)
	if n := <-told; n.Type != "approval.pending" || n.Data.Approval != p.approval || n.Data.Status != "pending" || n.Data.Arguments != nil {
		t.Errorf("told %+v", n)
	}
	h.stop()

	decide(t, dir, "approve", p.approval) // by a process that tells nobody itself
	held := make(chan struct{})
	holds.Store(&held)
	h = serveWith(t, dir, toolwharf, with)
	decided := func() notice { // what was told of before may be told again
		for n := range told {
			if n.Type != "approval.pending" {
				return n
			}
		}
		return notice{}
	}
	first := decided()
	if first.Type != "approval.decided" || first.Data.Status != "approved" || !strings.HasPrefix(first.Data.DecidedBy, "operator/") {
		t.Errorf("told %+v", first)
	}
	if err := h.cmd.Process.Kill(); err != nil { // while it waits for the answer
		t.Fatal(err)
	}
	h.done <- <-h.done
	close(held)
	holds.Store(nil)
	h = serveWith(t, dir, toolwharf, with)
	if again := decided(); again.id != first.id || again.Type != first.Type || again.Data.Approval != p.approval {
		t.Errorf("told %+v, then %+v", first, again)
	}
	if log := h.stderr.String(); strings.Contains(log, secret) {
		t.Error("the log has the secret")
	}
}
