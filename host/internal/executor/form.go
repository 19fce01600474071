// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// approveKey is the key of the host's own question, and of the one field of its
// form.
const approveKey = "approve"

// maxShown bounds the arguments in a form's message, in bytes.
const maxShown = 4 << 10

// form asks the client's user (MCP 2026-07-28, client/elicitation).
func (x *Executor) form(c *tool.Case, r *approval.Record) (tool.Outcome, *tool.Error) {
	s := newState(c)
	s.Approval = r.ID
	closed, err := x.close(s)
	if err != nil {
		return nil, tool.Failed("state", err)
	}
	return elicit(closed, map[string]any{
		"mode":    modeForm,
		"message": fmt.Sprintf("Approve %s? Its effects are %s. Arguments: %s", c.Spec.Name, c.Spec.Effects.Effective(), visible(c.Args.Bytes())),
		"requestedSchema": map[string]any{
			"type": "object",
			"properties": map[string]any{
				approveKey: map[string]any{"type": "boolean", "title": "Approve this call", "default": false},
			},
			"required": []string{approveKey},
		},
	})
}

// elicit asks the client's user for the decision about a call.
func elicit(state []byte, how map[string]any) (tool.Outcome, *tool.Error) {
	params, err := json.Marshal(how)
	if err != nil {
		return nil, tool.Failed("state", err)
	}
	return &tool.Question{
		State:    state,
		Requests: map[string]tool.InputRequest{approveKey: {Method: "elicitation/create", Params: params}},
	}, nil
}

// byForm takes the answer to the form. Only an explicit yes approves; anything
// else, also no answer, denies.
func (x *Executor) byForm(ctx context.Context, c *tool.Case, r *approval.Record) (*prior, *tool.Error) {
	if r == nil || r.Mode != approval.Form {
		return nil, &tool.Error{Kind: tool.ArgsInvalid, Code: "invalid_state", Text: ErrInvalidState.Error(), Err: ErrInvalidState}
	}
	if r.Status != approval.Pending {
		if r.Status == approval.Approved && !saysYes(c.Answers[approveKey]) {
			return &prior{record: r}, notApproved(c, approval.Denied, false, "")
		}
		return x.decided(c, r)
	}
	d := approval.Decision{Approve: saysYes(c.Answers[approveKey]), By: "client/" + c.Principal.String()}
	decided, err := x.Approvals.Decide(ctx, r.ID, d)
	var status *approval.StatusError
	switch {
	case errors.As(err, &status): // a concurrent answer came first
		return &prior{record: r}, notApproved(c, status.Status, status.Running, "")
	case err != nil:
		return &prior{record: r}, tool.Failed("journal", err)
	}
	return x.decided(c, decided)
}

// saysYes reports an accepted form whose approve field is true.
func saysYes(answer json.RawMessage) bool {
	var a struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	}
	return json.Unmarshal(answer, &a) == nil && a.Action == "accept" && string(a.Content[approveKey]) == "true"
}

// visible is text as a person can judge it: what would not be seen, or would
// change how the rest is seen, is escaped, and it is cut to a bound with a
// mark.
func visible(raw []byte) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(string(raw), "\uFFFD") {
		if approval.Hidden(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
		} else {
			b.WriteRune(r)
		}
		if b.Len() > maxShown {
			return b.String() + fmt.Sprintf(" ... (%d bytes in all)", len(raw))
		}
	}
	return b.String()
}
