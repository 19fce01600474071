// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAPanicOfTheLibraryIsARefusal(t *testing.T) {
	broken := Schema{kind: Input} // the library has nothing to judge by
	err := broken.judge(map[string]any{}, 2)
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.ArgsInvalid || e.Detail == "" || strings.Contains(e.Text, "nil") {
		t.Errorf("got %v", err)
	}
	if _, err := compile(&document{root: &node{kind: 'x'}}); err == nil {
		t.Error("what is no schema was compiled")
	}
}
