// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Command sql is the Toolwharf plugin that lets agents read a database: listed
// tables only, statements that read only, within bounds. README.md says how it
// is configured.
//
// One process serves one database. SQLite is built in; PostgreSQL and MySQL
// will stand beside it, each a package that implements engine.Engine.
package main

import (
	"log/slog"
	"os"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// version is set when a release is built.
var version = "0.1.0"

func main() { plugin().Serve() }

func plugin() *toolwharf.Plugin[database] {
	p := toolwharf.New(toolwharf.Info{
		Name:        "sql",
		Version:     version,
		Title:       "SQL",
		Description: "Lets agents read the listed tables of a database. Statements are judged by the database itself: one SELECT, listed tables, harmless functions.",
	}, openDatabase, toolwharf.Check(check))

	toolwharf.AddTool(p, "query", (*database).query,
		toolwharf.Title("Run a query"),
		toolwharf.Description(queryDescription),
		toolwharf.InputSchema(queryInput),
		toolwharf.OutputSchema(queryOutput),
		toolwharf.ReadOnly(), toolwharf.Idempotent())
	toolwharf.AddTool(p, "list_tables", (*database).listTables,
		toolwharf.Title("List tables"),
		toolwharf.Description("Lists the tables and views that query may read. To see the columns of one, query it with LIMIT 1."),
		toolwharf.ReadOnly(), toolwharf.Idempotent())
	return p
}

// startAnew is for a log that has come since the sandbox was made. The host makes a
// new one, and repeats what was under way.
func startAnew() {
	slog.Warn("the database has a log that was not there before and that this process may not read; ending the process, since the next one may")
	os.Exit(1)
}

// endProcess is for an engine that does not stop. The host starts a fresh
// process and repeats what was under way; a busy loop would be there for ever.
func endProcess() {
	slog.Error("a statement did not stop long after its time was over; ending the process")
	os.Exit(1)
}
