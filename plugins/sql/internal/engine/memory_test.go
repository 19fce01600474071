// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestMemoryIsBounded(t *testing.T) {
	var m Memory
	for i := range memorySize + 10 {
		m.Keep(strconv.Itoa(i), &Verdict{SQL: "x", Params: i})
	}
	m.Keep(strings.Repeat("x", memoryText+1), &Verdict{})
	m.Keep("stripped", &Verdict{SQL: strings.Repeat("x", memoryText+1)})
	if m.recent.Len() != memorySize || len(m.byText) != memorySize || m.Find("9") != nil || m.Find("10").Params != 10 {
		t.Errorf("%d verdicts are kept, under %d texts", m.recent.Len(), len(m.byText))
	}
	m.Keep("new", &Verdict{})
	if m.Find("10") == nil || m.Find("11") != nil {
		t.Error("what was asked for last is not what is kept")
	}
	for text := range m.byText {
		if len(text) > memoryText {
			t.Errorf("%d bytes are kept", len(text))
		}
	}
}

func TestWhatIsRememberedIsNobodysToChange(t *testing.T) {
	var m Memory
	given := &Verdict{Tables: []Name{{Name: "orders"}}, Functions: []string{"count"}}
	m.Keep("x", given)
	for _, v := range []*Verdict{given, m.Find("x")} {
		v.Tables[0], v.Functions[0] = Name{}, ""
	}
	if v := m.Find("x"); v.Tables[0].Name != "orders" || !slices.Equal(v.Functions, []string{"count"}) {
		t.Errorf("%+v", v)
	}
}
