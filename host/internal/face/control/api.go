// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package control is the local socket by which the command line talks to a
// running host: HTTP with JSON bodies on a unix socket that only the host's own
// user may open. The same API is there without a socket, for a host that a
// command starts for the moment.
package control

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// API is what an operator can ask of a host. An error is a *NotFoundError or
// says that the host cannot be reached.
type API interface {
	Host(context.Context) (*Host, error)
	Adapters(context.Context) ([]Adapter, error)
	// Restart puts a fresh instance in the place of what an adapter runs, at once.
	// If that fails, the error says why, and what served before serves on.
	Restart(ctx context.Context, name string) (*Adapter, error)
	// Logs are the last n lines that an adapter wrote to stderr, and, if they are
	// followed, those that come, until ctx ends. An error is the last.
	Logs(ctx context.Context, name string, n int, follow bool) iter.Seq2[LogLine, error]
	Tools(context.Context) ([]Tool, error)
	// Call runs a tool as the operator.
	Call(ctx context.Context, name string, args json.RawMessage, resume Keys) (*Answer, error)
	// Explain says what would become of a call; as is who calls, nil the operator.
	// The name may be that of a resource or a prompt, as rules see it.
	Explain(ctx context.Context, name string, args json.RawMessage, as *Caller) (*executor.Explanation, error)
	// Approvals lists approvals, newest first; status "" is all.
	Approvals(ctx context.Context, status string) ([]Approval, error)
	Approval(ctx context.Context, id string) (*Approval, error)
	// Decide decides an approval as the operator.
	Decide(ctx context.Context, id string, d Decision) (*Approval, error)
}

// Approval is one approval as an operator sees it.
type Approval struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Mode      string          `json:"mode"`
	Tool      string          `json:"tool"`
	Adapter   string          `json:"adapter"`
	Effects   tool.Effects    `json:"effects"`
	Principal string          `json:"principal"`
	Why       string          `json:"why,omitempty"`
	Run       string          `json:"run"`
	Call      string          `json:"call"`
	Args      json.RawMessage `json:"arguments,omitempty"`
	Edited    json.RawMessage `json:"edited_arguments,omitempty"`
	Created   time.Time       `json:"created"`
	Expires   time.Time       `json:"expires"`
	Decided   *time.Time      `json:"decided,omitempty"`
	DecidedBy string          `json:"decided_by,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

// Decision is what an operator decides.
type Decision struct {
	Approve bool `json:"approve"`
	// Edited are arguments to run in place of the asked ones.
	Edited json.RawMessage `json:"edited_arguments,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

// Host is which host answers.
type Host struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Config  string    `json:"config,omitempty"`
	Serves  string    `json:"serves"` // "http://..." or "stdio"
	Started time.Time `json:"started"`
	// Notes are what was left out of the plugin directories, and why.
	Notes []string `json:"notes,omitempty"`
	// Reload is what became of the newest configuration file, nil if it has not
	// changed since the start.
	Reload *Reload `json:"reload,omitempty"`
}

// Reload is what became of a configuration file that has changed.
type Reload struct {
	At time.Time `json:"at"`
	// Refused says why it does not hold; then the one before does.
	Refused fault.List `json:"refused,omitempty"`
	// Restart are the keys that change by a restart only.
	Restart []string `json:"restart,omitempty"`
}

// Notes says it in lines.
func (r *Reload) Notes() []string {
	var notes []string
	for _, f := range r.Refused.Errors() {
		notes = append(notes, "reload refused, the configuration before serves on: "+f.String())
	}
	if len(r.Restart) > 0 {
		notes = append(notes, "needs a restart: "+strings.Join(r.Restart, ", ")+"; the old values hold until then")
	}
	return notes
}

// Adapter is one adapter as an operator sees it.
type Adapter struct {
	Name    string     `json:"name"`
	Plugin  string     `json:"plugin"`
	State   string     `json:"state"`
	Since   time.Time  `json:"since"`
	Prefix  string     `json:"prefix"`
	Tools   int        `json:"tools"`
	Path    string     `json:"path,omitempty"`
	Version string     `json:"version,omitempty"`
	PID     int        `json:"pid,omitempty"`
	Crashes int        `json:"crashes"`
	Cause   string     `json:"cause,omitempty"`
	Retry   *time.Time `json:"retry,omitempty"`
	Sandbox string     `json:"sandbox"`
	// Reach is what it may reach outside of itself.
	Reach []string `json:"reach,omitempty"`
	// Egress is what has gone out of it through the host, which connects for an adapter
	// in the strict sandbox.
	Egress *Egress `json:"egress,omitempty"`
	// Memory is what bounds its memory, if something is to.
	Memory string   `json:"memory,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// Egress counts connections that the host was asked to make for an adapter since it was
// started, and the bytes that they carried.
type Egress struct {
	Open     int    `json:"open"`
	Opened   uint64 `json:"opened"`
	Refused  uint64 `json:"refused"`
	Failed   uint64 `json:"failed"`
	Sent     uint64 `json:"sent_bytes"`
	Received uint64 `json:"received_bytes"`
}

// LogLine is one line of an adapter's log.
type LogLine struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`
	Message string    `json:"message"`
	// Attributes are an object.
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

// Tool is one tool as an operator sees it.
type Tool struct {
	Name        string          `json:"name"`
	Alias       string          `json:"alias,omitempty"`
	Adapter     string          `json:"adapter"`
	Declared    string          `json:"declared"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Effects     tool.Effects    `json:"effects"`
	Idempotent  bool            `json:"idempotent"`
	Approval    bool            `json:"needs_approval"`
	Tags        []string        `json:"tags,omitempty"`
	Input       json.RawMessage `json:"input_schema,omitempty"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Digest      string          `json:"digest"`
}

// Answer is how a call ended: a result, an error, or an approval that it waits
// for.
type Answer struct {
	Pending    *Pending        `json:"pending,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Content    []Block         `json:"content,omitempty"`
	Error      *Failure        `json:"error,omitempty"`
}

// Pending is a call that waits for an approval, and the keys by which the same
// call is resumed.
type Pending struct {
	Approval string `json:"approval_id"`
	Run      string `json:"run_id"`
	Call     string `json:"call_id"`
}

// Keys resume a pending call; empty: a fresh call.
type Keys struct {
	Run  string `json:"run_id,omitempty"`
	Call string `json:"call_id,omitempty"`
}

// Block is one block of content. What is not text is described.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	URI      string `json:"uri,omitempty"`
	MIMEType string `json:"mime_type,omitempty"`
	Bytes    int    `json:"bytes,omitempty"`
}

// Failure is a call that came to no result, with the operator's detail.
type Failure struct {
	Kind       tool.Kind `json:"kind"`
	Code       string    `json:"code,omitempty"`
	Text       string    `json:"text"`
	Detail     string    `json:"detail,omitempty"`
	Ran        tool.Ran  `json:"ran,omitempty"`
	RetryAfter int64     `json:"retry_after_ms,omitempty"`
}

// NotFoundError is a thing that is not there.
type NotFoundError struct {
	What string `json:"what"` // "tool"
	Name string `json:"name"`
}

// Error names it.
func (e *NotFoundError) Error() string { return fmt.Sprintf("no %s %q", e.What, e.Name) }
