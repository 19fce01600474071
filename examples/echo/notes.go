// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func addNotes(p *toolwharf.Plugin[toolwharf.None], n *notes) {
	toolwharf.AddFunc(p, "write_note", n.write, toolwharf.Additive(),
		toolwharf.Description("Keep a note, in memory, until the process ends."))
	toolwharf.AddFunc(p, "write_after_asking", n.writeAfterAsking, toolwharf.Additive(), toolwharf.Asks(askKeep("")),
		toolwharf.Description("Ask the user whether to keep a note, and keep it if so."))
	toolwharf.AddFunc(p, "notes", n.list, toolwharf.ReadOnly(),
		toolwharf.Description("Return the notes that are kept."))
	toolwharf.AddFunc(p, "danger", n.clear, toolwharf.Destructive(),
		toolwharf.Description("Forget all notes."))
}

// notes are what the tools with effects have their effects on.
type notes struct {
	mu   sync.Mutex
	kept []string
}

type writeIn struct {
	Text string `json:"text" min:"1"`
}

type notesOut struct {
	Notes []string `json:"notes"`
}

type countedOut struct {
	Notes int `json:"notes" jsonschema:"how many notes are kept now"`
}

func (n *notes) write(ctx context.Context, in writeIn) (countedOut, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = append(n.kept, in.Text)
	n.changed(ctx, len(n.kept))
	return countedOut{len(n.kept)}, nil
}

// changed tells whoever has subscribed to the list, or to that note.
func (n *notes) changed(ctx context.Context, number int) {
	offered := toolwharf.CatalogOf[toolwharf.None](ctx)
	offered.ResourceUpdated(notesURI)
	offered.ResourceUpdated(noteURI(number))
}

type keep struct {
	Keep bool `json:"keep" jsonschema:"whether the note is kept"`
}

func askKeep(text string) toolwharf.InputRequest {
	return toolwharf.Form[keep]("keep", "Keep this note? "+text)
}

// writeAfterAsking has no effect before it has been answered: a round that asks
// may be run again.
func (n *notes) writeAfterAsking(ctx context.Context, in writeIn) (countedOut, error) {
	answer, action, ok := toolwharf.Answer[keep](ctx, "keep")
	switch {
	case !ok:
		return countedOut{}, toolwharf.Ask(askKeep(in.Text))
	case action != toolwharf.ActionAccept || !answer.Keep:
		return countedOut{}, declined("to keep the note")
	}
	return n.write(ctx, in)
}

func (n *notes) list(context.Context, struct{}) (notesOut, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return notesOut{append([]string(nil), n.kept...)}, nil
}

func (n *notes) clear(ctx context.Context, _ struct{}) (countedOut, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.kept {
		n.changed(ctx, i+1)
	}
	n.kept = nil
	return countedOut{}, nil
}
