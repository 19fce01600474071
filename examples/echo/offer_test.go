// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

func TestNotesAreResources(t *testing.T) {
	h := plugintest.Start(t, plugin())
	h.Subscribe(notesURI)
	h.Subscribe(noteURI(1))
	h.Call("write_note", writeIn{"first"})
	h.WaitUpdate(notesURI)
	h.WaitUpdate(noteURI(1))
	if r := h.Read(notesURI); r.Text() != `{"notes":["first"]}` {
		t.Error(r)
	}
	if r := h.Read(noteURI(1)); r.Text() != "first" {
		t.Error(r)
	}
	if r := h.Read(noteURI(2)); r.Err == nil || r.Err.Code != "resource_not_found" {
		t.Error(r)
	}
	if c := h.CompleteTemplate("echo://notes/{number}", "number", "", nil); fmt.Sprint(c.GetValues()) != "[1]" {
		t.Error(c)
	}
	h.Call("danger", nil)
	h.WaitUpdate(noteURI(1))
}

func TestPromptsAreCompleted(t *testing.T) {
	h := plugintest.Start(t, plugin())
	if p := h.Prompt("greet", map[string]string{"name": "Ada", "mood": "cool"}); p.Text() != "user: Write a cool greeting for Ada." {
		t.Error(p)
	}
	if c := h.CompletePrompt("greet", "name", "crew-", nil); len(c.GetValues()) != 100 || c.GetTotal() != manyNames || !c.GetHasMore() {
		t.Error(c)
	}
	if c := h.CompletePrompt("greet", "mood", "f", nil); fmt.Sprint(c.GetValues()) != "[formal]" {
		t.Error(c)
	}
	if p := h.Prompt("converse", nil); len(p.Result.GetMessages()) != 4 {
		t.Error(p)
	}
	if p := h.Prompt("greet_after_asking", nil, plugintest.Answer("colour", colour{"blue"})); p.Text() != "user: Write a greeting in blue." {
		t.Error(p)
	}
}

func TestWhatIsLearnedIsOffered(t *testing.T) {
	h := plugintest.Start(t, plugin())
	for _, kind := range []string{"tool", "resource", "prompt"} {
		h.Call("learn", learnIn{kind, "knot", "over and under"})
	}
	h.WaitTool("knot")
	if out := h.Call("knot", nil); out.Text() != "over and under" {
		t.Error(out)
	}
	if r := h.Read("echo://learned/knot"); r.Text() != "over and under" {
		t.Error(r)
	}
	if p := h.Prompt("knot", nil); p.Text() != "user: over and under" {
		t.Error(p)
	}
	for _, kind := range []string{"tool", "resource", "prompt"} {
		h.Call("unlearn", unlearnIn{kind, "knot"})
	}
	if r := h.Read("echo://learned/knot"); r.Err == nil {
		t.Error(r)
	}
}

func TestLargeResultsComeInParts(t *testing.T) {
	h := plugintest.Start(t, plugin(), plugintest.Limits(toolwharf.Limits{MaxResultBytes: 8 << 20, MaxMessageBytes: 1 << 20}))
	if out := h.Call("big", bigIn{4 << 20}); out.Parts < 4 || !strings.HasSuffix(out.Text(), `x"}`) {
		t.Errorf("%d parts, %v", out.Parts, &out.Ending)
	}
	if out := h.Call("big", bigIn{9 << 20}); out.Err == nil || out.Err.Kind != toolwharf.KindResultTooLarge {
		t.Error(out)
	}
}

func TestAFloodIsPaced(t *testing.T) {
	h := plugintest.Start(t, plugin())
	if out := h.Call("flood", floodIn{"log", 100_000}); len(out.Logs) < 100 || len(out.Logs) > 50_000 {
		t.Errorf("%d messages", len(out.Logs))
	}
	if out := h.Call("flood", floodIn{"progress", 100_000}); len(out.Progress) == 0 || len(out.Progress) > 50_000 {
		t.Errorf("%d messages", len(out.Progress))
	}
	h.Subscribe(notesURI)
	h.Call("flood", floodIn{"watch", 100_000})
	h.WaitUpdate(notesURI)
	h.WaitNote("flood 99999")
}
