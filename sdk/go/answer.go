// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// Action is what the client's user did with a form.
type Action string

// The actions, as MCP spells them.
const (
	// ActionAccept: filled in and sent.
	ActionAccept Action = "accept"
	// ActionDecline: said no.
	ActionDecline Action = "decline"
	// ActionCancel: went away without an answer.
	ActionCancel Action = "cancel"
)

// Answer returns the answer to the [Form] that the round before asked by the key;
// T is the form's type, or a map or json.RawMessage for the content as it came.
// Only with ActionAccept there is a value.
//
// Not ok means that there is no answer: nothing was asked yet, the client left it
// out, or what came is neither an answer nor fits the form's schema; the last is
// logged. A handler asks then, or asks again. Formats of text are advice to
// clients and not judged here. What a client says is no proof of who said it.
func Answer[T any](ctx context.Context, key string) (value T, action Action, ok bool) {
	r, raw := answerTo(ctx, key)
	if raw == nil {
		return value, "", false
	}
	refuse := func(why string) (T, Action, bool) {
		r.log.Warn("an answer is not used", "call_id", r.call.ID, "key", key, "reason", why)
		var none T
		return none, "", false
	}
	var a struct {
		Action  Action          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &a) != nil {
		return refuse("it is no object with an action")
	}
	switch a.Action {
	case ActionDecline, ActionCancel:
		return value, a.Action, true
	case ActionAccept:
	default:
		return refuse("its action is neither accept nor decline nor cancel")
	}
	if len(a.Content) == 0 || string(a.Content) == "null" {
		a.Content = json.RawMessage("{}")
	}
	form := schema.Opaque()
	if t := reflect.TypeFor[T](); isStruct(t) {
		var err error
		if form, err = schema.Form(t, known()); err != nil {
			return refuse("its type is no form")
		}
	}
	// The reasons quote nothing: they may hold what the user has typed.
	if form.Validate(a.Content) != nil {
		return refuse("its content does not fit the form")
	}
	if form.Decode(a.Content, &value) != nil {
		return refuse("its content cannot be read")
	}
	return value, ActionAccept, true
}

// Response returns all that came back for the [Request] that the round before
// asked by the key, as T: a struct for the result of that method, or
// json.RawMessage. Not ok: there is nothing, or it cannot be read as T, which is
// logged.
func Response[T any](ctx context.Context, key string) (value T, ok bool) {
	r, raw := answerTo(ctx, key)
	if raw == nil {
		return value, false
	}
	if !json.Valid(raw) || schema.Opaque().Decode(raw, &value) != nil {
		r.log.Warn("an answer is not used", "call_id", r.call.ID, "key", key, "reason", "it cannot be read")
		var none T
		return none, false
	}
	return value, true
}

// RoundState reads the state that the round before has given to
// [InputRequired.State] into v, a pointer: a *[]byte as it is, anything else as
// JSON, whose numbers keep their digits. False: there is none, as in the first
// round, or it cannot be read as v, which is logged.
func RoundState(ctx context.Context, v any) bool {
	r, ok := ctx.Value(callKey{}).(*running)
	if !ok || len(r.state) == 0 {
		return false
	}
	if raw, ok := v.(*[]byte); ok {
		*raw = r.state
		return true
	}
	if err := schema.Opaque().Decode(r.state, v); err != nil {
		r.log.Warn("the state of the round before cannot be read", "call_id", r.call.ID)
		return false
	}
	return true
}

// answerable is the first protocol version whose clients can be asked between two
// requests (MCP 2026-07-28).
const answerable = "2026-07-28"

// ClientCan says whether the client of this call has declared a capability:
// "elicitation/form", "elicitation/url", "sampling", "roots", or any path into MCP
// ClientCapabilities. A client of an older protocol has the first four only within
// a session, which hosts do not keep: for it the answer is no. Ask before work
// that is in vain without an answer.
func ClientCan(ctx context.Context, capability string) bool {
	call := CallInfo(ctx)
	kind, _, _ := strings.Cut(capability, "/")
	switch kind {
	case "elicitation", "sampling", "roots":
		if call.ProtocolVersion < answerable {
			return false
		}
	}
	if declared(call.ClientCapabilities, capability) {
		return true
	}
	// An elicitation that names no mode is of forms.
	return capability == "elicitation/form" &&
		declared(call.ClientCapabilities, "elicitation") && !declared(call.ClientCapabilities, "elicitation/url")
}

// declared looks a path up. Names of extensions have slashes themselves, so each
// may be the end of a key or not.
func declared(object json.RawMessage, path string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return false
	}
	if v, ok := members[path]; ok && string(v) != "null" && string(v) != "false" {
		return true
	}
	for i, c := range path {
		if c == '/' && declared(members[path[:i]], path[i+1:]) {
			return true
		}
	}
	return false
}

// answerTo is the answer as it came; nil: there is none.
func answerTo(ctx context.Context, key string) (*running, json.RawMessage) {
	r, ok := ctx.Value(callKey{}).(*running)
	if !ok {
		return nil, nil
	}
	return r, r.answers[key]
}

func isStruct(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}
