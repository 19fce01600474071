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

// open configures the plugin in this process, as a host would. Not ok: it has been
// said why not. Close ends it.
func (h *hand) open(ctx context.Context, config *string) (used *session, closing func(), ok bool) {
	conf, err := h.configFor(config)
	if err != nil {
		h.failed(err)
		return nil, nil, false
	}
	log := h.logger()
	slog.SetDefault(log)
	resp, used := h.core.configure(ctx, log, conf, Adapter{Name: h.core.info.Name}, newLive(h.core, new(watched)), false)
	if !h.accepted(resp) {
		return nil, nil, false
	}
	all := new(sessions)
	all.replace(used, log)
	return used, func() { all.replace(nil, log) }, true
}

// round runs one round of a call and prints what comes of it: f does the work and
// prints the result.
func (h *hand) round(what string, flags handFlags, f func(context.Context, *session) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	answers, state, err := h.roundFor(flags)
	if err != nil {
		return h.failed(err)
	}
	used, closing, ok := h.open(ctx, flags.config)
	if !ok {
		return 1
	}
	defer closing()
	ctx = context.WithValue(ctx, callKey{}, &running{
		call: Call{
			ID: "by-hand", Attempt: 1, WantsProgress: true, LogLevel: LevelDebug,
			ProtocolVersion: answerable, ClientCapabilities: json.RawMessage(handCapabilities),
		},
		adapter: &used.adapter, live: used.live, log: slog.Default(),
		progress: h.progress, notify: h.notified, answers: answers, state: state,
	})
	if err := f(ctx, used); err != nil {
		last := endingOf(ctx, err)
		switch {
		case last.question != nil:
			return h.question(last.question, what)
		case last.protocol != nil:
			return h.failed(err)
		}
		return h.refused(last.err)
	}
	return 0
}

// call runs one round of one tool.
func (h *hand) call(name, args string, flags handFlags) int {
	data, err := h.read(args)
	if err != nil {
		return h.failed(fmt.Errorf("arguments of %s: %w", name, err))
	}
	if t := h.core.base.tool[name]; t != nil {
		err = t.validate(data)
	} else if len(h.core.offers) == 0 {
		return h.failed(fmt.Errorf("no tool %q", name))
	}
	if err != nil {
		return h.failed(fmt.Errorf("arguments of %s: %w", name, err))
	}
	return h.round(name, flags, func(ctx context.Context, used *session) error {
		result, err := used.callTool(ctx, name, data)
		if err == nil {
			h.print(result)
		}
		return err
	})
}

// readResource reads one resource.
func (h *hand) readResource(uri string, flags handFlags) int {
	return h.round(uri, flags, func(ctx context.Context, used *session) error {
		contents, err := used.readResource(ctx, uri)
		for _, c := range contents {
			if c.Blob != nil {
				fmt.Fprintf(h.out, "[%s %s, %d bytes]\n", c.URI, c.MIMEType, len(c.Blob))
			} else {
				fmt.Fprintln(h.out, c.Text)
			}
		}
		return err
	})
}

// prompt makes one prompt.
func (h *hand) prompt(name, args string, flags handFlags) int {
	data, err := h.read(args)
	values := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &values)
	}
	if err != nil {
		return h.failed(fmt.Errorf("arguments of %s: an object of texts: %w", name, err))
	}
	return h.round(name, flags, func(ctx context.Context, used *session) error {
		result, err := used.getPrompt(ctx, name, values)
		if err == nil {
			for _, m := range result.Messages {
				fmt.Fprintf(h.out, "%s:\n", m.role)
				h.print(&Result{Content: []Content{m.content}})
			}
		}
		return err
	})
}

// validate judges arguments as a host does before it sends them.
func (t *tool) validate(args []byte) error {
	if t.given != nil {
		return t.given.Validate(args)
	}
	return t.input.Validate(args)
}

// progress and notified print what a client would learn while the call runs.
func (h *hand) progress(p *pluginv1.Progress) {
	fmt.Fprintf(h.err, "progress %g", p.GetProgress())
	if p.Total != nil {
		fmt.Fprintf(h.err, " of %g", p.GetTotal())
	}
	fmt.Fprintf(h.err, " %s\n", p.GetMessage())
}

func (h *hand) notified(l *pluginv1.LogMessage) {
	fmt.Fprintf(h.err, "log %s %s\n", levelOf(l.GetLevel()), l.GetData())
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
