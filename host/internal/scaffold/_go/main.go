// Command greeter is a Toolwharf plugin. README.md says how it is used.
package main

import (
	"context"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = "0.1.0"

func main() { plugin().Serve() }

func plugin() *toolwharf.Plugin[greetings] {
	p := toolwharf.New(toolwharf.Info{
		Name:        "greeter",
		Version:     version,
		Title:       "greeter",
		Description: "Says hello. Replace it by what your plugin does.",
	}, open)
	toolwharf.AddTool(p, "greet", (*greetings).greet,
		toolwharf.Description("Greet somebody by name."),
		// Without ReadOnly, Additive or Destructive, calls need an approval.
		toolwharf.ReadOnly())
	return p
}

// config is what `config:` of an adapter may say. A plugin that needs none of it
// serves as soon as it is dropped in. A field of type toolwharf.Secret is for
// what must not be told.
type config struct {
	Greeting string `json:"greeting,omitempty" default:"Hello" jsonschema:"what comes before the name"`
}

// open makes the state that the tools work with. Fault by fault it says what is
// wrong with a configuration: toolwharf.ConfigFault("/greeting", "...").
func open(_ context.Context, c config) (*greetings, error) {
	return &greetings{c.Greeting}, nil
}
