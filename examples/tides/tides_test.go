// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

func TestHighWater(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("port") == "brest" && r.Header.Get("Authorization") == "Bearer s3cret" {
			fmt.Fprint(w, `{"at": "2026-11-30T06:12:00Z"}`)
			return
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer service.Close()
	h := plugintest.Start(t, plugin(), plugintest.Config(map[string]any{
		"service": service.Listener.Addr().String(), "key": "s3cret", "ports": []string{"brest", "dover"},
	}))

	var got highWater
	h.Call("high_water", portIn{"brest"}).Into(&got)
	if got.At.Hour() != 6 {
		t.Errorf("got %v", got)
	}
	if out := h.Call("high_water", portIn{"atlantis"}); out.Err == nil || out.Err.Code != "unknown_port" {
		t.Error(out)
	}
	if out := h.Call("high_water", portIn{"dover"}); out.Err == nil || out.Err.RetryAfter == 0 {
		t.Error(out)
	}
	if out := h.Call("survey", nil); len(out.Progress) == 0 || len(out.Logs) != 1 || strings.Count(out.Text(), "brest") != 1 {
		t.Error(out, out.Progress, out.Logs)
	}
	h.WaitLog("a port was left out")
}

func TestTheLogOfAPort(t *testing.T) {
	h := plugintest.Start(t, plugin(), plugintest.Config(map[string]any{"ports": []string{"brest", "dover"}}))
	h.Subscribe("tides://log/brest")
	remark := reportIn{"brest", "calm"}
	if out := h.Call("report", remark, plugintest.Answer("sure", sure{true})); out.Err != nil {
		t.Error(out)
	}
	h.WaitUpdate("tides://log/brest")
	if r := h.Read("tides://log/brest?last=1"); r.Text() != "calm" {
		t.Error(r)
	}
	if out := h.Call("report", remark, plugintest.Decline("sure")); out.Err == nil || out.Err.Code != "not_written" {
		t.Error(out)
	}
	if r := h.Read("tides://log/atlantis"); r.Err == nil || r.Err.Code != "resource_not_found" {
		t.Error(r)
	}
	if r := h.Read("tides://ports"); r.Text() != `["brest","dover"]` {
		t.Error(r)
	}
	if c := h.CompleteTemplate("tides://log/{port}{?last}", "port", "d", nil); fmt.Sprint(c.GetValues()) != "[dover]" {
		t.Error(c)
	}
	if p := h.Prompt("plan_passage", map[string]string{"from": "brest"}); !strings.Contains(p.Text(), "a slow passage from brest") {
		t.Error(p)
	}
}

func TestConfigurationsAreJudged(t *testing.T) {
	h := plugintest.Start(t, plugin(), plugintest.Unconfigured())
	c := h.Check(map[string]any{"service": "tides.example:443", "ports": []string{"brest", ""}})
	if fmt.Sprint(c.Errors(), c.Grants()) != "[/ports/1: has no name] [{connect tides.example:443}]" {
		t.Error(c.Errors(), c.Grants())
	}
}
