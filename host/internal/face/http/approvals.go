// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of a list of approvals.
const (
	usualPage = 50
	maxPage   = 200
	// maxPageArgs ends a page whose arguments have come to so many bytes.
	maxPageArgs = 4 << 20
)

// Approvals are where operators find and decide approvals over HTTP.
type Approvals struct {
	Desk *approval.Desk
	// Operator says which operator sends a request, or why nobody does who is one.
	Operator func(*http.Request) (auth.Caller, *auth.Refusal)
	// Log hears of refusals and of what failed.
	Log *slog.Logger
}

// page is a list of approvals, the newest first.
type page struct {
	Approvals []control.Approval `json:"approvals"`
	// Next is the cursor of what follows; empty: nothing does.
	Next string `json:"next_cursor,omitempty"`
}

// Routes are for anyone, and ask each who it is: who is no operator learns nothing
// by any of them, not even which there are.
func (a *Approvals) Routes() []Route {
	return []Route{
		{"GET /v1/approvals", Anyone, a.operators(a.list)},
		{"GET /v1/approvals/{id}", Anyone, a.operators(a.show)},
		{"POST /v1/approvals/{id}", Anyone, a.operators(a.decide)},
		{"/v1/approvals", Anyone, a.operators(noMethod("GET"))},
		{"/v1/approvals/{id}", Anyone, a.operators(noMethod("GET, POST"))},
		{"/v1/approvals/", Anyone, a.operators(func(*http.Request, tool.Principal) (any, *failure) { return nil, noApproval() })},
	}
}

// operators serves operators.
func (a *Approvals) operators(f func(*http.Request, tool.Principal) (any, *failure)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, refused := a.Operator(r)
		if refused != nil {
			turnAway(w, r, a.Log, refused)
			return
		}
		if w, ok := w.(*answering); ok {
			w.exchange.Principal = who.String()
		}
		v, failed := f(r, who.Principal)
		if failed != nil {
			if failed.err != nil {
				a.Log.Error("approvals", "path", shown(r.URL.Path), "error", failed.err)
			}
			if failed.allow != "" {
				w.Header().Set("Allow", failed.allow)
			}
			refuse(w, failed.status, failed.code, failed.message)
			return
		}
		answer(w, http.StatusOK, v)
	})
}

// failure is why an operator does not get what was asked for.
type failure struct {
	status        int
	code, message string
	allow         string // methods
	err           error  // for the log
}

func misread(format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, code: "bad-request", message: fmt.Sprintf(format, args...)}
}

func noApproval() *failure {
	return &failure{status: http.StatusNotFound, code: "not-found", message: "there is no such approval"}
}

func noMethod(allow string) func(*http.Request, tool.Principal) (any, *failure) {
	return func(*http.Request, tool.Principal) (any, *failure) {
		return nil, &failure{status: http.StatusMethodNotAllowed, code: "method-not-allowed", message: "the methods here are " + allow, allow: allow}
	}
}

// failed words an error of the desk.
func failed(err error) *failure {
	var status *approval.StatusError
	var fault *approval.FaultError
	switch {
	case errors.Is(err, approval.ErrNone):
		return noApproval()
	case errors.As(err, &status):
		return &failure{status: http.StatusConflict, code: "not-pending", message: err.Error()}
	case errors.As(err, &fault):
		return &failure{status: http.StatusUnprocessableEntity, code: "decision-invalid", message: fault.Text}
	case errors.Is(err, approval.ErrSelf):
		return &failure{status: http.StatusForbidden, code: "own-call", message: approval.ErrSelf.Error()}
	case errors.Is(err, approval.ErrNotApprover):
		return &failure{status: http.StatusForbidden, code: "not-approver", message: approval.ErrNotApprover.Error()}
	case errors.Is(err, approval.ErrNotOperator):
		return &failure{status: http.StatusForbidden, code: "not-operator", message: approval.ErrNotOperator.Error()}
	default:
		return &failure{
			status: http.StatusInternalServerError, code: "failed", message: "the store failed; the host's log says why", err: err,
		}
	}
}

func (a *Approvals) list(r *http.Request, _ tool.Principal) (any, *failure) {
	q, limit, failure := query(r.URL)
	if failure != nil {
		return nil, failure
	}
	p := page{Approvals: []control.Approval{}}
	size := 0
	for record, err := range a.Desk.Store.Approvals(r.Context(), q) {
		switch {
		case err != nil:
			return nil, failed(err)
		case len(p.Approvals) == limit || size > maxPageArgs:
			p.Next = p.Approvals[len(p.Approvals)-1].ID
			return p, nil
		}
		p.Approvals = append(p.Approvals, control.Shown(record))
		size += len(record.Args) + len(record.Edited)
	}
	return p, nil
}

// query reads what is asked for. What it does not know is a slip of the pen, and
// would select too much.
func query(u *url.URL) (q approval.Query, limit int, _ *failure) {
	q.Newest, limit = true, usualPage
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return q, 0, misread("the query cannot be read")
	}
	for key, all := range values {
		if len(all) != 1 {
			return q, 0, misread("%s is there %d times", shown(key), len(all))
		}
		value := all[0]
		switch key {
		case "status":
			switch q.Status = approval.Status(value); q.Status {
			case approval.Pending, approval.Approved, approval.Denied, approval.Used, approval.Expired, approval.Withdrawn:
			default:
				return q, 0, misread("status is pending, approved, denied, used, expired or withdrawn")
			}
		case "tool":
			q.Tool = value
		case "adapter":
			q.Adapter = value
		case "principal":
			q.Principal = value
		case "run":
			q.Run = value
		case "cursor":
			if q.Past = value; !tool.IsID(tool.PrefixApproval, value) {
				return q, 0, misread("cursor is not one that was given")
			}
		case "limit":
			if limit, err = strconv.Atoi(value); err != nil || limit < 1 || limit > maxPage {
				return q, 0, misread("limit is a number from 1 to %d", maxPage)
			}
		default:
			return q, 0, misread("there is no filter %s: there are status, tool, adapter, principal, run, limit and cursor", shown(key))
		}
	}
	return q, limit, nil
}

func (a *Approvals) show(r *http.Request, _ tool.Principal) (any, *failure) {
	record, err := a.Desk.Store.Approval(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, failed(err)
	}
	return control.Shown(record), nil
}

func (a *Approvals) decide(r *http.Request, who tool.Principal) (any, *failure) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &failure{
			status: http.StatusUnsupportedMediaType, code: "not-json", message: "a decision is sent as application/json",
		}
	}
	raw, err := io.ReadAll(r.Body)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &failure{
			status: http.StatusRequestEntityTooLarge, code: "too-large", message: fmt.Sprintf("a decision has at most %d bytes", large.Limit),
		}
	}
	if err != nil {
		return nil, misread("the body ended early")
	}
	d, fault := readDecision(raw)
	if fault != nil {
		return nil, misread("%s", fault)
	}
	record, err := a.Desk.Decide(r.Context(), r.PathValue("id"), who, d)
	if err != nil {
		return nil, failed(err)
	}
	return control.Shown(record), nil
}

// readDecision reads a decision. Whatever could be meant in two ways is refused.
func readDecision(raw []byte) (approval.Decision, error) {
	if _, err := tool.ParseJSON(raw); err != nil {
		return approval.Decision{}, fmt.Errorf("the decision is not JSON: %w", tool.AsError(err))
	}
	var fields map[string]json.RawMessage // by their exact names, which a struct does not ask for
	if json.Unmarshal(raw, &fields) != nil {
		return approval.Decision{}, errNoDecision
	}
	var d approval.Decision
	for name, value := range fields {
		var err error
		switch name {
		case "approve":
			if string(value) != "true" && string(value) != "false" {
				return approval.Decision{}, errNoDecision
			}
			d.Approve = string(value) == "true"
		case "reason":
			err = json.Unmarshal(value, &d.Reason)
		case "edited_arguments":
			if string(value) != "null" {
				d.Edited = value
			}
		default:
			err = errNoDecision
		}
		if err != nil {
			return approval.Decision{}, errNoDecision
		}
	}
	if fields["approve"] == nil {
		return approval.Decision{}, errNoDecision
	}
	return d, nil
}

var errNoDecision = errors.New("a decision is an object of approve (true or false), and if wanted edited_arguments and reason")
