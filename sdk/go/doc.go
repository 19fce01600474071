// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolwharf is for writing Toolwharf plugins in Go.
//
// A plugin is a program that offers tools, resources and prompts to agents. A
// Toolwharf host starts it, hands it its configuration and calls it; who may call
// what, who has to approve it and the record that it happened are the host's business.
// The whole of a small plugin:
//
//	func main() {
//		p := toolwharf.NewStateless(toolwharf.Info{Name: "hello", Version: "1.0.0"})
//		toolwharf.AddFunc(p, "greet", greet, toolwharf.ReadOnly())
//		p.Serve()
//	}
//
//	type GreetIn struct {
//		Name string `json:"name" jsonschema:"who is greeted"`
//	}
//
//	func greet(ctx context.Context, in GreetIn) (string, error) {
//		return "Hello, " + in.Name + "!", nil
//	}
//
// # State and configuration
//
// A plugin that needs a configuration is made by [New] with a function that
// opens its state: a pool of connections, a client, an index. Tools are then
// methods of that state, added by [AddTool]. When the host configures a running
// plugin anew, new calls see the new state at once; the old one is closed, if it
// is an [io.Closer], when the last call that uses it has returned. A state that is a
// [HealthChecker] says whether it can still serve.
//
// # Schemas
//
// Argument, result and configuration types are structs; their JSON Schemas are
// inferred from the fields and these tags:
//
//	json:"name,omitempty"   as encoding/json has it
//	jsonschema:"text"       the description
//	default:"100"           taken where the field is absent
//	enum:"asc,desc"         the values that are allowed; of a list: of its items
//	min:"1" max:"1000"      bounds of a number or a time.Duration, of the length of a string or list
//	format:"uri"            the JSON Schema format of a string
//
// A field is required unless it is a pointer or has omitempty, omitzero or a
// default. A time.Duration is text like "30s", a time.Time is RFC 3339, []byte
// is base64, a [Secret] is never shown. Numbers keep their digits in integers,
// json.Number, json.RawMessage and any (which holds a json.Number).
// [InputSchema] and [OutputSchema] replace what is inferred.
//
// The host has validated arguments and configuration before the plugin sees
// them; the SDK does not validate again.
//
// # Errors
//
// [Invalid], [NotFound], [Denied] and [ToolError] speak to the model. [Failed],
// [Downstream] and any error that is not an *[Error] are faults: the model learns
// a code, the operator the rest. A panic is a fault too, and the process lives.
//
// # Questions
//
// A handler asks the client's user by returning [Ask] as its error, and is called
// anew, from its beginning, when there are answers:
//
//	func paint(ctx context.Context, in PaintIn) (PaintOut, error) {
//		answer, action, ok := toolwharf.Answer[Colour](ctx, "colour")
//		switch {
//		case !ok:
//			return PaintOut{}, toolwharf.Ask(toolwharf.Form[Colour]("colour", "Which colour?"))
//		case action != toolwharf.ActionAccept:
//			return PaintOut{}, toolwharf.ToolError("declined", "the user chose no colour")
//		}
//		...
//
// Rounds share the arguments, the call's id and what [InputRequired.State] holds,
// and nothing else: what is done before a question may be done again, or in vain.
// [Request] asks for what is no form, [ClientCan] says who can be asked, [Asks] has
// the questions judged when the plugin starts.
//
// # Resources, prompts and completion
//
// [AddResource] adds a resource with a fixed URI, [AddTemplate] a family of them with
// the variables of an RFC 6570 template as a struct, [AddPrompt] a prompt with its
// arguments as one. Their handlers return text, bytes, or whatever says more. A
// resource that is [Subscribable] tells of its changes by [Catalog.ResourceUpdated].
// [Complete] proposes values while somebody types.
//
// # A catalogue that changes
//
// [CatalogOf] is what the plugin offers under one configuration. [Catalog.Change] adds
// to it and takes away: while the state is being opened, so that a configuration can
// bring its own tools, or at any time later. [Offers] names the features that only such
// a change brings.
//
// # Hooks
//
// [AddBeforeTool] and [AddAfterTool] judge and edit the calls of other adapters' tools,
// where the operator lets them. They fail closed.
//
// # Connections
//
// [Dialer] opens them through the host where a sandbox leaves no other way.
//
// # By hand and in tests
//
// Started without a host, a plugin says what it is. `describe` prints what a host
// would learn of it; `call TOOL JSON`, `read URI` and `prompt NAME JSON` run one thing;
// where that asks, `--answers` and `--state` go on. `serve-standalone PATH` serves the
// protocol on a unix socket. See `--help`. The package plugintest tries a plugin in a
// test as a host would.
package toolwharf
