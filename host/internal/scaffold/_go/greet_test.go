package main

import (
	"testing"

	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

// A host in the test's own process: whatever the plugin says is held to the
// protocol and to its own schemas.
func TestGreet(t *testing.T) {
	h := plugintest.Start(t, plugin(), plugintest.Config(map[string]any{"greeting": "Ahoy"}))
	var out greetOut
	h.Call("greet", map[string]any{"name": "Ada"}).Into(&out)
	if out.Text != "Ahoy, Ada!" {
		t.Errorf("got %q", out.Text)
	}
	if out := h.Call("greet", map[string]any{"name": " "}); out.Err == nil {
		t.Errorf("nobody was greeted: %v", out)
	}
}
