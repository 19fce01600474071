// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"testing"
	"time"
)

func TestProgressIsPaced(t *testing.T) {
	begin := time.Unix(0, 0)
	var p pace
	for i, c := range []struct {
		done, total float64
		after       time.Duration
		want        bool
	}{
		{0, 10, 0, true},
		{1, 10, 50 * time.Millisecond, false}, // too soon
		{2, 10, 100 * time.Millisecond, true},
		{2, 10, time.Second, false}, // it does not grow
		{1, 10, time.Second, false},
		{3, 10, time.Second, true},
		{10, 10, time.Second, true}, // the end is never too soon
		{11, 0, time.Second, false},
		{11, 0, 2 * time.Second, true},
	} {
		if got := p.admit(c.done, c.total, begin.Add(c.after)); got != c.want {
			t.Errorf("%d: got %v", i, got)
		}
	}
}

func TestMessagesToTheClientArePaced(t *testing.T) {
	now := time.Unix(0, 0)
	var a allowance
	taken := func() (n int) {
		for a.take(now) {
			n++
		}
		return n
	}
	for i, c := range []struct {
		after time.Duration
		want  int
	}{
		{0, 100},
		{0, 0},
		{49 * time.Millisecond, 0},
		{time.Millisecond, 1},
		{75 * time.Millisecond, 1},
		{25 * time.Millisecond, 1},
		{time.Hour, 100},
	} {
		now = now.Add(c.after)
		if got := taken(); got != c.want {
			t.Errorf("%d: %d messages, want %d", i, got, c.want)
		}
	}
}

func TestOutsideOfACallThereIsNothingToSay(t *testing.T) {
	ctx := context.Background()
	Progress(ctx, 1, 2, "x")
	ConfigWarning(ctx, "", "x")
	if CallInfo(ctx).ID != "" || AdapterInfo(ctx).Name != "" || Log(ctx) == nil {
		t.Error("something was known")
	}
}
