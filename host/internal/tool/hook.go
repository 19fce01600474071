// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

// Hooked is a call as a hook sees it: about to be judged, or, with a Result, after
// it has succeeded.
type Hooked struct {
	// Tool is the public name, Adapter who declares it.
	Tool, Adapter string
	Args          JSON
	Result        *Result
}

// Judgement is what a hook says; the zero Judgement has nothing against the call.
type Judgement struct {
	// Args, if not zero, are to be judged and run instead.
	Args JSON
	// Result, if not nil, is to be given instead.
	Result *Result
	// Refusal, if not nil, ends the call.
	Refusal *Error
}

func (*Judgement) outcome() {}
