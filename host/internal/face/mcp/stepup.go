// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"net/http"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// stepsUp answers a request for a tool, a resource or a prompt that nothing but scopes
// keeps from its caller, where callers are to be told (MCP 2025-11-25,
// basic/authorization, Scope Challenge Handling). It reports whether it has answered;
// anything else that is hidden is answered like what is not there.
func (f *Face) stepsUp(w http.ResponseWriter, r *http.Request, o *origin) bool {
	if f.config.StepUp == nil || o.called != nil {
		return false
	}
	call := o.envelope.asked()
	policy := f.config.Policy()
	if call == nil || len(call.Name) > maxURI || policy.Lacks == nil {
		return false
	}
	offer, ok := f.config.Registry.Snapshot().Find(call.PublicName())
	if !ok || !offer.Serves(call.Op) {
		return false
	}
	scopes := policy.Lacks(o.principal, &offer.Spec)
	if len(scopes) == 0 {
		return false
	}
	call.Principal = o.principal
	_ = f.config.Executor.Reject(r.Context(), call, tool.Errorf(tool.Denied, "insufficient_scope",
		"%s needs the scopes %s", offer.Spec.Name, strings.Join(scopes, ", "))) // for the ledger
	f.config.StepUp(w, r, o.principal, scopes)
	return true
}

// asked is what a request is about, and nothing else of the call; nil: nothing that
// has a name.
func (e *envelope) asked() *tool.Call {
	for _, c := range []struct {
		method string
		op     tool.Op
		of     []byte
	}{{methodCallTool, tool.OpTool, e.name}, {methodRead, tool.OpResource, e.uri}, {methodGetPrompt, tool.OpPrompt, e.name}} {
		if e.asks(c.method) {
			name, ok := textOf(c.of)
			if !ok {
				return nil
			}
			return &tool.Call{Op: c.op, Name: name}
		}
	}
	return nil
}
