// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/toolwharf/toolwharf/sdk/go"
)

const notesURI = "echo://notes"

func addResources(p *toolwharf.Plugin[toolwharf.None], n *notes) {
	toolwharf.AddResourceFunc(p, "echo://about", "about", about, toolwharf.MIMEType("text/markdown"),
		toolwharf.Description("What this plugin is."))
	toolwharf.AddResourceFunc(p, "echo://pixel", "pixel", pixel, toolwharf.MIMEType("image/png"),
		toolwharf.Description("The smallest picture."))
	toolwharf.AddResourceFunc(p, notesURI, "notes", n.read, toolwharf.Subscribable(),
		toolwharf.Description("The notes that are kept, as JSON; it changes with them."))
	toolwharf.AddTemplateFunc(p, notesURI+"/{number}", "note", n.readOne, toolwharf.Subscribable(),
		toolwharf.CompleteFunc("number", n.numbers), toolwharf.Description("One note; the first is 1."))
	toolwharf.AddTemplateFunc(p, "echo://repeat/{text}{?times}", "repeat", repeat,
		toolwharf.Description("The text, as often as that, a line each."))
	toolwharf.AddTemplateFunc(p, "echo://big/{bytes}", "big", bigResource,
		toolwharf.Description("A text of that many bytes, in pieces of a mebibyte."))
}

func about(context.Context) (string, error) {
	return "# Echo\n\nIt gives back what it gets.\n", nil
}

// onePixel is a transparent PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func pixel(context.Context) ([]byte, error) { return base64.StdEncoding.DecodeString(onePixel) }

func noteURI(number int) string { return notesURI + "/" + strconv.Itoa(number) }

func (n *notes) read(ctx context.Context) (notesOut, error) { return n.list(ctx, struct{}{}) }

type noteVars struct {
	Number int `json:"number" min:"1"`
}

func (n *notes) readOne(_ context.Context, in noteVars) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if in.Number > len(n.kept) {
		return "", toolwharf.ResourceNotFound(noteURI(in.Number))
	}
	return n.kept[in.Number-1], nil
}

// numbers are those of the notes that there are.
func (n *notes) numbers(_ context.Context, c toolwharf.Completion) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for i := range n.kept {
		if number := strconv.Itoa(i + 1); strings.HasPrefix(number, c.Value) {
			list = append(list, number)
		}
	}
	return list, nil
}

type repeatVars struct {
	Text  string `json:"text"`
	Times int    `json:"times" min:"1" max:"1000" default:"2"`
}

func repeat(_ context.Context, in repeatVars) (string, error) {
	return strings.Repeat(in.Text+"\n", in.Times), nil
}

type bigVars struct {
	Bytes int `json:"bytes" min:"0" max:"1073741824"`
}

func bigResource(_ context.Context, in bigVars) ([]toolwharf.Contents, error) {
	const piece = 1 << 20
	var list []toolwharf.Contents
	for rest := in.Bytes; rest > 0 || list == nil; rest -= piece {
		list = append(list, toolwharf.Contents{MIMEType: "text/plain", Text: strings.Repeat("x", max(0, min(rest, piece)))})
	}
	return list, nil
}
