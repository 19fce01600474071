// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestErrorsOnTheWire(t *testing.T) {
	broken := errors.New("connection refused")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of the case
		err  error
		want *pluginv1.CallError
	}{
		{"invalid", nil, Invalid("", "no such column"), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID, Code: "invalid_args", Text: "no such column", Ran: pluginv1.Ran_RAN_NO,
		}},
		{"not found", nil, NotFound("", "no such order"), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Code: "not_found", Text: "no such order", Ran: pluginv1.Ran_RAN_NO,
		}},
		{"denied", nil, Denied("table_not_allowed", "t"), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_DENIED, Code: "table_not_allowed", Text: "t", Ran: pluginv1.Ran_RAN_NO,
		}},
		{"tool error", nil, ToolError("conflict", "t"), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Code: "conflict", Text: "t",
		}},
		{"failed", nil, Failed("", broken), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "internal", Detail: "connection refused",
		}},
		{"downstream", nil, Downstream(broken), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "downstream", Detail: "connection refused",
		}},
		{"downstream, too late", nil, Downstream(fmt.Errorf("query: %w", context.DeadlineExceeded)), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TIMEOUT, Code: "timeout", Detail: "query: context deadline exceeded",
		}},
		{"retryable", nil, Retryable(broken, 2*time.Second), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "downstream", Detail: "connection refused",
			RetryAfter: durationpb.New(2 * time.Second),
		}},
		{"retryable, typed", nil, Retryable(&Error{Kind: KindRateLimited, Text: "slow down"}, time.Second), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Code: "rate_limited", Text: "slow down", RetryAfter: durationpb.New(time.Second),
		}},
		{"wrapped", nil, fmt.Errorf("reading page 3: %w", NotFound("", "gone")), &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Code: "not_found", Text: "gone", Ran: pluginv1.Ran_RAN_NO,
			Detail: "reading page 3: tool_error (not_found): gone",
		}},
		{"any other", nil, broken, &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "internal", Detail: "connection refused",
		}},
		{"too late", nil, context.DeadlineExceeded, &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TIMEOUT, Code: "timeout", Detail: "context deadline exceeded",
		}},
		{"cancelled by the caller", cancelled, context.Canceled, &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_CANCELLED, Code: "cancelled", Detail: "context canceled",
		}},
		{"cancelled by itself", nil, context.Canceled, &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "internal", Detail: "context canceled",
		}},
		{"nothing said", nil, &Error{}, &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "tool_failed",
		}},
		{"nonsense", nil, &Error{Kind: "x", Code: "3 Dots…", Text: "a\xffb", Ran: RanUnknown}, &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "e3_dots_", Text: "a\uFFFDb", Ran: pluginv1.Ran_RAN_UNKNOWN,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if diff := cmp.Diff(c.want, callError(c.ctx, c.err), protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	got := callError(t.Context(), ToolError("", strings.Repeat("é", maxErrorText)).Because(errors.New(strings.Repeat("x", 1<<20))))
	if len(got.GetText()) > maxErrorText+8 || len(got.GetDetail()) > maxErrorDetail+8 || !utf8.ValidString(got.GetText()) {
		t.Errorf("%d bytes of text, %d of detail", len(got.GetText()), len(got.GetDetail()))
	}
}

func TestErrorsUnwrapAndTellTheWholeStory(t *testing.T) {
	cause := errors.New("cause")
	err := NotFound("gone", "no order 7").Because(cause)
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if got := err.Error(); got != "tool_error (gone): no order 7: cause" {
		t.Errorf("got %q", got)
	}
	if got := (&Error{}).Error(); got != "tool_failed" {
		t.Errorf("got %q", got)
	}
	if NotFound("", "x").Because(cause) == NotFound("", "x") || Retryable(err, 1) == err {
		t.Error("the error was changed in place")
	}
}

func TestEveryKindHasANameAndAPlaceOnTheWire(t *testing.T) {
	for number, name := range pluginv1.ErrorKind_name {
		if number == 0 {
			continue
		}
		kind := Kind(strings.ToLower(strings.TrimPrefix(name, "ERROR_KIND_")))
		if wireKind(kind) != pluginv1.ErrorKind(number) || kindName(pluginv1.ErrorKind(number)) != kind {
			t.Errorf("%s is not %q", name, kind)
		}
	}
}
