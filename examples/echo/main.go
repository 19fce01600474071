// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Echo is the plugin that hosts are tried with: it gives back what it gets,
// and fails on demand.
package main

import "github.com/toolwharf/toolwharf/sdk/go"

func main() { plugin().Serve() }

func plugin() *toolwharf.Plugin[toolwharf.None] {
	p := toolwharf.NewStateless(toolwharf.Info{
		Name:        "echo",
		Version:     "1.0.0",
		Title:       "Echo",
		Description: "Gives back what it gets, and fails on demand. For trying hosts and clients.",
	})
	addEcho(p)
	addTrouble(p)
	n := new(notes)
	addNotes(p, n)
	addFile(p)
	addAsk(p)
	addResources(p, n)
	addPrompts(p)
	addLearn(p)
	addFlood(p)
	return p
}
