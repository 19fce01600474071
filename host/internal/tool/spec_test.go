// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// full is a spec in which every field says something.
func full() tool.Spec {
	yes := true
	return tool.Spec{
		Op: tool.OpPrompt, Name: "a_b", Adapter: "a", Declared: "b", Title: "T", Description: "D",
		Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"array"}`),
		Effects: tool.Additive, Idempotent: true, Confirm: &yes, Excused: true, Lenient: true, OpenWorld: &yes,
		Tags: []string{"x", "y"}, Icons: []tool.Icon{{Src: "s", MIMEType: "m", Sizes: []string{"1x1"}, Theme: "dark"}},
		Meta: json.RawMessage(`{"m":1}`), Task: tool.TaskOptional, Needs: json.RawMessage(`{"elicitation":{}}`),
	}
}

func sealed(s tool.Spec) tool.Digest {
	s.Seal()
	return s.Digest
}

func TestTheDigestCoversEveryField(t *testing.T) {
	base := sealed(full())
	fields := reflect.TypeFor[tool.Spec]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Digest" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if reflect.ValueOf(full()).Field(i).IsZero() {
				t.Fatal("full() does not set it")
			}
			without := full()
			reflect.ValueOf(&without).Elem().Field(i).SetZero()
			if sealed(without) == base {
				t.Error("the digest is the same without it")
			}
			changed := full()
			alter(t, reflect.ValueOf(&changed).Elem().Field(i))
			if sealed(changed) == base {
				t.Error("the digest is the same with another value")
			}
		})
	}
}

func TestTheDigestCoversEveryFieldOfAnIcon(t *testing.T) {
	base := sealed(full())
	fields := reflect.TypeFor[tool.Icon]()
	for i := range fields.NumField() {
		s := full()
		alter(t, reflect.ValueOf(&s.Icons[0]).Elem().Field(i))
		if sealed(s) == base {
			t.Errorf("%s: the digest is the same with another value", fields.Field(i).Name)
		}
	}
}

// alter gives a field another value.
func alter(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "2")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(v.Elem())
		alter(t, p.Elem())
		v.Set(p)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(append(append([]byte{}, v.Bytes()...), ' '))
			return
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(s, v)
		alter(t, s.Index(0))
		v.Set(s)
	case reflect.Struct:
		alter(t, v.Field(0))
	default:
		t.Fatalf("a field of kind %s: say here how to change it", v.Kind())
	}
}

func TestTheDigestKeepsNeighboursApart(t *testing.T) {
	for name, pair := range map[string][2]tool.Spec{
		"text that moves to the next field": {{Name: "ab", Adapter: "c"}, {Name: "a", Adapter: "bc"}},
		"input that is output":              {{Input: json.RawMessage(`{}`)}, {Output: json.RawMessage(`{}`)}},
		"two tags that were one":            {{Tags: []string{"a", "b"}}, {Tags: []string{"ab"}}},
		"a tag that is an icon":             {{Tags: []string{"a"}}, {Icons: []tool.Icon{{Src: "a"}}}},
		"confirm, unset and false":          {{}, {Confirm: new(false)}},
		"confirm, false and true":           {{Confirm: new(false)}, {Confirm: new(true)}},
		"confirm and open world":            {{Confirm: new(true)}, {OpenWorld: new(true)}},
		"sizes that move":                   {{Icons: []tool.Icon{{Sizes: []string{"a", "b"}}}}, {Icons: []tool.Icon{{Sizes: []string{`a" "b`}}}}},
		"spelling of a schema":              {{Input: json.RawMessage(`{"a":1}`)}, {Input: json.RawMessage(`{"a": 1}`)}},
	} {
		if sealed(pair[0]) == sealed(pair[1]) {
			t.Errorf("%s: the same digest", name)
		}
	}
}

func TestTheDigestDoesNotDependOn(t *testing.T) {
	base := sealed(full())
	again := full()
	again.Seal()
	again.Seal()
	if again.Digest != base {
		t.Error("a digest that was there before")
	}
	other := full()
	other.Tags = []string{"y", "x"}
	if sealed(other) != base {
		t.Error("the order of tags")
	}
	if other.Tags[0] != "y" {
		t.Error("sealing sorted the tags of the spec itself")
	}
}

func TestWithoutARuleAPersonMustApprove(t *testing.T) {
	for _, tc := range []struct {
		spec tool.Spec
		want bool
	}{
		{tool.Spec{}, true},
		{tool.Spec{Effects: tool.ReadOnly}, false},
		{tool.Spec{Effects: tool.Additive}, true},
		{tool.Spec{Effects: tool.Destructive}, true},
		{tool.Spec{Effects: "harmless"}, true},
		{tool.Spec{Effects: tool.ReadOnly, Confirm: new(true)}, true},
		{tool.Spec{Effects: tool.ReadOnly, Confirm: new(false)}, false},
	} {
		if got := tc.spec.NeedsApproval(); got != tc.want {
			t.Errorf("%q, confirm %v: got %v", tc.spec.Effects, tc.spec.Confirm, got)
		}
	}
}
