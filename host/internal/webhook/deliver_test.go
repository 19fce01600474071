// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/redact"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
)

var key = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))

// got is a message that has arrived.
type got struct {
	header http.Header
	body   []byte
}

// place is where messages are posted to. It answers with the statuses in turn, and
// with the last of them for ever.
func place(t *testing.T, statuses ...int) (url string, arrived chan got) {
	t.Helper()
	arrived = make(chan got, 100)
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		status := statuses[0]
		if len(statuses) > 1 {
			statuses = statuses[1:]
		}
		mu.Unlock()
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		arrived <- got{r.Header, append([]byte(r.URL.Path+" "), body...)}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hook?key=in-the-url", arrived
}

// watched is a store that says what is forgotten.
type watched struct {
	*sqlite.Store

	forgotten chan string
}

func (w *watched) Forget(ctx context.Context, id string) error {
	err := w.Store.Forget(ctx, id)
	w.forgotten <- id
	return err
}

// telling runs a deliverer over a store of its own.
func telling(t *testing.T, urls map[string]bool) (*watched, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	d := &Deliverer{Redactor: &redact.Redactor{}, PublicURL: "https://tools.example.com/x/", Log: slog.New(slog.NewTextHandler(log, nil))}
	d.Redactor.(*redact.Redactor).Set("shop", []string{"a secret of the shop"})
	receivers := map[approval.Event][]string{}
	for url, arguments := range urls {
		secret, err := ParseSecret(key)
		if err != nil {
			t.Fatal(err)
		}
		d.Receivers = append(d.Receivers, Receiver{Name: NameOf(url), URL: url, Secret: secret, IncludeArguments: arguments})
		for _, e := range []approval.Event{approval.EventPending, approval.EventDecided} {
			receivers[e] = append(receivers[e], NameOf(url))
		}
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), sqlite.Options{Receivers: receivers})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{store, make(chan string, 100)}
	d.Outbox = w
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w, log
}

func asked(t *testing.T, s *watched, call string) string {
	t.Helper()
	r, err := s.Ask(t.Context(), approval.Record{
		Mode: approval.Deferred, Principal: `["desk","",""]`, Call: call, Tool: "shop_pay", Adapter: "shop", Effects: "destructive",
		Args: []byte(`{"n":9007199254740993.0,"note":"a secret of the shop"}`), Why: "rule on line 3",
	}, time.Hour, approval.Quota{})
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

func TestAReceiverIsToldSignedAndOfNoMoreThanItShouldKnow(t *testing.T) {
	quiet, heardLittle := place(t, http.StatusNoContent)
	full, heardAll := place(t, http.StatusOK)
	store, log := telling(t, map[string]bool{quiet: false, full: true})
	id := asked(t, store, "a")
	first, all := <-heardLittle, <-heardAll
	if _, err := store.Decide(t.Context(), id, approval.Decision{
		Approve: true, By: "operator/ann", Edited: []byte(`{"n":9007199254740995}`), Reason: "half: a secret of the shop",
	}); err != nil {
		t.Fatal(err)
	}
	second, decided := <-heardLittle, <-heardAll

	verifier, err := standard.NewWebhook(key)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for name, m := range map[string]got{"pending": first, "decided": second, "pending, all": all, "decided, all": decided} {
		body := m.body[len("/hook "):]
		if err := verifier.Verify(body, m.header); err != nil || !bytes.HasPrefix(m.body, []byte("/hook ")) {
			t.Errorf("%s: %v: %s", name, err, m.body)
		}
		if err := verifier.Verify(append(slices.Clone(body), ' '), m.header); err == nil {
			t.Errorf("%s: another body has the same signature", name)
		}
		if ids[m.header.Get("Webhook-Id")] = true; bytes.Contains(body, []byte("a secret")) {
			t.Errorf("%s: it says %s", name, body)
		}
	}
	if len(ids) != 4 {
		t.Errorf("four messages have the ids %v", ids)
	}
	read := func(m got) (out struct {
		Type string
		Data map[string]json.RawMessage
	},
	) {
		t.Helper()
		if err := json.Unmarshal(m.body[len("/hook "):], &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, c := range map[string]struct {
		m           got
		kind        string
		has, hasNot map[string]string
	}{
		"pending": {first, "approval.pending", map[string]string{
			"approval_id": `"` + id + `"`, "status": `"pending"`, "tool": `"shop_pay"`, "principal": `"[\"desk\",\"\",\"\"]"`,
			"url": `"https://tools.example.com/x/approve/` + id + `"`,
		}, map[string]string{"arguments": "", "decided_by": ""}},
		"decided": {second, "approval.decided", map[string]string{
			"status": `"approved"`, "decided_by": `"operator/ann"`, "edited": "true",
		}, map[string]string{"arguments": "", "edited_arguments": ""}},
		"pending, all": {all, "approval.pending", nil, map[string]string{"edited_arguments": ""}},
		"decided, all": {decided, "approval.decided", map[string]string{"edited_arguments": `{"n":9007199254740995}`}, nil},
	} {
		m := read(c.m)
		if m.Type != c.kind {
			t.Errorf("%s: type %s", name, m.Type)
		}
		for field, want := range c.has {
			if string(m.Data[field]) != want {
				t.Errorf("%s: %s is %s", name, field, m.Data[field])
			}
		}
		for field := range c.hasNot {
			if m.Data[field] != nil {
				t.Errorf("%s: %s is told: %s", name, field, m.Data[field])
			}
		}
	}
	if got := string(read(all).Data["arguments"]); !strings.Contains(got, "9007199254740993.0") {
		t.Errorf("the arguments are %s", got)
	}
	if strings.Contains(log.String(), "in-the-url") {
		t.Errorf("the log has the URL: %s", log)
	}
}

func TestARedirectIsNotFollowedAndWhatFailedIsTriedAgainUnderTheSameId(t *testing.T) {
	url, arrived := place(t, http.StatusFound, http.StatusOK)
	store, _ := telling(t, map[string]bool{url: false})
	asked(t, store, "a")
	first := <-arrived
	if err := store.Postpone(t.Context(), first.header.Get("Webhook-Id"), 0); err != nil { // as if the wait were over
		t.Fatal(err)
	}
	var second got
	for second.header == nil {
		select {
		case second = <-arrived:
		case <-time.After(100 * time.Millisecond): // it may have been put off after that
			if err := store.Postpone(t.Context(), first.header.Get("Webhook-Id"), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range []got{first, second} {
		if !bytes.HasPrefix(m.body, []byte("/hook ")) || m.header.Get("Webhook-Id") != first.header.Get("Webhook-Id") {
			t.Errorf("posted %s of %s", m.body, m.header.Get("Webhook-Id"))
		}
	}
	if id := <-store.forgotten; id != first.header.Get("Webhook-Id") {
		t.Errorf("%s is forgotten", id)
	}
}

func TestAReceiverThatIsGoneIsGivenUp(t *testing.T) {
	url, arrived := place(t, http.StatusGone)
	store, _ := telling(t, map[string]bool{url: false})
	asked(t, store, "a")
	first := <-arrived
	if id := <-store.forgotten; id != first.header.Get("Webhook-Id") {
		t.Errorf("%s is forgotten", id)
	}
}

func TestTheTenthAttemptIsTheLastAndComesWithinADay(t *testing.T) {
	var all time.Duration
	for attempt := 1; attempt < attempts; attempt++ {
		if w := wait(attempt); w < firstWait || w > maxWait {
			t.Errorf("after attempt %d it waits %v", attempt, w)
		}
		all += wait(attempt)
	}
	if all < 12*time.Hour || all > 24*time.Hour {
		t.Errorf("the last one comes after %v", all)
	}
}

func TestWhatIsNoSecretAndNoURLOfAReceiverIsRefused(t *testing.T) {
	for s, ok := range map[string]bool{
		key: true, "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24)): true,
		"": false, "whsec_": false, strings.TrimPrefix(key, "whsec_"): false, "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)): false,
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)): false, "whsec_!": false,
	} {
		if _, err := ParseSecret(s); (err == nil) != ok || err != nil && s != "" && strings.Contains(err.Error(), s) && len(s) > 10 {
			t.Errorf("%q: %v", s, err)
		}
	}
	for s, ok := range map[string]bool{
		"https://chat.example.com/x?y=z": true, "http://127.0.0.1:9/x": true, "http://[::1]/": true, "http://localhost:1/": true,
		"http://chat.example.com/": false, "http://127.0.0.1.evil.example/": false, "ftp://x/": false, "/x": false, "": false, "https://": false,
		"https://x/#y": false, "http://10.0.0.1/": false,
	} {
		if err := CheckURL(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}
