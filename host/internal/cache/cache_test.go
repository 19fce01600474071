// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func caseOf(t testing.TB, who, args string) *tool.Case {
	t.Helper()
	j, err := tool.ParseArgs([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	s := &tool.Spec{Name: "orders_get", Adapter: "orders", Declared: "get", Effects: tool.ReadOnly}
	s.Seal()
	return &tool.Case{
		Call: &tool.Call{Op: tool.OpTool, Name: "orders_get", Principal: tool.Principal{Kind: tool.Named, Subject: who}}, Spec: s, Args: j,
	}
}

func says(s string) *tool.Result { return &tool.Result{Content: []tool.Content{&tool.Text{Text: s}}} }

func saidBy(r *tool.Result) string {
	text, ok := r.Content[0].(*tool.Text)
	if !ok {
		return "no text"
	}
	return text.Text
}

func TestTheKeyIsOfTheSpecTheConfigurationTheArgumentsAndTheCaller(t *testing.T) {
	c := New(Default)
	base := c.Key(caseOf(t, "ann", `{"a":1,"b":2}`), Terms{})
	if same := c.Key(caseOf(t, "ann", `{ "b":2.0, "a":1e0 }`), Terms{}); same != base {
		t.Error("another spelling of the same arguments has another key")
	}
	for name, change := range map[string]func(*tool.Case){
		"another's":             func(c *tool.Case) { c.Principal.Subject = "bob" },
		"another issuer's":      func(c *tool.Case) { c.Principal.Issuer = "x" },
		"of more scopes":        func(c *tool.Case) { c.Principal.Scopes = []string{"admin"} },
		"other arguments":       func(k *tool.Case) { k.Args = caseOf(t, "", `{"a":2,"b":2}`).Args },
		"another configuration": func(c *tool.Case) { c.Origin = tool.Digest{1} },
		"another spec":          func(c *tool.Case) { s := *c.Spec; s.Description = "x"; s.Seal(); c.Spec = &s },
	} {
		other := caseOf(t, "ann", `{"a":1,"b":2}`)
		change(other)
		if name == "another issuer's" {
			other.Principal.Kind = tool.Token
		}
		if c.Key(other, Terms{}) == base {
			t.Errorf("%s: the same key", name)
		}
	}
	if c.Key(caseOf(t, "ann", `{}`), Terms{Shared: true}) != c.Key(caseOf(t, "bob", `{}`), Terms{Shared: true}) {
		t.Error("what is shared has a key for each caller")
	}
	if c.Key(caseOf(t, "ann", `{}`), Terms{Shared: true}) == c.Key(caseOf(t, "ann", `{}`), Terms{}) {
		t.Error("what is shared, and what is not, have one key")
	}
	c.Forget("stock")
	if c.Key(caseOf(t, "ann", `{"a":1,"b":2}`), Terms{}) != base {
		t.Error("another adapter's answers were forgotten")
	}
	c.Forget("orders")
	if c.Key(caseOf(t, "ann", `{"a":1,"b":2}`), Terms{}) == base {
		t.Error("nothing was forgotten")
	}
}

func TestAnAnswerIsGivenForItsTimeAndNoLongerThanTheTermsOfTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Default)
		k := c.Key(caseOf(t, "ann", `{}`), Terms{})
		c.Keep(k, says("x"), time.Now())
		time.Sleep(59 * time.Second)
		if r, age, ok := c.Find(k, time.Minute); !ok || age != 59*time.Second || saidBy(r) != "x" {
			t.Errorf("%v, %v", r, age)
		}
		if _, _, ok := c.Find(k, 30*time.Second); ok {
			t.Error("shorter terms do not hold for what is there")
		}
		c.Keep(k, says("y"), time.Now())
		time.Sleep(time.Minute)
		if _, _, ok := c.Find(k, time.Minute); ok {
			t.Error("it is given when its time is over")
		}
	})
}

func TestWhatSomebodyMakesOfAnAnswerIsNotWhatTheNextGets(t *testing.T) {
	c := New(Default)
	k := c.Key(caseOf(t, "ann", `{}`), Terms{})
	given := says("x")
	given.Cost = "5"
	c.Keep(k, given, time.Now())
	given.Content[0] = &tool.Text{Text: "changed by who has asked first"}
	for range 2 {
		r, _, ok := c.Find(k, time.Hour)
		if !ok || saidBy(r) != "x" || r.Cost != "" {
			t.Fatalf("%+v", r)
		}
		r.Content[0] = &tool.Text{Text: "changed"}
		r.Cached = true
	}
}

// What is kept is what a list says that has the most recent at its end.
func TestTheCacheIsBoundedInBytesAndKeepsWhatWasAskedForLast(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most := rapid.Int64Range(20_000, 60_000).Draw(r, "most")
		c := New(most)
		type one struct {
			key  Key
			text string
		}
		var list []one
		total := func() (n int64) {
			for _, o := range list {
				n += size(says(o.text)) + int64(len(o.key.who))
			}
			return n
		}
		drop := func(k Key) (o one, ok bool) {
			i := slices.IndexFunc(list, func(o one) bool { return o.key == k })
			if i < 0 {
				return o, false
			}
			o = list[i]
			list = slices.Delete(list, i, i+1)
			return o, true
		}
		key := func(r *rapid.T) Key {
			return c.Key(caseOf(t, "ann", fmt.Sprintf(`{"n":%d}`, rapid.IntRange(1, 30).Draw(r, "n"))), Terms{})
		}
		r.Repeat(map[string]func(*rapid.T){
			"keep": func(r *rapid.T) {
				k, text := key(r), strings.Repeat("x", rapid.IntRange(0, int(most/4)).Draw(r, "bytes"))
				c.Keep(k, says(text), time.Now())
				if size(says(text))+int64(len(k.who)) > most/share {
					return
				}
				drop(k)
				list = append(list, one{k, text})
				for total() > most {
					list = list[1:]
				}
			},
			"find": func(r *rapid.T) {
				k := key(r)
				got, _, ok := c.Find(k, time.Hour)
				o, want := drop(k)
				if ok != want || ok && saidBy(got) != o.text {
					r.Fatalf("found %v, want %v", ok, want)
				}
				if ok {
					list = append(list, o)
				}
			},
			"drop": func(r *rapid.T) {
				k := key(r)
				c.Drop(k)
				drop(k)
			},
			"resize": func(r *rapid.T) {
				most = rapid.Int64Range(20_000, 60_000).Draw(r, "most")
				c.Resize(most)
				for total() > most {
					list = list[1:]
				}
			},
			"": func(r *rapid.T) {
				if c.used != total() || c.used > most || c.answers.Len() != len(list) {
					r.Fatalf("%d bytes of %d in %d answers, want %d in %d", c.used, most, c.answers.Len(), total(), len(list))
				}
			},
		})
	})
}

func TestAFlightGoesOnWhileAnybodyWaitsAndEndsWithTheLast(t *testing.T) {
	for name, leaves := range map[string][]int{"who leads goes first": {0, 1, 2}, "who leads goes last": {2, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Default)
				k := c.Key(caseOf(t, "ann", `{}`), Terms{})
				var ends [3]context.CancelFunc
				var f *Flight
				for i := range ends {
					var ctx context.Context
					ctx, ends[i] = context.WithCancel(t.Context())
					boarded, lead := c.Board(ctx, k)
					if lead != (i == 0) {
						t.Fatalf("the one who came as number %d leads: %v", i, lead)
					}
					if f = boarded; !lead {
						go func() { _, _, _ = boarded.Wait(ctx) }()
					}
				}
				for n, i := range leaves {
					if f.Context().Err() != nil {
						t.Fatalf("it has ended though %d wait", len(leaves)-n)
					}
					ends[i]()
					synctest.Wait()
				}
				if f.Context().Err() == nil {
					t.Error("it goes on for nobody")
				}
				other, lead := c.Board(t.Context(), k)
				if !lead {
					t.Error("somebody boarded what is cancelled")
				}
				f.Land(nil, nil)
				if _, lead := c.Board(t.Context(), k); lead {
					t.Error("the landing of the one has taken the other off")
				}
				other.Land(nil, nil)
			})
		})
	}
}
