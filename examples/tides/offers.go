// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func addResources(p *toolwharf.Plugin[tides]) {
	toolwharf.AddResource(p, "tides://ports", "ports", (*tides).ports,
		toolwharf.Description("The ports, as JSON."))
	toolwharf.AddTemplate(p, "tides://log/{port}{?last}", "log", (*tides).readLog, toolwharf.Subscribable(),
		toolwharf.Complete("port", (*tides).completePort), toolwharf.Description("The log of a port."))
}

func (t *tides) ports(context.Context) ([]string, error) { return t.config.Ports, nil }

type logVars struct {
	Port string `json:"port"`
	Last int    `json:"last" min:"1" default:"10"`
}

func (t *tides) readLog(_ context.Context, in logVars) (string, error) {
	if !slices.Contains(t.config.Ports, in.Port) {
		return "", toolwharf.ResourceNotFound("tides://log/" + in.Port)
	}
	return strings.Join(t.log.last(in.Port, in.Last), "\n"), nil
}

func (t *tides) completePort(_ context.Context, c toolwharf.Completion) ([]string, error) {
	var fitting []string
	for _, port := range t.config.Ports {
		if strings.HasPrefix(port, c.Value) {
			fitting = append(fitting, port)
		}
	}
	return fitting, nil
}

func addPrompts(p *toolwharf.Plugin[tides]) {
	toolwharf.AddPromptFunc(p, "plan_passage", planPassage, toolwharf.Complete("from", (*tides).completePort),
		toolwharf.Description("Plan a passage by the tides."))
}

type passage struct {
	From string `json:"from" jsonschema:"the port of departure"`
	Pace string `json:"pace" enum:"slow,fast" default:"slow"`
}

func planPassage(_ context.Context, in passage) (string, error) {
	return "Plan a " + in.Pace + " passage from " + in.From + ". Ask high_water first.", nil
}

// portLog has the remarks of each port. The zero value is empty.
type portLog struct {
	mu      sync.Mutex
	remarks map[string][]string
}

// maxRemarks bounds the log of a port.
const maxRemarks = 1000

func (l *portLog) write(port, remark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.remarks == nil {
		l.remarks = map[string][]string{}
	}
	l.remarks[port] = append(l.remarks[port], remark)
	if kept := l.remarks[port]; len(kept) > maxRemarks {
		l.remarks[port] = slices.Clone(kept[1:])
	}
}

func (l *portLog) last(port string, n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.remarks[port]
	return slices.Clone(kept[max(0, len(kept)-n):])
}
