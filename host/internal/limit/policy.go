// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Policy is what a configuration limits beside what is in flight at once. It is
// immutable; what it counts in is not, and outlives it. The zero Policy limits
// nothing.
type Policy struct {
	// Admission is how many calls of one principal the host looks at.
	Admission Rate
	// Rate is how many calls of one principal leave the host.
	Rate Rate
	// MaxCalls is how many calls of one run leave the host; 0: not limited.
	MaxCalls int64
	// Budget is what the calls of one run may cost; 0: not limited.
	Budget Amount
	// DefaultRun is how long the calls of a principal that name no run belong to
	// one; 0 is an hour.
	DefaultRun time.Duration
	Adapters   map[string]Adapter
	// Rates is where rates are counted, needed if there are any; Counts what a run
	// has used, nil: nobody knows before it is charged.
	Rates  *Rates
	Counts Counts
}

// Adapter limits the calls of one adapter.
type Adapter struct {
	Rate Rate
	// Tools are by declared name.
	Tools map[string]Tool
}

// Tool limits the calls of one tool.
type Tool struct {
	Rate Rate
	// Cost of one call; nil: not known before its adapter says so.
	Cost *Amount
	// MaxCalls of one run; 0: not limited.
	MaxCalls int64
	// OncePerRun is MaxCalls 1, under another name.
	OncePerRun bool
}

// of returns what limits the tool that a case is about.
func (p *Policy) of(c *tool.Case) (a Adapter, t Tool) {
	a = p.Adapters[c.Spec.Adapter]
	if c.Op == tool.OpTool {
		t = a.Tools[c.Spec.Declared]
	}
	return a, t
}

// Admit takes one call out of its principal's admission.
func (p *Policy) Admit(c *tool.Case) *tool.Error {
	if p.Admission.N == 0 {
		return nil
	}
	w := [1]want{{ofAdmission, c.Who, p.Admission}}
	empty, after := p.Rates.take(time.Now(), w[:])
	if empty == nil {
		return nil
	}
	return p.tooFast(c, empty, after)
}

// Name is what ledger and explain call it.
func (*Policy) Name() string { return "limits" }

// Judge says what Take and the charges would say now, and takes nothing. It is no
// promise: between it and the sending others are sent.
func (p *Policy) Judge(ctx context.Context, c *tool.Case) (tool.Verdict, error) {
	var buf [kinds]want
	wants := p.wants(c, buf[:0])
	if len(wants) > 0 {
		if empty, after := p.Rates.peek(time.Now(), wants); empty != nil {
			err := p.tooFast(c, empty, after)
			return tool.Refused(err.Text, err), nil
		}
	}
	var charges [mostCharges]Charge
	due := p.charges(c, charges[:0])
	if len(due) == 0 || p.Counts == nil {
		return tool.Passed(within(len(wants))), nil
	}
	used, err := p.Counts.Used(ctx, c.RunID)
	if err != nil {
		return tool.Verdict{}, fmt.Errorf("what run %s has used: %w", c.RunID, err)
	}
	for _, d := range due {
		if n := used[d.What]; !d.Fits(n) {
			spent := p.Spent(c, &SpentError{d, n})
			return tool.Refused(spent.Text, spent), nil
		}
	}
	return tool.Passed("within the rates and what the run may use"), nil
}

func within(rates int) string {
	if rates == 0 {
		return "nothing limits it"
	}
	return "within the rates"
}

// wants are the buckets that a call takes from when it leaves the host.
func (p *Policy) wants(c *tool.Case, w []want) []want {
	a, t := p.of(c)
	if p.Rate.N > 0 {
		w = append(w, want{ofPrincipal, c.Who, p.Rate})
	}
	if a.Rate.N > 0 {
		w = append(w, want{ofAdapter, c.Spec.Adapter, a.Rate})
	}
	if t.Rate.N > 0 {
		w = append(w, want{ofTool, c.Spec.Name, t.Rate})
	}
	return w
}

// Take takes the call out of every rate that limits it, or says which does not let
// it go.
func (p *Policy) Take(c *tool.Case) *tool.Error {
	var buf [kinds]want
	wants := p.wants(c, buf[:0])
	if len(wants) == 0 {
		return nil
	}
	empty, after := p.Rates.take(time.Now(), wants)
	if empty == nil {
		return nil
	}
	return p.tooFast(c, empty, after)
}

func (p *Policy) tooFast(c *tool.Case, w *want, after time.Duration) *tool.Error {
	var code, whose string
	switch w.kind {
	case ofAdmission:
		code, whose = "admission", "this host looks at "+w.rate.String()+" of your calls"
	case ofAdapter:
		code, whose = "adapter_rate", "adapter "+c.Spec.Adapter+" takes "+w.rate.String()
	case ofTool:
		code, whose = "tool_rate", "it may be called "+w.rate.String()
	case ofPrincipal, kinds:
		code, whose = "principal_rate", "this host makes "+w.rate.String()+" of your calls"
	}
	after = max(after, time.Millisecond).Round(time.Millisecond)
	err := tool.Errorf(tool.RateLimited, code, "%s was not run: %s; try again in %v", c.Spec.Name, whose, after)
	err.RetryAfter = after
	return err
}

// Charges are what the call takes from its run when it leaves the host. A call of
// which an earlier round was sent has been charged.
func (p *Policy) Charges(c *tool.Case) []Charge {
	if c.Sent || !p.counts(c) {
		return nil
	}
	return p.charges(c, make([]Charge, 0, mostCharges))
}

func (p *Policy) counts(c *tool.Case) bool {
	_, t := p.of(c)
	return p.MaxCalls > 0 || p.Budget > 0 || t.MaxCalls > 0 || t.OncePerRun
}

// mostCharges is how many charges one call can have.
const mostCharges = 3

func (p *Policy) charges(c *tool.Case, due []Charge) []Charge {
	if c.Sent {
		return due
	}
	_, t := p.of(c)
	if n := t.calls(); n > 0 {
		due = append(due, Charge{c.Spec.Name, 1, n})
	}
	if p.MaxCalls > 0 {
		due = append(due, Charge{Calls, 1, p.MaxCalls})
	}
	switch {
	case p.Budget == 0:
	case t.Cost == nil:
		due = append(due, Charge{Cost, 0, int64(p.Budget)})
	case *t.Cost > 0: // what is free is free when nothing is left, too
		due = append(due, Charge{Cost, int64(*t.Cost), int64(p.Budget)})
	}
	return due
}

func (t Tool) calls() int64 {
	if t.OncePerRun {
		return 1
	}
	return t.MaxCalls
}

// Settle says how a call that was charged comes out: what to charge beside that,
// and what it has cost in all, empty if nobody says that it costs something. said
// is what its adapter says that it has cost beyond the configured cost. What never
// left the host is given back.
func (p *Policy) Settle(c *tool.Case, charged []Charge, left bool, said string) (more []Charge, cost string) {
	if !left {
		for _, d := range charged {
			if d.Add != 0 {
				more = append(more, Charge{What: d.What, Add: -d.Add})
			}
		}
		return more, ""
	}
	beyond := atLeast(said)
	if beyond > 0 && p.Budget > 0 {
		more = append(more, Charge{What: Cost, Add: int64(beyond)})
	}
	_, t := p.of(c)
	switch {
	case t.Cost == nil || c.Sent: // with its first round
		return more, said
	case beyond == 0:
		return more, t.Cost.String()
	default:
		return more, (min(*t.Cost, MaxAmount-beyond) + beyond).String()
	}
}

// Spent is a charge that does not fit, as the caller is told.
func (p *Policy) Spent(c *tool.Case, e *SpentError) *tool.Error {
	_, t := p.of(c)
	switch {
	case e.What == Cost:
		return tool.Errorf(tool.BudgetExceeded, "budget", "%s was not run: %s of the %s that this run may cost are used%s",
			c.Spec.Name, Amount(e.Used), Amount(e.Max), costs(e.Add))
	case e.What == Calls:
		return tool.Errorf(tool.BudgetExceeded, "max_calls", "%s was not run: this run has made the %d calls that it may make", c.Spec.Name, e.Max)
	case t.OncePerRun:
		return tool.Errorf(tool.BudgetExceeded, "once_per_run", "%s was not run: it is called once in a run, and was", c.Spec.Name)
	default:
		return tool.Errorf(tool.BudgetExceeded, "max_calls", "%s was not run: this run has called it %d times, as often as it may",
			c.Spec.Name, e.Max)
	}
}

func costs(n int64) string {
	if n == 0 {
		return ""
	}
	return ", and it costs " + Amount(n).String()
}

// defaultRun is how long calls that name no run belong to one.
const defaultRun = time.Hour

// RunKey is the key of the run to which calls of a principal belong that name
// none. It is the same on every host and after a restart, which would give a
// caller a new run otherwise.
func (p *Policy) RunKey(who tool.Principal, now time.Time) string {
	length := p.DefaultRun
	if length <= 0 {
		length = defaultRun
	}
	return tool.ScopedID(tool.PrefixRun, who, "current/"+length.String()+"/"+strconv.FormatInt(now.UnixNano()/int64(length), 10))
}
