// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// frameOf is what a page has around it.
type frameOf struct {
	Host, Title string
	Session     *session
	// Again: the page asks for itself once more.
	Again bool
}

// part is one part of who somebody is.
type part struct{ Label, Value string }

// view is one approval as the page shows it. Every text of others in it is
// visible: see approval.Visible.
type view struct {
	ID, Status, State, When, Question string
	// Open: there is a decision to take, and who looks may take it.
	Open bool
	// Fault is why the decision that was sent is none.
	Fault string
	// Outcome says what has become of it, Good that it may run.
	Outcome string
	Good    bool
	// Changed says that it would not run if it were approved.
	Changed                                    string
	Tool, Title, Adapter, Effects, EffectsText string
	Asker, DecidedBy                           []part
	Why, Reason                                string
	AskedAt, ExpiresAt, DecidedAt              string
	Args                                       arguments
	Edited                                     *arguments
	// Editable: the arguments are not too large for a form.
	Editable bool
	// Draft are the arguments that were sent and not taken.
	Draft string
}

// draft is what there is to edit.
func (v *view) draft() string {
	if v.Draft != "" {
		return v.Draft
	}
	return v.Args.text
}

// view is one approval, as somebody who is signed in sees it at a time.
func (p *page) view(r *approval.Record, s *session, now time.Time) view {
	v := view{
		ID: r.ID, Status: string(r.Status), Tool: approval.Visible(r.Tool), Adapter: approval.Visible(r.Adapter),
		Effects: string(r.Effects), EffectsText: effects[r.Effects.Effective()],
		Asker: parts(r.Principal), Why: approval.Visible(r.Why), Reason: approval.Visible(r.Reason),
		AskedAt: moment(r.Created), ExpiresAt: moment(r.Expires), Args: newArguments(r.Args),
	}
	if r.Edited != nil {
		edited := newArguments(r.Edited)
		v.Edited = &edited
	}
	if !r.Decided.IsZero() {
		v.DecidedBy, v.DecidedAt = parts(r.DecidedBy), moment(r.Decided)
	}
	p.changed(&v, r)
	v.Question = fmt.Sprintf("Let %s call %s?", name(r.Principal), v.Tool)
	v.State, v.When = states[r.Status], ""
	switch r.Status {
	case approval.Pending:
		v.When = "expires in " + left(r.Expires.Sub(now))
		switch {
		case r.Mode == approval.Form:
			v.Outcome = "The user of the calling client is asked by a form; nobody else decides."
		case p.Desk.Own(s.who, r):
			v.Outcome = "You have asked for this call, so somebody else has to decide."
		default:
			v.Open, v.Editable = true, int64(len(v.Args.text)+len(v.Args.text)/8) < p.MaxForm-maxForm
		}
	case approval.Approved:
		v.Outcome, v.Good = "It may run once, when its caller comes back for it.", true
		v.When = "expires in " + left(r.Expires.Sub(now))
	case approval.Used:
		v.Outcome, v.Good = "It was approved, and its caller has come back for it.", true
		if r.Running {
			v.Outcome = "It was approved, and runs now."
		}
	case approval.Denied:
		v.Outcome = "It does not run. The caller is told so, and may ask anew."
	case approval.Expired:
		v.Outcome = "Nobody decided in time, or the caller did not come back in time. It does not run; the caller may ask anew."
	case approval.Withdrawn:
		v.Outcome = "The caller has gone. It does not run."
	}
	if r.Status != approval.Pending {
		v.Question = fmt.Sprintf("%s asked to call %s", name(r.Principal), v.Tool)
	}
	return v
}

// changed says what the tool is now.
func (p *page) changed(v *view, r *approval.Record) {
	if p.Tool == nil {
		return
	}
	title, spec, origin, there := p.Tool(r.Tool)
	v.Title = approval.Visible(title)
	switch {
	case r.Status != approval.Pending && r.Status != approval.Approved:
	case !there:
		v.Changed = "The tool is not there now. Unless it comes back as it was, the call will not run even if it is approved."
	case spec != r.Spec || origin != r.Origin:
		v.Changed = "The tool, its adapter or its configuration has changed since this was asked for: the call will not run even if it is approved."
	}
}

var states = map[approval.Status]string{
	approval.Pending: "Waiting for a decision", approval.Approved: "Approved", approval.Denied: "Denied",
	approval.Used: "Approved and used", approval.Expired: "Expired", approval.Withdrawn: "Withdrawn",
}

var effects = map[tool.Effects]string{
	tool.ReadOnly:    "Read-only: changes nothing",
	tool.Additive:    "Additive: adds, and changes nothing that is there",
	tool.Destructive: "Destructive: may change or remove what is there",
}

// parts says who somebody is. The parts of a token are kept apart, so that none
// can imitate another.
func parts(principal string) []part {
	var token []string
	if json.Unmarshal([]byte(principal), &token) == nil && len(token) == 3 {
		var out []part
		for i, label := range []string{"client", "issuer", "subject"} {
			if token[i] != "" {
				out = append(out, part{label, approval.Visible(token[i])})
			}
		}
		return out
	}
	for prefix, label := range map[string]string{
		"stdio/local/": "local user", "operator/": "operator", "named/": "caller", "client/": "the client's user, for",
	} {
		if rest, ok := strings.CutPrefix(principal, prefix); ok {
			return []part{{label, approval.Visible(rest)}}
		}
	}
	if principal == "anonymous" {
		return []part{{"", "a caller without a name"}}
	}
	return []part{{"", approval.Visible(principal)}}
}

// name is a principal in a few words.
func name(principal string) string {
	all := parts(principal)
	if len(all) == 0 {
		return "a token"
	}
	if all[0].Label == "" {
		return all[0].Value
	}
	return all[0].Label + " " + all[0].Value
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// left is how long there is, for people.
func left(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}
