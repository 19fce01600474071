// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"
)

// harbour is the plugin that the tests start. It is compiled into the test
// binary.
func harbour() *Plugin[basin] {
	p := New(Info{Name: "harbour", Version: "0.1.0", Title: "Harbour", Description: "For tests."}, openBasin,
		Check(checkBasin))
	AddTool(p, "greet", (*basin).greet, ReadOnly(), Description("Greet."), Tags("polite"))
	AddFunc(p, "numbers", func(_ context.Context, in numbers) (numbers, error) { return in, nil }, ReadOnly())
	AddFunc(p, "boom", func(context.Context, struct{}) (struct{}, error) { panic("boom") })
	AddFunc(p, "fail", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, errors.New("dsn=secret") })
	AddFunc(p, "block", block)
	AddFunc(p, "big", bigText, ReadOnly())
	AddFunc(p, "blocks", blocks, ReadOnly())
	AddFunc(p, "print", stray)
	AddFunc(p, "info", info)
	AddFunc(p, "moor", moorAfterAsking, Asks(askBerth()))
	AddFunc(p, "hail", hail)
	return p
}

type basinConfig struct {
	Greeting string        `json:"greeting" default:"Hello" jsonschema:"how to greet"`
	Token    Secret        `json:"token,omitempty" jsonschema:"not used"`
	Wait     time.Duration `json:"wait" default:"5s" min:"1s"`
	Dirs     []string      `json:"dirs,omitempty"`
}

type basin struct{ conf basinConfig }

func checkBasin(ctx context.Context, c basinConfig) ([]Grant, error) {
	if c.Greeting == "panic" {
		panic(c.Token.Reveal())
	}
	if c.Greeting == "Hi" {
		ConfigWarning(ctx, "/greeting", "rather short")
	}
	var grants []Grant
	var faults []error
	for i, d := range c.Dirs {
		if !strings.HasPrefix(d, "/") {
			faults = append(faults, ConfigFault(fmt.Sprintf("/dirs/%d", i), "must be absolute"))
		}
		grants = append(grants, Read(d))
	}
	return append(grants, Write("/var/tmp"), Connect("localhost:5432")), errors.Join(faults...)
}

func openBasin(ctx context.Context, c basinConfig) (*basin, error) {
	switch c.Greeting {
	case "refuse":
		return nil, fmt.Errorf("opening: %w", errors.Join(
			&ConfigError{Pointer: "/greeting", Summary: "refused", Detail: "choose another"}, errors.New("and so on")))
	case "nothing":
		return nil, nil
	}
	Log(ctx).Info("opened", "config", c, "adapter", AdapterInfo(ctx).Name)
	return &basin{c}, nil
}

func (b *basin) Close() error {
	slog.Info("closed", "greeting", b.conf.Greeting)
	return nil
}

type greetIn struct {
	Name string `json:"name"`
	Loud bool   `json:"loud" default:"true"`
}

type greetOut struct {
	Text  string        `json:"text"`
	Names []string      `json:"names"`
	Wait  time.Duration `json:"wait"`
}

func (b *basin) greet(_ context.Context, in greetIn) (greetOut, error) {
	out := greetOut{Text: b.conf.Greeting + ", " + in.Name, Wait: b.conf.Wait}
	if in.Loud {
		out.Text += "!"
	}
	return out, nil
}

type numbers struct {
	ID    int64           `json:"id"`
	Value any             `json:"value,omitempty"`
	Raw   json.RawMessage `json:"raw,omitempty"`
}

// block says that it runs, and runs until it is told to stop.
func block(ctx context.Context, in struct {
	File string `json:"file,omitempty"`
},
) (string, error) {
	Progress(ctx, 1, 2, "blocked")
	if in.File == "" {
		<-ctx.Done()
		Log(ctx).Info("unblocked", "cause", ctx.Err())
		return "", ctx.Err()
	}
	// A pipe that the test opens when it likes.
	data, err := os.ReadFile(in.File)
	return string(data), err
}

func bigText(_ context.Context, in struct {
	Bytes int `json:"bytes"`
},
) (string, error) {
	return strings.Repeat("x", in.Bytes-2), nil // and two quotes
}

func blocks(_ context.Context, in struct{ Count, Bytes int }) (Result, error) {
	r := Result{Meta: json.RawMessage(`{"k":1}`), Cost: "0.004"}
	for range in.Count {
		r.Content = append(r.Content, Text(strings.Repeat("y", in.Bytes)))
	}
	r.Content = append(r.Content, Content{})
	return r, nil
}

func stray(ctx context.Context, in struct{ Text string }) (string, error) {
	fmt.Println(in.Text)
	Log(ctx).Warn("printed", "level", "a level", "secret", Secret("s3cret"))
	return in.Text, nil
}

type infoOut struct {
	Call    Call
	Adapter Adapter
}

func info(ctx context.Context, _ struct{}) (infoOut, error) {
	return infoOut{CallInfo(ctx), AdapterInfo(ctx)}, nil
}

func askBerth() InputRequest { return Form[berth]("berth", "Where to?") }

type moorIn struct {
	StateBytes int `json:"state_bytes,omitempty"`
}

type moorOut struct {
	Call  string          `json:"call"`
	Berth berth           `json:"berth"`
	Roots json.RawMessage `json:"roots,omitempty"`
	Round int             `json:"round"`
}

// moorAfterAsking counts its rounds in the state.
func moorAfterAsking(ctx context.Context, in moorIn) (moorOut, error) {
	if !ClientCan(ctx, "elicitation/form") {
		return moorOut{}, Denied("nobody_to_ask", "this client cannot be asked")
	}
	out := moorOut{Call: CallInfo(ctx).ID}
	RoundState(ctx, &out.Round)
	if in.StateBytes > 0 {
		return out, Ask(askBerth()).State(make([]byte, in.StateBytes))
	}
	berth, action, ok := Answer[berth](ctx, "berth")
	switch {
	case !ok:
		return out, Ask(askBerth(), Request("roots", "roots/list", nil)).State(out.Round + 1)
	case action != ActionAccept:
		return out, ToolError("not_moored", "the user chose to "+string(action))
	}
	out.Berth = berth
	out.Roots, _ = Response[json.RawMessage](ctx, "roots")
	return out, nil
}

func hail(ctx context.Context, in struct{ Level Level }) (struct{}, error) {
	Notify(ctx, in.Level, map[string]any{"ahoy": in.Level})
	return struct{}{}, nil
}

// wrongPlugin has every mistake that registration finds.
func wrongPlugin() *Plugin[None] {
	p := NewStateless(Info{Name: "Wrong"}, Check(func(context.Context, basinConfig) ([]Grant, error) { return nil, nil }),
		Offers("sails"))
	nothing := func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }
	AddFunc(p, "twice", nothing)
	AddFunc(p, "twice", nothing)
	AddFunc(p, "bad name", nothing)
	AddFunc(p, "effects", nothing, ReadOnly(), Destructive())
	AddFunc(p, "schema", nothing, InputSchema(json.RawMessage(`{"type":"string"}`)), OutputSchema(json.RawMessage(`x`)))
	AddFunc(p, "large", nothing, OutputSchema(json.RawMessage(`{"description":"`+strings.Repeat("x", 64<<10)+`"}`)))
	AddFunc(p, "tags", func(context.Context, struct {
		N int `default:"x"`
	},
	) (struct{}, error) {
		return struct{}{}, nil
	}, Tags(""))
	AddFunc(p, "asks", nothing, Asks(Form[struct {
		Password string `json:"password"`
	}]("login", "Log in.")))
	AddFunc(p, "result", func(context.Context, struct{}) (func(), error) { return nil, nil })
	AddFunc(p, "meta", nothing, Meta(json.RawMessage("[]")), Requires(json.RawMessage("1")), Icons(Icon{Src: "file:///x"}))
	wrongOffers(p)
	return p
}

// wrongOffers are the mistakes of what is no tool.
func wrongOffers(p *Plugin[None]) {
	text := func(context.Context) (string, error) { return "", nil }
	guess := func(context.Context, Completion) ([]string, error) { return nil, nil }
	AddResourceFunc(p, "r:twice", "r", text)
	AddResourceFunc(p, "r:twice", "r", text)
	AddResourceFunc(p, "no scheme", "", text, CompleteFunc("x", guess))
	AddResourceFunc(p, "r:chan", "r", func(context.Context) (chan int, error) { return nil, nil })
	type id struct {
		ID    string `json:"id"`
		Other []int  `json:"other,omitempty"`
	}
	type query struct {
		ID string `json:"id"`
		Q  string `json:"q"`
	}
	AddTemplateFunc(p, "t:{id}", "t", func(context.Context, id) (string, error) { return "", nil })
	AddTemplateFunc(p, "t:{id", "t", func(context.Context, query) (string, error) { return "", nil }, Size(1))
	AddTemplateFunc(p, "t:{id}/{more}{?q}", "t", func(context.Context, query) (string, error) { return "", nil },
		Complete("id", func(*basin, context.Context, Completion) ([]string, error) { return nil, nil }),
		CompleteFunc("q", guess), CompleteFunc("q", guess), CompleteFunc("nothing", guess))
	AddTemplateFunc(p, "t:{q}", "t", func(context.Context, query) (string, error) { return "", nil })
	AddPromptFunc(p, "p q", func(context.Context, struct{ L []string }) (int, error) { return 0, nil })
	AddPromptFunc(p, "p", func(context.Context, struct{}) (string, error) { return "", nil })
	AddPromptFunc(p, "p", func(context.Context, struct{}) (string, error) { return "", nil })
	pass := func(*None, context.Context, Hooked) (json.RawMessage, error) { return nil, nil }
	AddBeforeTool(p, pass)
	AddBeforeTool(p, pass)
}

// beParent starts the plugin of the tests and ends when it is told to, without
// looking after it.
func beParent() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testPlugin+"=harbour")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}
