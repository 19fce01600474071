// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// recorder is a client that takes its time.
type recorder struct {
	slow time.Duration
	got  []string
}

func (r *recorder) progress(_ context.Context, p *tool.Progress) error {
	time.Sleep(r.slow)
	r.got = append(r.got, fmt.Sprint(p.Progress))
	return nil
}

func (r *recorder) log(_ context.Context, l *tool.Log) error {
	time.Sleep(r.slow)
	r.got = append(r.got, string(l.Data))
	return nil
}

func progressOf(n float64) *tool.Progress { return &tool.Progress{Progress: n} }

func TestProgressIsBoundedToTenASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{}
		r := newRelay(context.Background(), to)
		for i := range 1000 { // 10 s
			r.offer(progressOf(float64(i)))
			time.Sleep(10 * time.Millisecond)
		}
		r.close(context.Background())
		if n := len(to.got); n < 100 || n > 111 {
			t.Errorf("%d notices in 10 s", n)
		}
		if last := to.got[len(to.got)-1]; last != "999" {
			t.Errorf("the last is %s", last)
		}
	})
}

func TestAFewProgressesAllArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{}
		r := newRelay(context.Background(), to)
		for i := range 3 {
			r.offer(progressOf(float64(i)))
			time.Sleep(time.Millisecond)
		}
		r.close(context.Background())
		if !slices.Equal(to.got, []string{"0", "1", "2"}) {
			t.Errorf("%v", to.got)
		}
	})
}

func TestHeldBackProgressArrivesWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{}
		r := newRelay(context.Background(), to)
		for i := range 20 {
			r.offer(progressOf(float64(i)))
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(to.got); n != progressRate+1 || to.got[n-1] != "19" {
			t.Errorf("%v", to.got)
		}
		r.close(context.Background())
	})
}

func TestProgressOnlyGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{}
		r := newRelay(context.Background(), to)
		for _, n := range []float64{1, 1, 0, math.NaN(), math.Inf(1), -1, 2} {
			r.offer(progressOf(n))
			synctest.Wait()
		}
		r.close(context.Background())
		if !slices.Equal(to.got, []string{"1", "2"}) {
			t.Errorf("%v", to.got)
		}
	})
}

func TestASlowClientDoesNotHoldTheCallUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{slow: time.Second}
		r := newRelay(context.Background(), to)
		start := time.Now()
		for i := range 1000 {
			r.offer(&tool.Log{Level: "info", Data: json.RawMessage(fmt.Sprint(i))})
			r.offer(progressOf(float64(i)))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("held up for %v", took)
		}
		r.close(context.Background())
		if n := len(to.got); n > 2*maxLogs+10 {
			t.Errorf("%d messages kept", n)
		}
		if !slices.ContainsFunc(to.got, func(s string) bool { return len(s) > 24 && s[:23] == `{"dropped_log_messages"` }) {
			t.Errorf("nothing says that some were dropped: %v", to.got)
		}
	})
}

func TestNothingIsSentToAClientThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &recorder{slow: time.Hour}
		r := newRelay(context.Background(), to)
		r.offer(progressOf(1))
		synctest.Wait() // it is on its way
		for i := range 100 {
			r.offer(progressOf(float64(2 + i)))
		}
		ctx, leave := context.WithCancel(context.Background())
		leave()
		r.close(ctx)
		if len(to.got) != 1 {
			t.Errorf("%v", to.got)
		}
	})
}
