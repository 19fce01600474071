// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var (
	ann = `["","","ann"]`
	bob = `["","","bob"]`
)

func result(id, owner string, n int) Result {
	return Result{ID: id, Owner: owner, JSON: bytes.Repeat([]byte("1"), n)}
}

// there are those of the ids of which a result is kept.
func there(s *Store, ids ...string) string {
	var found []string
	for _, id := range ids {
		if r, ok := s.Find(id); ok && r.ID == id {
			found = append(found, id)
		}
	}
	return strings.Join(found, " ")
}

func TestAResultIsKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Bounds{Each: 10, Principal: 20, All: 40, For: time.Minute})
		if !s.Keep(result("a", ann, 10)) {
			t.Fatal("not kept")
		}
		time.Sleep(59 * time.Second)
		if !s.Keep(result("b", ann, 10)) || there(s, "a", "b") != "a b" {
			t.Error("gone before its time")
		}
		time.Sleep(2 * time.Second)
		if got := there(s, "a", "b"); got != "b" {
			t.Errorf("after a minute there is %q", got)
		}
		s.Close()
		if got := there(s, "b"); got != "" || s.total != 0 || len(s.bytes) != 0 {
			t.Errorf("after Close there is %q: %+v", got, s)
		}
	})
}

func TestWhatIsLargerThanOneMayBeIsNotKept(t *testing.T) {
	s := New(Bounds{Each: 10, Principal: 20, All: 40, For: time.Minute})
	defer s.Close()
	if s.Keep(result("a", ann, 11)) || there(s, "a") != "" {
		t.Error("kept")
	}
}

func TestTheOldestOfWhoeverHasTheMostGoesFirst(t *testing.T) {
	s := New(Bounds{Each: 10, Principal: 30, All: 40, For: time.Minute})
	defer s.Close()
	for i, owner := range []string{bob, ann, ann, ann, ann} { // the last is one too many for ann
		s.Keep(result(fmt.Sprint(i), owner, 10))
	}
	if got := there(s, "0", "1", "2", "3", "4"); got != "0 2 3 4" {
		t.Errorf("there is %q", got)
	}
	s.Keep(result("5", bob, 10)) // one too many for all
	if got := there(s, "0", "1", "2", "3", "4", "5"); got != "0 3 4 5" {
		t.Errorf("there is %q", got)
	}
}

func TestTheSecondResultOfAnIDIsNotKept(t *testing.T) {
	s := New(Bounds{Each: 10, Principal: 20, All: 40, For: time.Minute})
	defer s.Close()
	s.Keep(result("a", ann, 1))
	if s.Keep(result("a", bob, 1)) {
		t.Error("kept")
	}
	if r, _ := s.Find("a"); r.Owner != ann {
		t.Errorf("it is %v's now", r.Owner)
	}
}

func TestBoundsHoldWhateverIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{Each: 10, Principal: 25, All: 60, For: time.Hour}
		s := New(b)
		defer s.Close()
		for i := range rapid.IntRange(1, 40).Draw(t, "results") {
			owner := rapid.StringMatching("[a-e]").Draw(t, "owner")
			n := rapid.IntRange(0, 12).Draw(t, "bytes")
			if got := s.Keep(result(fmt.Sprint(i), owner, n)); got != (n <= b.Each) {
				t.Fatalf("%d bytes are kept: %v", n, got)
			}
			each, total := map[string]int{}, 0
			for _, h := range s.queue {
				each[h.Owner] += len(h.JSON)
				total += len(h.JSON)
				if each[h.Owner] > b.Principal {
					t.Fatalf("%v has %d bytes", h.Owner, each[h.Owner])
				}
			}
			if total > b.All || total != s.total || len(s.queue) != len(s.byID) {
				t.Fatalf("%d bytes in all, counted %d", total, s.total)
			}
		}
	})
}

func TestOnlyTheURIOfAResultIsOne(t *testing.T) {
	id := tool.NewID(tool.PrefixCall)
	if got, ok := ID(URI(id)); !ok || got != id {
		t.Errorf("%q %v", got, ok)
	}
	for _, uri := range []string{
		"", "toolwharf://result/", "toolwharf://result/call_x", "TOOLWHARF://result/" + id, "toolwharf://result/" + id + "/",
		"toolwharf://results/" + id, "x://result/" + id, id, "toolwharf://result/" + tool.NewID(tool.PrefixRun),
	} {
		if _, ok := ID(uri); ok {
			t.Errorf("%q is one", uri)
		}
	}
}
