// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// handCapabilities are a person's at a terminal, who can answer anything.
const handCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// call runs one round of one tool in this process, as a host would, and prints
// its result or its questions.
func (h *hand) call(name, args string, flags handFlags) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t := h.core.byName[name]
	if t == nil {
		return h.failed(fmt.Errorf("no tool %q", name))
	}
	data, err := h.read(args)
	if err == nil {
		err = t.validate(data)
	}
	if err != nil {
		return h.failed(fmt.Errorf("arguments of %s: %w", name, err))
	}
	answers, round, err := h.roundFor(flags)
	if err != nil {
		return h.failed(err)
	}
	conf, err := h.configFor(flags.config)
	if err != nil {
		return h.failed(err)
	}
	log := h.logger()
	slog.SetDefault(log)
	adapter := Adapter{Name: h.core.info.Name}
	resp, state := h.core.configure(ctx, log, conf, &adapter, false)
	if !h.accepted(resp) {
		return 1
	}
	var all sessions
	all.replace(&session{state: state, adapter: adapter}, log)
	defer all.replace(nil, log)

	run := &running{
		call: Call{
			ID: "by-hand", Attempt: 1, WantsProgress: true, LogLevel: LevelDebug,
			ProtocolVersion: answerable, ClientCapabilities: json.RawMessage(handCapabilities),
		},
		adapter: &adapter, log: log, send: h.event, answers: answers, state: round,
	}
	ctx = context.WithValue(ctx, callKey{}, run)
	result, err := h.core.run(ctx, run, name, state, data)
	if err != nil {
		last := ending(ctx, err)
		if q := last.GetInputRequired(); q != nil {
			return h.question(q, name)
		}
		return h.refused(last.GetError())
	}
	h.print(result)
	return 0
}

// validate judges arguments as a host does before it sends them.
func (t *tool) validate(args []byte) error {
	if t.given != nil {
		return t.given.Validate(args)
	}
	return t.input.Validate(args)
}

// event prints what a client would learn while the call runs.
func (h *hand) event(m *pluginv1.CallToolResponse) error {
	if l := m.GetLog(); l != nil {
		fmt.Fprintf(h.err, "log %s %s\n", levelOf(l.GetLevel()), l.GetData())
	}
	if p := m.GetProgress(); p != nil {
		fmt.Fprintf(h.err, "progress %g", p.GetProgress())
		if p.Total != nil {
			fmt.Fprintf(h.err, " of %g", p.GetTotal())
		}
		fmt.Fprintf(h.err, " %s\n", p.GetMessage())
	}
	return nil
}

// refused prints an error: the kind and the code as a host gives them, the text
// for the model, the detail for the operator.
func (h *hand) refused(e *pluginv1.CallError) int {
	fmt.Fprintf(h.err, "%s/%s", kindName(e.GetKind()), e.GetCode())
	if e.GetText() != "" {
		fmt.Fprintf(h.err, ": %s", e.GetText())
	}
	fmt.Fprintln(h.err)
	if e.GetDetail() != "" {
		fmt.Fprintf(h.err, "detail: %s\n", e.GetDetail())
	}
	if e.GetRetryAfter() != nil {
		fmt.Fprintf(h.err, "retry after: %v\n", e.GetRetryAfter().AsDuration())
	}
	return 1
}

// print writes the structured content, indented, or else the blocks.
func (h *hand) print(r *Result) {
	for _, c := range r.Content {
		switch b := c.wire.GetBlock().(type) {
		case *pluginv1.Content_Text:
			fmt.Fprintln(h.out, b.Text.GetText())
		case *pluginv1.Content_Image:
			fmt.Fprintf(h.out, "[image %s, %d bytes]\n", b.Image.GetMimeType(), len(b.Image.GetData()))
		case *pluginv1.Content_Audio:
			fmt.Fprintf(h.out, "[audio %s, %d bytes]\n", b.Audio.GetMimeType(), len(b.Audio.GetData()))
		case *pluginv1.Content_ResourceLink:
			fmt.Fprintf(h.out, "[link %s]\n", b.ResourceLink.GetUri())
		case *pluginv1.Content_Resource:
			fmt.Fprintf(h.out, "[resource %s]\n%s\n", b.Resource.GetUri(), b.Resource.GetText())
		}
	}
	if len(r.Structured) == 0 {
		return
	}
	var text bytes.Buffer
	if err := json.Indent(&text, r.Structured, "", "  "); err != nil {
		text.Reset()
		text.Write(r.Structured)
		fmt.Fprintln(h.err, errors.Join(errors.New("warning: the structured content is not JSON"), err))
	}
	fmt.Fprintln(h.out, text.String())
}
