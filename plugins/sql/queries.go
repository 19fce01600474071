// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// namedQuery is a statement of the operator's that is a tool of its own.
type namedQuery struct {
	Description string       `json:"description" min:"1" jsonschema:"What the tool does and when to use it."`
	SQL         string       `json:"sql" min:"1" max:"65536" jsonschema:"One statement, judged like any other."`
	Params      []queryParam `json:"params,omitempty" jsonschema:"The arguments of the tool, bound in this order."`
	MaxRows     int          `json:"max_rows,omitempty" min:"0" jsonschema:"The most rows; the adapter's max_rows is the upper bound."`
	RowsAs      string       `json:"rows_as,omitempty" default:"objects" enum:"objects,arrays,csv" jsonschema:"The shape of the rows."`
}

// queryParam is one argument.
type queryParam struct {
	Name        string            `json:"name" min:"1" jsonschema:"Its name."`
	Type        string            `json:"type" enum:"string,integer,number,boolean" jsonschema:"What it is."`
	Description string            `json:"description,omitempty" jsonschema:"What it means."`
	Required    bool              `json:"required,omitempty" jsonschema:"It must be given. Otherwise it is default, or NULL."`
	Default     json.RawMessage   `json:"default,omitempty" jsonschema:"Its value where none is given."`
	Enum        []json.RawMessage `json:"enum,omitempty" jsonschema:"The values that it may have."`
	Min         *float64          `json:"min,omitempty" jsonschema:"The least number."`
	Max         *float64          `json:"max,omitempty" jsonschema:"The largest number."`
}

var queryName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// ownTools are the names that no query may have.
var ownTools = []string{"query", "list_tables", "describe_table", "search_schema", "sample_table", "explain", "check_query", "health"}

// pointer is an RFC 6901 pointer.
func pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + escape.Replace(p))
	}
	return b.String()
}

// checkQueries refuses what cannot be a tool.
func checkQueries(queries map[string]namedQuery) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		switch {
		case !queryName.MatchString(name):
			faults = append(faults, toolwharf.ConfigFault(pointer("queries", name), "the name of a query does not match [A-Za-z0-9_.-]{1,64}"))
		case slices.Contains(ownTools, name):
			faults = append(faults, toolwharf.ConfigFault(pointer("queries", name), "the plugin has a tool of that name"))
		}
		seen := map[string]bool{}
		for i, p := range queries[name].Params {
			at := pointer("queries", name, "params", fmt.Sprint(i))
			if seen[p.Name] {
				faults = append(faults, toolwharf.ConfigFault(at+"/name", "two parameters have the same name"))
			}
			seen[p.Name] = true
			faults = append(faults, p.check(at))
		}
	}
	return errors.Join(faults...)
}

// check refuses what no value could fit.
func (p queryParam) check(at string) error {
	number := p.Type == "integer" || p.Type == "number"
	switch {
	case (p.Min != nil || p.Max != nil) && !number:
		return toolwharf.ConfigFault(at, "min and max are for numbers")
	case p.Min != nil && p.Max != nil && *p.Min > *p.Max:
		return toolwharf.ConfigFault(at+"/min", "min is larger than max")
	case p.Default != nil && p.Required:
		return toolwharf.ConfigFault(at+"/default", "a required parameter has no use for a default")
	case p.Default != nil && !p.fits(p.Default):
		return toolwharf.ConfigFault(at+"/default", "the default is no value that the parameter may have")
	}
	for i, v := range p.Enum {
		if !p.is(v) {
			return toolwharf.ConfigFault(fmt.Sprintf("%s/enum/%d", at, i), "the value is not of the parameter's type")
		}
	}
	return nil
}

// fits says whether v is a value of p.
func (p queryParam) fits(v json.RawMessage) bool {
	if !p.is(v) {
		return false
	}
	if p.Enum != nil && !slices.ContainsFunc(p.Enum, func(e json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(e), bytes.TrimSpace(v)) }) {
		return false
	}
	var n float64
	if p.Min == nil && p.Max == nil || json.Unmarshal(v, &n) != nil {
		return true
	}
	return (p.Min == nil || n >= *p.Min) && (p.Max == nil || n <= *p.Max)
}

// is says whether v is of p's type.
func (p queryParam) is(v json.RawMessage) bool {
	var value any
	if json.Unmarshal(v, &value) != nil {
		return false
	}
	switch p.Type {
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	}
	n, ok := value.(float64)
	return ok && (p.Type == "number" || n == float64(int64(n)))
}

// input is the schema of the query's arguments.
func (q namedQuery) input() (json.RawMessage, error) {
	type property struct {
		Type        string            `json:"type"`
		Description string            `json:"description,omitempty"`
		Default     json.RawMessage   `json:"default,omitempty"`
		Enum        []json.RawMessage `json:"enum,omitempty"`
		Minimum     *float64          `json:"minimum,omitempty"`
		Maximum     *float64          `json:"maximum,omitempty"`
	}
	properties, required := map[string]property{}, []string{}
	for _, p := range q.Params {
		properties[p.Name] = property{p.Type, p.Description, p.Default, p.Enum, p.Min, p.Max}
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

// statement binds arguments; none of them ever becomes part of the text.
func (q namedQuery) statement(args map[string]json.RawMessage) (engine.Statement, error) {
	for name := range args {
		if !slices.ContainsFunc(q.Params, func(p queryParam) bool { return p.Name == name }) {
			return engine.Statement{}, toolwharf.Invalid(engine.CodeBindValue, fmt.Sprintf("there is no argument %.64q", name))
		}
	}
	values := make([]json.RawMessage, len(q.Params))
	for i, p := range q.Params {
		v, given := args[p.Name]
		switch {
		case given && !p.fits(v):
			return engine.Statement{}, toolwharf.Invalid(engine.CodeBindValue, p.Name+" is no value that it may have")
		case given:
			values[i] = v
		case p.Default != nil:
			values[i] = p.Default
		case p.Required:
			return engine.Statement{}, toolwharf.Invalid(engine.CodeBindValue, p.Name+" must be given")
		default:
			values[i] = json.RawMessage("null")
		}
	}
	params, err := engine.ParseParams(values)
	return engine.Statement{SQL: q.SQL, Params: params, MaxRows: q.MaxRows, RowsAs: engine.RowsAs(q.RowsAs)}, err
}

// judgeQueries judges what the operator has written as if a caller had: what would
// be refused at each call is refused at once.
func (d *database) judgeQueries(ctx context.Context, queries map[string]namedQuery) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		q := queries[name]
		v, err := d.engine.Check(ctx, q.SQL)
		told, refused := errors.AsType[*toolwharf.Error](err)
		switch {
		case refused:
			faults = append(faults, &toolwharf.ConfigError{Pointer: pointer("queries", name, "sql"), Summary: "the statement is refused (" + told.Code + ")", Detail: told.Text})
		case err != nil:
			return err
		case v.Params != len(q.Params):
			faults = append(faults, toolwharf.ConfigFault(pointer("queries", name, "params"), fmt.Sprintf("the statement has %d parameters, %d are listed", v.Params, len(q.Params))))
		}
	}
	return errors.Join(faults...)
}

// addQueries makes a tool of each query.
func addQueries(c *toolwharf.Changes[database], queries map[string]namedQuery) error {
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		q := queries[name]
		input, err := q.input()
		if err != nil {
			return err
		}
		toolwharf.AddTool(c, name, func(d *database, ctx context.Context, args map[string]json.RawMessage) (json.RawMessage, error) {
			s, err := q.statement(args)
			if err != nil {
				return nil, err
			}
			return d.engine.Query(ctx, s)
		}, toolwharf.Description(q.Description), toolwharf.InputSchema(input), toolwharf.OutputSchema(queryOutput),
			toolwharf.ReadOnly(), toolwharf.Idempotent())
	}
	return nil
}
