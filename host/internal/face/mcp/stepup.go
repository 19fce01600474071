// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"net/http"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// stepsUp answers a call of a tool that nothing but scopes keeps from its caller,
// where callers are to be told (MCP 2025-11-25, basic/authorization, Scope Challenge
// Handling). It reports whether it has answered; anything else that is hidden is
// answered like what is not there.
func (f *Face) stepsUp(w http.ResponseWriter, r *http.Request, o *origin, name string) bool {
	if f.config.StepUp == nil {
		return false
	}
	offer, ok := f.config.Registry.Snapshot().Find(name)
	policy := f.config.Policy()
	if !ok || !offer.Spec.Serves(tool.OpTool) || policy.Lacks == nil {
		return false
	}
	scopes := policy.Lacks(o.principal, &offer.Spec)
	if len(scopes) == 0 {
		return false
	}
	call := &tool.Call{Op: tool.OpTool, Name: name, Principal: o.principal}
	_ = f.config.Executor.Reject(r.Context(), call, tool.Errorf(tool.Denied, "insufficient_scope",
		"%s needs the scopes %s", offer.Spec.Name, strings.Join(scopes, ", "))) // for the ledger
	f.config.StepUp(w, r, o.principal, scopes)
	return true
}
