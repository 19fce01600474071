// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

type sampleIn struct {
	tableIn

	N int `json:"n,omitempty" default:"5" min:"1" max:"20" jsonschema:"How many rows."`
}

// sampleTable is the tool of that name.
func (d *database) sampleTable(ctx context.Context, in sampleIn) (json.RawMessage, error) {
	return d.engine.Sample(ctx, engine.Name{Schema: in.Schema, Name: in.Table}, in.N)
}

var (
	explainInput  = explainSchema("")
	analyzeInput  = explainSchema(`, "analyze": {"type": "boolean", "description": "Run the statement as well, and say how long each part took."}`)
	explainOutput = json.RawMessage(`{
  "type": "object",
  "properties": {"plan": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}, "description": "In the database's own terms."}},
  "required": ["plan"]
}`)
)

func explainSchema(more string) json.RawMessage {
	return json.RawMessage(`{"type": "object", "properties": {` + statementProperties + more + `}, "required": ["sql"], "additionalProperties": false}`)
}

type explainIn struct {
	SQL     string            `json:"sql"`
	Params  []json.RawMessage `json:"params,omitempty"`
	Analyze bool              `json:"analyze,omitempty"`
}

type explainOut struct {
	Plan json.RawMessage `json:"plan"`
}

// explain is the tool of that name. Only where the operator allows that statements
// are run does its schema have analyze.
func (d *database) explain(ctx context.Context, in explainIn) (explainOut, error) {
	params, err := engine.ParseParams(in.Params)
	if err != nil {
		return explainOut{}, err
	}
	plan, err := d.engine.Explain(ctx, engine.Statement{SQL: in.SQL, Params: params}, in.Analyze)
	return explainOut{plan}, err
}

type checkIn struct {
	SQL string `json:"sql" min:"1" max:"65536" jsonschema:"One statement, as query takes it."`
}

type checkOut struct {
	Allowed   bool     `json:"allowed"`
	Code      string   `json:"code,omitempty" jsonschema:"Of the refusal; the same that query gives."`
	Reason    string   `json:"reason,omitempty"`
	Tables    []string `json:"tables,omitempty" jsonschema:"What it reads."`
	Functions []string `json:"functions,omitempty" jsonschema:"What it calls."`
	Params    int      `json:"params,omitempty" jsonschema:"How many values it wants."`
}

// checkQuery is the tool of that name.
func (d *database) checkQuery(ctx context.Context, in checkIn) (checkOut, error) {
	v, err := d.engine.Check(ctx, in.SQL)
	if e, ok := errors.AsType[*toolwharf.Error](err); ok && (e.Kind == toolwharf.KindDenied || e.Kind == toolwharf.KindArgsInvalid || e.Code == engine.CodeDBError) {
		return checkOut{Code: e.Code, Reason: e.Text}, nil
	}
	if err != nil {
		return checkOut{}, err
	}
	out := checkOut{Allowed: true, Functions: v.Functions, Params: v.Params}
	for _, t := range v.Tables {
		out.Tables = append(out.Tables, t.String())
	}
	return out, nil
}

type healthOut struct {
	Engine      string         `json:"engine"`
	Version     string         `json:"version,omitempty"`
	Tables      int            `json:"tables" jsonschema:"How many tables may be read."`
	Findings    []string       `json:"findings,omitempty" jsonschema:"Rights of the role that a reader does not need."`
	Connections connectionsOut `json:"connections"`
}

type connectionsOut struct {
	Open int `json:"open"`
	Busy int `json:"busy"`
	Max  int `json:"max"`
}

// health is the tool of that name. A database that cannot be read is an error.
func (d *database) health(ctx context.Context, _ struct{}) (healthOut, error) {
	tables, err := d.engine.Tables(ctx)
	if err != nil {
		return healthOut{}, err
	}
	h := d.engine.Health(ctx)
	return healthOut{h.Engine, h.Version, len(tables), h.Findings, connectionsOut{h.Open, h.Busy, h.Max}}, nil
}
