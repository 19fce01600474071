// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// pages follows the cursors to the end; between is called after each page.
func (h *host) pages(era string, between func(page int)) (names []string) {
	h.t.Helper()
	params := ""
	for i := 0; ; i++ {
		a := h.answer(era, body(era, methodListTools, params, ""))
		for _, tool := range a.Tools {
			names = append(names, tool.Name)
		}
		if a.NextCursor == "" {
			return names
		}
		params = `"cursor":"` + a.NextCursor + `"`
		if between != nil {
			between(i)
		}
	}
}

func TestListIsSortedAndPaged(t *testing.T) {
	h := newHost(t, Config{PageSize: 3}).serve()
	var specs []tool.Spec
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("tool%02d", i))
	}
	for _, name := range slices.Backward(want) {
		specs = append(specs, spec(name))
	}
	h.replace("test", specs...)
	for _, era := range eras {
		if got := h.pages(era, nil); !slices.Equal(got, want) {
			t.Errorf("%s: %v", era, got)
		}
	}
}

func TestPagesStayRightWhenTheListChangesBetweenThem(t *testing.T) {
	h := newHost(t, Config{PageSize: 2}, spec("b"), spec("d"), spec("f"), spec("h")).serve()
	got := h.pages(versionModern, func(page int) {
		if page == 0 { // after b, d: d goes, a and e come
			h.replace("test", spec("b"), spec("f"), spec("h"), spec("a"), spec("e"))
		}
	})
	if want := []string{"b", "d", "e", "f", "h"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestABadCursorIsInvalidParams(t *testing.T) {
	h := newHost(t, Config{}).serve()
	for _, cursor := range []string{"x", "dDE6", "!!!", encodeCursor(tools, "a b"), encodeCursor(tools, "a") + "=", strings.Repeat("A", 1000)} {
		for _, era := range eras {
			if m := h.ask(era, body(era, methodListTools, `"cursor":"`+cursor+`"`, "")); m.Error == nil || m.Error.Code != -32602 {
				t.Errorf("%s, %q: %+v", era, cursor, m)
			}
		}
	}
	if a := h.answer(versionModern, body(versionModern, methodListTools, `"cursor":"`+encodeCursor(tools, "zzz")+`"`, "")); len(a.Tools) != 0 || a.Tools == nil {
		t.Errorf("behind the last: %+v", a)
	}
}

func TestListSaysHowLongItHolds(t *testing.T) {
	h := newHost(t, Config{}).serve()
	a := h.answer(versionModern, body(versionModern, methodListTools, "", ""))
	if a.TTL == nil || *a.TTL != 0 || a.CacheScope != "private" || a.ResultType != resultComplete || a.Meta["io.modelcontextprotocol/serverInfo"] == nil {
		t.Errorf("%+v", a)
	}
	if a = h.answer(legacy, body(legacy, methodListTools, "", "")); a.TTL != nil || a.CacheScope != "" || a.ResultType != "" {
		t.Errorf("an older client's %+v", a)
	}
}

func TestListIsTheSameEachTime(t *testing.T) {
	h := newHost(t, Config{}, spec("b"), spec("a"), spec("c")).serve()
	_, first := h.post(versionModern, body(versionModern, methodListTools, "", ""))
	h.replace("other", spec("d"))
	h.replace("other")
	if _, second := h.post(versionModern, body(versionModern, methodListTools, "", "")); string(first) != string(second) {
		t.Errorf("%s\n%s", first, second)
	}
}

func TestAPageIsBoundedInBytes(t *testing.T) {
	h := newHost(t, Config{}).serve()
	var specs []tool.Spec
	for i := range 3 {
		s := spec(fmt.Sprint("t", i))
		s.Description = strings.Repeat("x", maxPage/2+1)
		specs = append(specs, s)
	}
	h.replace("test", specs...)
	a := h.answer(versionModern, body(versionModern, methodListTools, "", ""))
	if len(a.Tools) != 1 || a.NextCursor == "" {
		t.Errorf("%d tools", len(a.Tools))
	}
	if got := h.pages(versionModern, nil); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

func TestAToolIsEncodedOnceForAsLongAsItStays(t *testing.T) {
	h := newHost(t, Config{}, spec("a"))
	before := h.face.listed.now().lists[tools][0]
	h.replace("other", spec("b"))
	after := h.face.listed.now()
	if after.lists[tools][0] != before || len(after.lists[tools]) != 2 || h.face.listed.now() != after {
		t.Error("encoded again")
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "a", "db_query", encodeCursor(tools, "db_query"), "dDE6", strings.Repeat("A", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := decodeCursor(tools, s); ok && (encodeCursor(tools, name) != s || !publicName.MatchString(name)) {
			t.Errorf("%q was taken for %q", s, name)
		}
		if publicName.MatchString(s) {
			if name, ok := decodeCursor(tools, encodeCursor(tools, s)); !ok || name != s {
				t.Errorf("%q became %q", s, name)
			}
		}
	})
}
