// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Hello is the smallest plugin that does something.
package main

import (
	"context"

	"github.com/toolwharf/toolwharf/sdk/go"
)

type greetIn struct {
	Name string `json:"name" jsonschema:"who is greeted"`
}

func greet(_ context.Context, in greetIn) (string, error) {
	return "Hello, " + in.Name + "!", nil
}

func main() {
	p := toolwharf.NewStateless(toolwharf.Info{Name: "hello", Version: "1.0.0"})
	toolwharf.AddFunc(p, "greet", greet, toolwharf.Description("Greet somebody by name."), toolwharf.ReadOnly())
	p.Serve()
}
