// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
)

// Hooked is a call of another adapter's tool that a hook may judge and edit.
type Hooked struct {
	// Tool is the tool's public name.
	Tool string
	// Adapter is the one that declares it.
	Adapter string
	// Arguments are one JSON object: not validated yet before the call, and those
	// that were run after it.
	Arguments json.RawMessage
}

type (
	beforeHook func(ctx context.Context, state any, call Hooked) (json.RawMessage, error)
	afterHook  func(ctx context.Context, state any, call Hooked, result Result) (*Result, error)
)

// AddBeforeTool adds the hook that stands before validation and rules of the tools
// that `hooks:` in the host's configuration names: what it returns is what is
// validated, judged, approved and run. It returns nil to let the call pass as it is,
// one JSON object to put other arguments in, or an error to refuse: [Denied] and its
// kin say why to the model, any other error or a panic refuses too, for the operator
// to look into. Hooks fail closed.
//
// A plugin has one hook before and one after. The context and its [CallInfo] are
// those of the call.
func AddBeforeTool[S any](p *Plugin[S], h func(*S, context.Context, Hooked) (json.RawMessage, error)) {
	if p.core.before != nil {
		p.core.fault("AddBeforeTool: added twice")
	}
	p.core.before = func(ctx context.Context, state any, call Hooked) (json.RawMessage, error) {
		s, _ := state.(*S)
		return h(s, ctx, call)
	}
}

// AddAfterTool adds the hook that stands after the call and before the output check:
// what it returns is what is checked, redacted and answered. It returns nil to let
// the result pass as it is, another result, or an error to withhold it; see
// [AddBeforeTool]. The call has run all the same.
func AddAfterTool[S any](p *Plugin[S], h func(*S, context.Context, Hooked, Result) (*Result, error)) {
	if p.core.after != nil {
		p.core.fault("AddAfterTool: added twice")
	}
	p.core.after = func(ctx context.Context, state any, call Hooked, result Result) (*Result, error) {
		s, _ := state.(*S)
		return h(s, ctx, call, result)
	}
}
