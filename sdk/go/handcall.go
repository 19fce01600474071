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

// call runs one tool in this process, as a host would, and prints its result.
func (h *hand) call(name, args string, config *string) int {
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
	conf, err := h.configFor(config)
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
		call: Call{ID: "by-hand", Attempt: 1, WantsProgress: true}, adapter: &adapter, log: log, send: h.progress,
	}
	ctx = context.WithValue(ctx, callKey{}, run)
	result, err := h.core.run(ctx, run, name, state, data)
	if err != nil {
		return h.refused(callError(ctx, err))
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

func (h *hand) progress(m *pluginv1.CallToolResponse) error {
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
