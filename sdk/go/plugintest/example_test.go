// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest_test //nolint:testableexamples // TestTheExample runs it

import (
	"context"
	"testing"

	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

type greeterConfig struct {
	Greeting string `json:"greeting" default:"Hello"`
}

type greeter struct{ greeting string }

func openGreeter(_ context.Context, c greeterConfig) (*greeter, error) {
	return &greeter{c.Greeting}, nil
}

type greetIn struct {
	Name string `json:"name" min:"1"`
}

func (g *greeter) greet(_ context.Context, in greetIn) (string, error) {
	if in.Name == "Nemo" {
		return "", toolwharf.NotFound("nobody", "there is nobody of that name")
	}
	return g.greeting + ", " + in.Name + "!", nil
}

func greeterPlugin() *toolwharf.Plugin[greeter] {
	p := toolwharf.New(toolwharf.Info{Name: "greeter", Version: "1.0.0"}, openGreeter)
	toolwharf.AddTool(p, "greet", (*greeter).greet, toolwharf.ReadOnly())
	return p
}

// greets is a test of the plugin; it would be called TestGreet.
func greets(t *testing.T) {
	h := plugintest.Start(t, greeterPlugin(), plugintest.Config(map[string]any{"greeting": "Ahoy"}))
	if out := h.Call("greet", map[string]any{"name": "Ada"}); out.Text() != "Ahoy, Ada!" {
		t.Error(out)
	}
	if out := h.Call("greet", map[string]any{"name": "Nemo"}); out.Err == nil || out.Err.Code != "nobody" {
		t.Error(out)
	}
	// No host would let this through to the plugin.
	if out := h.Call("greet", map[string]any{"who": "Ada"}); out.Err == nil || out.Err.Kind != toolwharf.KindArgsInvalid {
		t.Error(out)
	}
}

// A plugin and its test. (TestTheExample runs it.)
func Example() {
	var t *testing.T // go test's
	greets(t)
}
