// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

type nameKey struct{}

func TestWhoIsNotIdentifiedIsToldWhyAndServedNothing(t *testing.T) {
	var log strings.Builder
	reached := 0
	s := running(t, Config{
		Authenticated: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
		As: func(ctx context.Context, who auth.Caller) context.Context {
			return context.WithValue(ctx, nameKey{}, who.Subject)
		},
		Identify: func(r *http.Request) (auth.Caller, *auth.Refusal) {
			switch r.Header.Get("Authorization") {
			case "Bearer good":
				return auth.Caller{Principal: tool.Principal{Kind: tool.Named, Subject: "ada"}}, nil
			case "Bearer odd":
				return auth.Caller{}, &auth.Refusal{Status: http.StatusForbidden, Code: "principal-failed", Text: "no", Err: errors.New("because of x")}
			default:
				return auth.Caller{}, &auth.Refusal{Status: http.StatusUnauthorized, Code: "unauthorized", Text: "who?", Challenge: `Bearer realm="x"`}
			}
		},
		MCP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached++
			name, _ := r.Context().Value(nameKey{}).(string)
			_, _ = io.WriteString(w, name+r.Header.Get("Authorization")+r.Header.Get("X-Other"))
		}),
	})
	ask := func(path, token string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Other", "!")
		r.Header.Set("X-Forwarded-For", "1.2.3.4")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	for token, want := range map[string]struct {
		status    int
		code      string
		challenge string
	}{
		"":          {401, "unauthorized", `Bearer realm="x"`},
		"twh_wrong": {401, "unauthorized", `Bearer realm="x"`},
		"odd":       {403, "principal-failed", ""},
	} {
		resp, raw := ask("/mcp", token)
		var body refusal
		if err := json.Unmarshal([]byte(raw), &body); err != nil || resp.StatusCode != want.status || body.Error != want.code ||
			body.Message == "" || resp.Header.Get("WWW-Authenticate") != want.challenge {
			t.Errorf("%q: %s %v %s", token, resp.Status, resp.Header, raw)
		}
	}
	if reached != 0 {
		t.Errorf("%d requests came through", reached)
	}
	if _, body := ask("/mcp", "good"); body != "ada!" {
		t.Errorf("what is behind sees %q", body)
	}
	if resp, _ := ask("/healthz", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("healthz: %s", resp.Status)
	}
	if strings.Contains(log.String(), "twh_wrong") || !strings.Contains(log.String(), "because of x") {
		t.Errorf("the log has %s", log.String())
	}
}

func TestFaultsAreNotToldThroughAProxy(t *testing.T) {
	s := running(t, Config{Authenticated: true, Ready: func() Readiness { return Readiness{Ready: true, Faults: []string{"adapter x"}} }})
	url := "http://" + s.Address().String() + "/readyz"
	if _, body := get(t, url); !strings.Contains(body, "adapter x") {
		t.Errorf("near: %s", body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "1.2.3.4")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); strings.TrimSpace(string(body)) != `{"status":"ready"}` {
		t.Errorf("far: %s", body)
	}
}
