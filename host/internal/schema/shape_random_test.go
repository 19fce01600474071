// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAShapeAcceptsNothingThatTheLibraryRefuses(t *testing.T) {
	quick := 0
	rapid.Check(t, func(t *rapid.T) {
		s, err := schema.Compile(json.RawMessage(randomSchema(true).Draw(t, "schema")), schema.Output)
		if err != nil {
			t.Skip(err)
		}
		for range 5 {
			j, err := tool.ParseJSON([]byte(randomValue(3).Draw(t, "value")))
			if err != nil {
				t.Fatal(err)
			}
			sure, accepted := s.Quick(j)
			if sure && !accepted {
				t.Fatalf("accepts %s", j.Bytes())
			}
			if sure {
				quick++
			}
		}
	})
	if quick == 0 {
		t.Error("no shape was ever sure: the test shows nothing")
	}
}
