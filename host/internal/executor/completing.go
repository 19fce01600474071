// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
)

// completingArgs is the schema of tool.Completing.
var completingArgs = sync.OnceValue(func() *schema.Schema {
	s, err := schema.Compile([]byte(`{"type":"object","properties":{
		"argument":{"type":"string","minLength":1,"maxLength":256},
		"value":{"type":"string","maxLength":4096},
		"resolved":{"type":"object","maxProperties":64,"additionalProperties":{"type":"string","maxLength":4096}}
	},"required":["argument","value"],"additionalProperties":false}`), schema.Input)
	if err != nil {
		panic(err) // it is the same every time
	}
	return s
})

// completing is the completion of a prompt's or a family's arguments: judged as
// what it belongs to, with arguments of its own.
func completing(o *registry.Offer) *registry.Offer {
	c := *o
	c.Input, c.Output = completingArgs(), nil
	return &c
}
