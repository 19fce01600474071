// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/kept"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// keep keeps structured content that is too large to be given, redacted, and says
// in the error where its caller finds it. Where the rules hide such resources from the
// caller, nothing is kept.
func (x *Executor) keep(c *tool.Case, p *Policy, r *tool.Result, e *tool.Error) {
	if x.Kept == nil || c.Op != tool.OpTool || len(r.Structured) <= x.MaxResult ||
		!utf8.Valid(r.Structured) || !json.Valid(r.Structured) {
		return
	}
	// Not the call's own id: clients see none that is derived from their keys.
	result := kept.Result{ID: tool.NewID(tool.PrefixCall), Owner: c.Principal.String(), Spec: *c.Spec}
	uri := kept.URI(result.ID)
	if !p.Sees(c.Principal, &recalled(tool.ResourceName(uri), &result).Spec) {
		return
	}
	if x.Redactor != nil {
		x.Redactor.Outcome(c.Spec.Adapter, r)
	}
	result.JSON = r.Structured
	if !x.Kept.Keep(result) {
		return
	}
	size := int64(len(r.Structured))
	e.Link = &tool.Link{URI: uri, Name: c.Spec.Name, MIMEType: "application/json", Size: &size}
	e.Detail = "kept as " + e.Link.URI
	e.Text = fmt.Sprintf("the result of %s has %d bytes, at most %d are given; read it as %s within %s, or ask for less",
		c.Spec.Name, size, x.MaxResult, e.Link.URI, x.Kept.For().Round(time.Second))
}

// recall reads a result that was kept. For everybody but its owner, and for an owner
// who may by now not know of the tool, there is no such resource; the gates of a
// resource that only reads judge the rest. No adapter is asked.
func (x *Executor) recall(ctx context.Context, call *tool.Call, id string) (tool.Outcome, error) {
	none := &UnknownError{call.Op, call.Name}
	if x.Kept == nil {
		return nil, none
	}
	found, ok := x.Kept.Find(id)
	if !ok {
		return nil, none
	}
	offer := recalled(call.PublicName(), &found)
	policy := x.Policy()
	c := newCase(call, offer, policy)
	row := x.row(c)
	hidden := found.Owner != call.Principal.String() || !policy.Sees(call.Principal, &found.Spec) || !policy.Sees(call.Principal, &offer.Spec)
	if err := policy.Limits.Admit(c); err != nil {
		return nil, x.turnedAway(ctx, c, hidden, row, err)
	}
	if hidden {
		return nil, x.unknown(ctx, c, policy, row)
	}
	gate, v := x.judge(ctx, c, policy, offer, nil)
	err := v.Err
	if v.Decision == tool.Ask {
		err = tool.Errorf(tool.ApprovalDenied, "approval_required", "%s cannot be read: reading it needs approval", c.Name)
	}
	var out tool.Outcome
	if err == nil {
		out = &tool.Result{Content: []tool.Content{&tool.Embedded{URI: call.Name, MIMEType: "application/json", Text: string(found.JSON)}}}
	} else {
		row.Gate = gate
	}
	if err = x.end(ctx, c, row, out, err); err != nil {
		return nil, err
	}
	return out, nil
}

// nothing is the schema of arguments that there are none of.
var nothing = sync.OnceValue(func() *schema.Schema {
	s, err := schema.Compile([]byte(`{"type":"object","maxProperties":0}`), schema.Input)
	if err != nil {
		panic(err) // it is the same every time
	}
	return s
})

// recalled is a kept result as the gates see it: a resource of the adapter that has
// given it.
func recalled(name string, r *kept.Result) *registry.Offer {
	o := &registry.Offer{Input: nothing(), Spec: tool.Spec{
		Op: tool.OpResource, Name: name, Adapter: r.Spec.Adapter, Declared: kept.URI(r.ID), Effects: tool.ReadOnly,
	}}
	o.Spec.Seal()
	return o
}
