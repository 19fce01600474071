// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// catalogue is the first catalogue of an instance.
func catalogue(t *testing.T, in adapter.Instance) adapter.Catalog {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for c, err := range in.Catalogs(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatal("no catalogue")
	return adapter.Catalog{}
}

func TestARealPluginStartsSaysWhatItIsAndWhatItOffers(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	about := in.About()
	if about.Version != "1.0.0" || about.Title != "Echo" || about.PID <= 0 || len(about.Notes) != 0 {
		t.Errorf("about %+v", about)
	}
	c := catalogue(t, in)
	effects := map[string]tool.Effects{}
	for _, s := range c.Tools {
		effects[s.Declared] = s.Effects
		if s.Description == "" || len(s.Input) == 0 || s.Name != "" || s.Adapter != "" || !s.Digest.IsZero() {
			t.Errorf("%s: %+v", s.Declared, s)
		}
	}
	want := map[string]tool.Effects{
		"echo": tool.ReadOnly, "numbers": tool.ReadOnly, "count": tool.ReadOnly, "big": tool.ReadOnly,
		"sleep": tool.ReadOnly, "crash": tool.Additive, "panic": tool.ReadOnly, "fail": tool.ReadOnly,
		"write_note": tool.Additive, "notes": tool.ReadOnly, "danger": tool.Destructive,
		"append_line": tool.Additive, "append_call": tool.Additive, "write_after_asking": tool.Additive, "notify": tool.ReadOnly, "ask": tool.ReadOnly,
		"ask_twice": tool.ReadOnly, "ask_forever": tool.ReadOnly, "ask_secret": tool.ReadOnly, "ask_page": tool.ReadOnly,
		"learn": tool.Additive, "unlearn": tool.Destructive, "flood": tool.ReadOnly,
	}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := in.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if in.Ended() != nil {
		t.Errorf("ended: %v", in.Ended())
	}
}

func TestACallsTextAndDigitsArriveAndComeBackAsTheyAre(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	r := result(t, in, attempt(t, "echo", `{"text":"größer \u0000 \ud83d\ude00"}`))
	want := []tool.Content{&tool.Text{Text: "größer \x00 😀"}}
	if diff := cmp.Diff(want, r.Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, n := range []string{"9007199254740993", "-0.1000000000000000055511151231257827021181583404541015625", "1e400", "1.0", `[1,{"a":2.50}]`} {
		r := result(t, in, attempt(t, "numbers", `{"value":`+n+`}`))
		if got := string(r.Structured); got != `{"value":`+n+`}` {
			t.Errorf("%s came back as %s", n, got)
		}
	}
}

func TestACallsProgressArrivesBeforeItsResult(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	a := attempt(t, "sleep", `{"ms":350}`)
	var events []tool.Event
	a.Events, a.Client.Progress = func(e tool.Event) { events = append(events, e) }, true
	result(t, in, a)
	if len(events) == 0 {
		t.Fatal("no progress came")
	}
	for _, e := range events {
		p, ok := e.(*tool.Progress)
		if !ok || p.Total == nil || *p.Total != 350 || p.Message != "sleeping" || p.Progress <= 0 || p.Progress > 350 {
			t.Errorf("%T %+v", e, e)
		}
	}

	a.Events = nil // unwanted, though the client asked for it
	result(t, in, a)
}

// running calls sleep for an hour, and returns once the plugin is at it.
func running(ctx context.Context, t *testing.T, in adapter.Instance) <-chan error {
	t.Helper()
	a := attempt(t, "sleep", `{"ms":3600000}`)
	works := make(chan struct{}, 1)
	a.Client.Progress = true
	a.Events = func(tool.Event) {
		select {
		case works <- struct{}{}:
		default:
		}
	}
	over := make(chan error, 1)
	go func() {
		_, err := in.Run(ctx, a)
		over <- err
	}()
	select {
	case <-works:
	case err := <-over:
		t.Fatal(err)
	case <-time.After(bound):
		t.Fatal("the plugin does not begin")
	}
	return over
}

func TestACallEndsWithItsContextAndThePluginServesOn(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	for name, tc := range map[string]struct {
		context func(context.Context) (context.Context, context.CancelFunc)
		end     bool
		kind    tool.Kind
	}{
		"cancelled": {context.WithCancel, true, tool.Cancelled},
		"past its deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 500*time.Millisecond)
		}, false, tool.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := tc.context(t.Context())
			defer cancel()
			over := running(ctx, t, in)
			if tc.end {
				cancel()
			}
			select {
			case err := <-over:
				if e := failure(t, nil, err); e.Kind != tc.kind || !e.Sent {
					t.Errorf("ended with %+v", e)
				}
			case <-time.After(bound):
				t.Fatal("the call goes on")
			}
			result(t, in, attempt(t, "echo", `{"text":"still here"}`))
		})
	}
}

func TestACallInAPluginThatEndsMayHaveRunAndALaterOneHasNot(t *testing.T) {
	h := newHarness(t)
	in := h.started(desired(echo))
	other := running(t.Context(), t, in)
	out, err := in.Run(t.Context(), attempt(t, "crash", `{}`))
	for _, err := range []error{err, <-other} {
		if e := failure(t, out, err); e.Kind != tool.AdapterUnavailable || e.Code != "adapter_unavailable" || !e.Sent {
			t.Errorf("ended with %+v", e)
		}
	}
	select {
	case <-in.Done():
	case <-time.After(bound):
		t.Fatal("it runs on")
	}
	if err := in.Ended(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("ended: %v", err)
	}
	out, err = in.Run(t.Context(), attempt(t, "echo", `{"text":"x"}`))
	if e := failure(t, out, err); e.Kind != tool.AdapterUnavailable || e.Sent {
		t.Errorf("a later call ended with %+v", e)
	}
	if err := in.Health(t.Context()); err == nil {
		t.Error("it is in good health")
	}
	for _, err := range in.Catalogs(t.Context()) {
		if err == nil {
			t.Error("it gave a catalogue")
		}
	}
	h.drained(in)
}

func TestAToolThatPanicsFailsAndThePluginServesOn(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	out, err := in.Run(t.Context(), attempt(t, "panic", `{}`))
	if e := failure(t, out, err); e.Kind != tool.ToolFailed || !strings.HasPrefix(e.Text, "tool_failed: ") || strings.Contains(e.Text, "asked to") {
		t.Errorf("ended with %+v", e)
	}
	result(t, in, attempt(t, "echo", `{"text":"still here"}`))
}

func TestWhatAPluginSaysOfAFailureArrives(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	for _, kind := range []tool.Kind{
		tool.ArgsInvalid, tool.Denied, tool.ToolError, tool.Timeout, tool.Cancelled, tool.RateLimited, tool.ResultTooLarge,
	} {
		out, err := in.Run(t.Context(), attempt(t, "fail", fmt.Sprintf(
			`{"kind":%q,"code":"no_luck","text":"not today","detail":"the moon","retry_after_ms":1500}`, kind)))
		e := failure(t, out, err)
		if e.Kind != kind || e.Code != "no_luck" || e.Text != "not today" || e.Detail != "the moon" || e.RetryAfter != 1500*time.Millisecond || !e.Sent {
			t.Errorf("%s: %+v", kind, e)
		}
	}
}

func TestALargeResultComesWholeInParts(t *testing.T) {
	h := newHarness(t)
	h.MaxResult = 64 << 20
	in := h.started(desired(echo))
	const message = `{"text":""}`
	for _, n := range []int{0, 1 << 20, 5 << 20, MaxMessage + 1} {
		r := result(t, in, attempt(t, "big", fmt.Sprintf(`{"bytes":%d}`, n)))
		if len(r.Structured) != n+len(message) || strings.Count(string(r.Structured), "x") != n+1 {
			t.Errorf("%d bytes came as %d", n, len(r.Structured))
		}
	}
	out, err := in.Run(t.Context(), attempt(t, "big", fmt.Sprintf(`{"bytes":%d}`, maxParts)))
	if e := failure(t, out, err); e.Kind != tool.ResultTooLarge || !e.Sent {
		t.Errorf("ended with %+v", e)
	}
	result(t, in, attempt(t, "echo", `{"text":"still here"}`))
}

func TestAPluginStopsALargeResultAtTheSource(t *testing.T) {
	h := newHarness(t)
	h.MaxResult = 1000
	in := h.started(desired(echo))
	out, err := in.Run(t.Context(), attempt(t, "big", `{"bytes":2000}`))
	if e := failure(t, out, err); e.Kind != tool.ResultTooLarge || e.Ran != tool.RanYes {
		t.Errorf("ended with %+v", e)
	}
}

func TestWhatAPluginDoesNotServeIsNotSent(t *testing.T) {
	in := newHarness(t).started(acting(t, "with warnings"))
	for op, code := range map[tool.Op]string{
		tool.OpTool: "not_implemented", tool.OpResource: "not_implemented", tool.OpPrompt: "not_implemented", tool.OpCompletion: "not_implemented",
		"": "unsupported",
	} {
		a := attempt(t, "echo", `{}`)
		a.Op = op
		out, err := in.Run(t.Context(), a)
		if e := failure(t, out, err); e.Kind != tool.ToolFailed || e.Code != code || e.Sent {
			t.Errorf("%q: %+v", op, e)
		}
	}
}

func TestCallsAtOnceDoNotDisturbEachOther(t *testing.T) {
	in := newHarness(t).started(desired(echo))
	texts := make(chan string, 50)
	for i := range cap(texts) {
		go func() {
			out, err := in.Run(t.Context(), attempt(t, "echo", fmt.Sprintf(`{"text":"%02d"}`, i)))
			if err != nil {
				texts <- err.Error()
				return
			}
			texts <- out.(*tool.Result).Content[0].(*tool.Text).Text
		}()
	}
	var got, want []string
	for i := range cap(texts) {
		got, want = append(got, <-texts), append(want, fmt.Sprintf("%02d", i))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
