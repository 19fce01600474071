// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault.Fault
		want  string
	}{
		"a fault with everything is one clickable line": {
			fault.Fault{File: "toolwharf.yaml", Path: "adapters.orders.plugin", Line: 12, Column: 3, Summary: "is missing", Detail: "name a plugin"},
			"toolwharf.yaml:12:3: adapters.orders.plugin: is missing: name a plugin",
		},
		"a warning says so": {
			fault.Fault{File: "f", Path: "a", Line: 1, Summary: "s", Warning: true},
			"f:1: warning: a: s",
		},
		"a fault of the whole file has neither line nor path": {
			fault.Fault{File: "f", Summary: "no such file"},
			"f: no such file",
		},
		"a column without a line is not shown": {
			fault.Fault{File: "f", Column: 3, Summary: "s"},
			"f: s",
		},
		"without a file the line stands first": {
			fault.Fault{Line: 3, Column: 1, Summary: "s"},
			"3:1: s",
		},
		"a summary alone stands alone": {fault.Fault{Summary: "s"}, "s"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.fault.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestListSortsByLineWhateverTheOrderOfDiscovery(t *testing.T) {
	var l fault.List
	l.Addf("b", 7, 1, "is %d", 7)
	l.Addf("a", 2, 9, "is second")
	l.Addf("c", 2, 1, "is first of line 2")
	l.Addf("", 0, 0, "is about the file")
	want := "is about the file\n2:1: c: is first of line 2\n2:9: a: is second\n7:1: b: is 7"
	if got := l.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if l[0].Line != 7 {
		t.Error("showing a list has changed it")
	}
}

func TestWarningsAloneAreNoError(t *testing.T) {
	var l fault.List
	if l.Err() != nil {
		t.Error("an empty list is an error")
	}
	l.Add(fault.Fault{Summary: "mind the gap", Warning: true})
	if err := l.Err(); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	l.Add(fault.Fault{Summary: "broken"})
	err := fmt.Errorf("load: %w", l.Err())
	var got fault.List
	if !errors.As(err, &got) || len(got) != 1 || got[0].Summary != "broken" {
		t.Errorf("Err is %v, want the one error", err)
	}
	if w := l.Warnings(); len(w) != 1 || w[0].Summary != "mind the gap" {
		t.Errorf("Warnings is %v", w)
	}
}

func TestJSONFormIsASortedArray(t *testing.T) {
	l := fault.List{
		{File: "f", Path: "b", Line: 2, Column: 1, Summary: "s", Detail: "d"},
		{File: "f", Line: 1, Column: 1, Summary: "w", Warning: true},
	}
	got, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"file":"f","line":1,"column":1,"summary":"w","warning":true},` +
		`{"file":"f","path":"b","line":2,"column":1,"summary":"s","detail":"d"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if empty, _ := json.Marshal(fault.List(nil)); string(empty) != "[]" {
		t.Errorf("an empty list is %s, want []", empty)
	}
}
