// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// renewing is an API whose adapter orders is restarted as a test says.
func renewing(t *testing.T, renew func() error) *Service {
	t.Helper()
	s := service(t, &fake{})
	s.Renew = func(_ context.Context, name string) (bool, error) {
		if name != "orders" {
			return false, nil
		}
		return true, renew()
	}
	return s
}

func TestARestartGivesTheAdapterOrWhyItIsAsItWas(t *testing.T) {
	for _, over := range []string{"in the process", "over a socket"} {
		t.Run(over, func(t *testing.T) {
			var failure error
			s := renewing(t, func() error { return failure })
			api := API(s)
			if over == "over a socket" {
				dir := state(t)
				serve(t, dir, s)
				api = dial(t, dir)
			}
			a, err := api.Restart(t.Context(), "orders")
			if err != nil || a.Name != "orders" || a.State != "ready" {
				t.Errorf("%+v, %v", a, err)
			}
			failure = errors.New("launch: cannot be executed")
			if _, err := api.Restart(t.Context(), "orders"); err == nil || err.Error() != "adapter orders was not restarted: launch: cannot be executed" {
				t.Errorf("%v", err)
			}
			for _, name := range []string{"shop", "", ".", "..", "orders/restart", "a b"} {
				want := NotFoundError{What: "adapter", Name: name}
				var got *NotFoundError
				if _, err := api.Restart(t.Context(), name); !errors.As(err, &got) || *got != want {
					t.Errorf("%q: %v", name, err)
				}
			}
		})
	}
}

// saying is an API whose adapter orders has said two things, and says what comes by
// the channel.
func saying(t *testing.T, more <-chan LogLine) *Service {
	t.Helper()
	s := service(t, &fake{})
	s.Said = func(ctx context.Context, _ string, n int, follow bool) iter.Seq[LogLine] {
		return func(yield func(LogLine) bool) {
			for _, l := range said[max(0, len(said)-n):] {
				if !yield(l) {
					return
				}
			}
			for follow {
				select {
				case l := <-more:
					if !yield(l) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}
	return s
}

var said = []LogLine{
	{Time: started, Level: "warn", Message: "slow", Attributes: json.RawMessage(`{"rows":3}`)},
	{Time: started, Level: "info", Message: "größer"},
}

func TestTheLogOfAnAdapter(t *testing.T) {
	for _, over := range []string{"in the process", "over a socket"} {
		t.Run(over, func(t *testing.T) {
			s := saying(t, nil)
			api := API(s)
			if over == "over a socket" {
				dir := state(t)
				serve(t, dir, s)
				api = dial(t, dir)
			}
			for n, want := range map[int][]LogLine{0: nil, 1: said[1:], 1000: said} {
				var got []LogLine
				for l, err := range api.Logs(t.Context(), "orders", n, false) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, l)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%d lines (-want +got):\n%s", n, diff)
				}
			}
			for _, name := range []string{"shop", "", "..", "a/b"} {
				var absent *NotFoundError
				for _, err := range api.Logs(t.Context(), name, 1, true) {
					if !errors.As(err, &absent) || absent.What != "adapter" || absent.Name != name {
						t.Errorf("%q: %v", name, err)
					}
				}
				if absent == nil {
					t.Errorf("%q: no error", name)
				}
			}
		})
	}
}

func TestALogIsFollowedUntilTheReaderOrTheHostEnds(t *testing.T) {
	more := make(chan LogLine)
	dir := state(t)
	s, err := Listen(dir, saying(t, more), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	c := dial(t, dir)
	go func() { more <- LogLine{Message: "more"} }()
	for l, err := range c.Logs(t.Context(), "orders", 1, true) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Message == "more" {
			break
		}
	}
	last := make(chan error)
	began := make(chan struct{}, 1)
	go func() {
		var end error
		for _, err := range c.Logs(context.Background(), "orders", 1, true) {
			select {
			case began <- struct{}{}:
			default:
			}
			end = err
		}
		last <- end
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := s.Close(ctx); err != nil { // it does not wait for a reader that has no end
		t.Error(err)
	}
	if err := <-last; !errors.Is(err, ErrNoHost) {
		t.Errorf("the reader was told %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestHowManyLinesIsANumberWithinBounds(t *testing.T) {
	h := Handler(saying(t, nil))
	for _, n := range []string{"", "-1", "1001", "x"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/adapters/orders/logs?n="+n, nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "how many lines") {
			t.Errorf("%q: %d %s", n, w.Code, w.Body)
		}
	}
}
