// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf_test

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/toolwharf/toolwharf/sdk/go"
)

// The configuration: its schema is shown by `describe`, its secrets by nobody.
type Config struct {
	DSN     toolwharf.Secret `json:"dsn" jsonschema:"connection string"`
	Address string           `json:"address" jsonschema:"host:port of the database"`
	MaxRows int              `json:"max_rows" jsonschema:"the most rows of a result" default:"1000" min:"1"`
	Timeout time.Duration    `json:"timeout" default:"30s" min:"1s" max:"5m"`
}

// The state: opened of the configuration, closed when it has been replaced.
type DB struct {
	pool *sql.DB
	conf Config
}

func check(_ context.Context, c Config) ([]toolwharf.Grant, error) {
	if c.Address == "localhost" {
		return nil, toolwharf.ConfigFault("/address", "has no port")
	}
	return []toolwharf.Grant{toolwharf.Connect(c.Address)}, nil
}

func open(_ context.Context, c Config) (*DB, error) {
	pool, err := sql.Open("postgres", c.DSN.Reveal())
	if err != nil {
		return nil, toolwharf.ConfigFault("/dsn", "is not a connection string")
	}
	return &DB{pool, c}, nil
}

func (db *DB) Close() error { return db.pool.Close() }

type OrderIn struct {
	ID int64 `json:"id" min:"1"`
}

type OrderOut struct {
	Customer string    `json:"customer"`
	Placed   time.Time `json:"placed"`
}

func (db *DB) Order(ctx context.Context, in OrderIn) (OrderOut, error) {
	ctx, cancel := context.WithTimeout(ctx, db.conf.Timeout)
	defer cancel()
	var out OrderOut
	err := db.pool.QueryRowContext(ctx, `select customer, placed from orders where id = $1`, in.ID).
		Scan(&out.Customer, &out.Placed)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return out, toolwharf.NotFound("", "there is no such order")
	case err != nil:
		return out, toolwharf.Downstream(err)
	}
	return out, nil
}

// A plugin with a configuration, a state and a tool that is a method of it.
func Example() { //nolint:testableexamples // a plugin does not return
	p := toolwharf.New(toolwharf.Info{Name: "orders", Version: "1.0.0"}, open, toolwharf.Check(check))
	toolwharf.AddTool(p, "order", (*DB).Order, toolwharf.Description("Look up one order."), toolwharf.ReadOnly())
	p.Serve()
}

// A tool that says itself what the model reads.
func ExampleResult() { //nolint:testableexamples // a plugin does not return
	p := toolwharf.NewStateless(toolwharf.Info{Name: "chart", Version: "1.0.0"})
	toolwharf.AddFunc(p, "draw", func(ctx context.Context, _ struct{}) (toolwharf.Result, error) {
		toolwharf.Progress(ctx, 1, 2, "drawing")
		png := []byte("...")
		return toolwharf.Result{Content: []toolwharf.Content{
			toolwharf.Text("The chart of last week:"), toolwharf.Image(png, "image/png"),
		}}, nil
	}, toolwharf.ReadOnly())
	p.Serve()
}

type Crew struct {
	Captain string `json:"captain" jsonschema:"name of the captain"`
	Hands   int    `json:"hands" jsonschema:"how many besides" min:"0" default:"2"`
	Watch   string `json:"watch" enum:"day,night" default:"day"`
}

// A tool that asks the user before it does anything.
func ExampleAsk() { //nolint:testableexamples // a plugin does not return
	p := toolwharf.NewStateless(toolwharf.Info{Name: "muster", Version: "1.0.0"})
	question := toolwharf.Form[Crew]("crew", "Who sails?")
	toolwharf.AddFunc(p, "sail", func(ctx context.Context, _ struct{}) (string, error) {
		crew, action, ok := toolwharf.Answer[Crew](ctx, "crew")
		switch {
		case !ok:
			return "", toolwharf.Ask(question)
		case action != toolwharf.ActionAccept:
			return "", toolwharf.ToolError("nobody_sails", "the user named no crew")
		}
		toolwharf.Notify(ctx, toolwharf.LevelInfo, "casting off")
		return crew.Captain + " has the " + crew.Watch + " watch", nil
	}, toolwharf.Additive(), toolwharf.Asks(question))
	p.Serve()
}
