// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// maxSamples are tried of one argument.
	maxSamples = 16
	// long is how many bytes a long text has.
	long = 300
	// maxCalls are tried of one tool.
	maxCalls = 256
)

// calls are arguments that a tool may take, as far as a condition looks at them:
// each type's usual and its extreme values, those that the schema names, and those
// about which the condition asks. Not all of them are good by the schema.
func (t *argType) calls(looked []string, literals []ref.Val) iter.Seq[tool.JSON] {
	names := slices.Concat(looked, t.required)
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return t.closed && t.props[name] == nil })
	of := make([][]string, len(names))
	for i, name := range names {
		prop := t.props[name]
		if prop == nil {
			prop = &argType{}
		}
		of[i] = prop.values(literals)
		if !slices.Contains(t.required, name) {
			of[i] = append(of[i], "") // it is absent
		}
	}
	return func(yield func(tool.JSON) bool) {
		left := maxCalls
		try := func(pick []int) bool {
			left--
			j, err := tool.ParseArgs([]byte(object(names, of, pick)))
			return left >= 0 && (err != nil || yield(j))
		}
		pick := make([]int, len(names))
		if !try(pick) {
			return
		}
		for i := range names { // one after the other, then several at once
			for pick[i] = 1; pick[i] < len(of[i]); pick[i]++ {
				if !try(pick) {
					return
				}
			}
			pick[i] = 0
		}
		for count(pick, of) {
			if !try(pick) {
				return
			}
		}
	}
}

// count goes on to the next choice, false after the last one.
func count(pick []int, of [][]string) bool {
	for i := range pick {
		if pick[i]++; pick[i] < len(of[i]) {
			return true
		}
		pick[i] = 0
	}
	return false
}

// object writes an object of chosen members.
func object(names []string, of [][]string, pick []int) string {
	var members []string
	for i, name := range names {
		if v := of[i][pick[i]]; v != "" {
			key, _ := json.Marshal(name) //nolint:errchkjson // a string
			members = append(members, string(key)+":"+v)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// values are some of a type, as JSON, the usual one first.
func (t *argType) values(literals []ref.Val) (out []string) {
	for _, v := range t.samples {
		out = append(out, string(v))
	}
	switch t.kind {
	case "string":
		out = append(out, quoted(strings.Repeat("a", max(1, t.shortest))), `""`, quoted(strings.Repeat("a", long)))
		out = append(out, spelledOut(literals, types.StringType)...)
	case "integer":
		out = append(out, "1", "0", t.minimum.String(), t.maximum.String())
		out = append(out, spelledOut(literals, types.IntType)...)
		out = append(out, beside(literals)...)
	case "number":
		out = append(out, "1", "1.5", "0", t.minimum.String(), half(t.minimum), t.maximum.String())
		out = append(out, spelledOut(literals, types.DoubleType)...)
		out = append(out, spelledOut(literals, types.IntType)...)
		out = append(out, between(literals)...)
		out = append(out, beside(literals)...)
	case "boolean":
		out = append(out, "true", "false")
	case "null":
		out = append(out, "null")
	case "array":
		for i, v := range t.items.values(literals) {
			out = append(out, list(v, max(1, t.fewest)))
			if i == 0 {
				out = append(out, list(v, 2+t.fewest), "[]")
			}
		}
	case "object":
		out = append(out, t.objects(literals)...)
	default:
		out = append(out, `"a"`, "1", "1.5", "true", "null", "[]", "{}")
	}
	out = slices.DeleteFunc(out, func(v string) bool { return v == "" })
	return out[:min(len(out), maxSamples)]
}

// list writes a list of one value.
func list(v string, n int) string { return "[" + strings.Repeat(v+",", n-1) + v + "]" }

// objects are one with all that is declared, one with what is required, and those
// that differ from the first in one member.
func (t *argType) objects(literals []ref.Val) (out []string) {
	names := slices.Sorted(maps.Keys(t.props))
	of := make([][]string, len(names))
	must := make([][]string, len(names))
	for i, name := range names {
		of[i], must[i] = t.props[name].values(literals), []string{""}
		if slices.Contains(t.required, name) {
			must[i] = of[i]
		}
	}
	pick := make([]int, len(names))
	out = append(out, object(names, of, pick), object(names, must, pick))
	for i := range names {
		for pick[i] = 1; pick[i] < len(of[i]) && len(out) < maxSamples; pick[i]++ {
			out = append(out, object(names, of, pick))
		}
		pick[i] = 0
	}
	return out
}

// spelledOut are the literals of a type, as JSON, and the whole numbers beside them.
func spelledOut(literals []ref.Val, of ref.Type) (out []string) {
	for _, v := range literals {
		if v.Type() != of {
			continue
		}
		switch v := v.(type) {
		case types.String:
			out = append(out, quoted(string(v)))
		case types.Int:
			for _, n := range []int64{int64(v), int64(v) - 1, int64(v) + 1} {
				out = append(out, strconv.FormatInt(n, 10))
			}
		case types.Double:
			out = append(out, strconv.FormatFloat(float64(v), 'f', -1, 64))
		}
	}
	return out
}

// beside are the whole numbers beside literals that have a fraction, as JSON.
func beside(literals []ref.Val) (out []string) {
	for _, v := range literals {
		if d, ok := v.(types.Double); ok {
			out = append(out, strconv.FormatFloat(math.Floor(float64(d)), 'f', -1, 64), strconv.FormatFloat(math.Ceil(float64(d)), 'f', -1, 64))
		}
	}
	return out
}

// between are the numbers with a fraction beside whole literals, as JSON.
func between(literals []ref.Val) (out []string) {
	for _, v := range literals {
		if n, ok := v.(types.Int); ok {
			out = append(out, half(json.Number(strconv.FormatInt(int64(n)-1, 10))), half(json.Number(strconv.FormatInt(int64(n), 10))))
		}
	}
	return out
}

func quoted(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string
	return string(b)
}

// half is a number and a half, as JSON.
func half(n json.Number) string {
	f, err := n.Float64()
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(f+0.5, 'f', -1, 64)
}
