// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestErrorsOfCalls(t *testing.T) {
	denied := tool.Errorf(tool.Denied, "rule", "no %s", "way")
	if denied.Text != "no way" || denied.Error() != "denied (rule): no way" {
		t.Errorf("got %q and %q", denied.Text, denied.Error())
	}
	full := &tool.Error{Kind: tool.ToolFailed, Text: "a", Detail: "b", Err: io.EOF}
	if full.Error() != "tool_failed: a: b: EOF" || !errors.Is(full, io.EOF) {
		t.Errorf("got %q", full.Error())
	}
	if got := tool.AsError(fmt.Errorf("wrapped: %w", denied)); got != denied {
		t.Errorf("got %v", got)
	}
	if got := tool.AsError(nil); got != nil {
		t.Errorf("got %v", got)
	}
	got := tool.AsError(errors.New("open /etc/secret"))
	if got.Kind != tool.ToolFailed || got.Text != "tool_failed: internal" || got.Code != "internal" {
		t.Errorf("the model is told %q", got.Text)
	}
}
