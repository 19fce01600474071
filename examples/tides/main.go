// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Tides is the plugin that docs/write-a-plugin.md explains, a piece at a time.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func main() { plugin().Serve() }

func plugin() *toolwharf.Plugin[tides] {
	p := toolwharf.New(toolwharf.Info{Name: "tides", Version: "1.0.0", Title: "Tides"}, open, toolwharf.Check(check))

	toolwharf.AddTool(p, "high_water", (*tides).highWater, toolwharf.ReadOnly(),
		toolwharf.Description("Say when the next high water of a port is."))
	toolwharf.AddTool(p, "survey", (*tides).survey, toolwharf.ReadOnly(),
		toolwharf.Description("Look at the high waters of all ports, one after the other."))
	toolwharf.AddTool(p, "report", (*tides).report, toolwharf.Additive(),
		toolwharf.Description("Write a remark into the log of a port."))
	addResources(p)
	addPrompts(p)
	return p
}

type config struct {
	Service string           `json:"service" default:"localhost:8080" jsonschema:"host:port of the tide service"`
	Key     toolwharf.Secret `json:"key,omitempty" jsonschema:"key of the tide service"`
	Ports   []string         `json:"ports" min:"1" max:"100" jsonschema:"the ports that it may be asked about"`
	Timeout time.Duration    `json:"timeout" default:"10s" min:"1s" max:"1m"`
}

// tides is the state: made of a configuration, used by calls, closed when the last
// call that uses it has ended.
type tides struct {
	config config
	client *http.Client
	log    portLog
}

func check(_ context.Context, c config) ([]toolwharf.Grant, error) {
	var faults []error
	for i, port := range c.Ports {
		if port == "" {
			faults = append(faults, toolwharf.ConfigFault(fmt.Sprintf("/ports/%d", i), "has no name"))
		}
	}
	return []toolwharf.Grant{toolwharf.Connect(c.Service)}, errors.Join(faults...)
}

func open(_ context.Context, c config) (*tides, error) {
	transport := &http.Transport{DialContext: toolwharf.Dialer().DialContext}
	return &tides{config: c, client: &http.Client{Transport: transport, Timeout: c.Timeout}}, nil
}

func (t *tides) Close() error { //nolint:unparam // an io.Closer
	t.client.CloseIdleConnections()
	return nil
}
