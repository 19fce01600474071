// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// step is one thing that happens to the slots of an adapter: a principal's claim
// with this max, or the end of one that holds (release) or waits (leave), picked by n.
type step struct {
	What, Who string
	N         int
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		What: rapid.SampledFrom([]string{"claim", "claim", "release", "leave"}).Draw(t, "what"),
		Who:  rapid.SampledFrom([]string{"eve", "eve", "eve", "ann", "bob"}).Draw(t, "who"),
		N:    rapid.IntRange(1, 4).Draw(t, "n"),
	}
}), 1, 60)

// model is what Slots should do, without concurrency: one list of all that wait, in
// the order in which they came, and one of the principals that wait.
type model struct {
	max                   int
	held, waiting, pushed []*claim
	order                 []string
}

func (m *model) handOn() {
	for len(m.waiting) > 0 && len(m.held) < m.max {
		who := m.order[0]
		i := slices.IndexFunc(m.waiting, func(c *claim) bool { return c.who == who })
		m.held = append(m.held, m.waiting[i])
		m.waiting = slices.Delete(m.waiting, i, i+1)
		if m.order = m.order[1:]; m.count(who) > 0 {
			m.order = append(m.order, who)
		}
	}
}

func (m *model) count(who string) (n int) {
	for _, c := range m.waiting {
		if c.who == who {
			n++
		}
	}
	return n
}

// fair pushes out the last of whoever has most waiting, the first of them in turn,
// if that is two more than who has.
func (m *model) fair(who string) bool {
	most := m.order[0]
	for _, one := range m.order {
		if m.count(one) > m.count(most) {
			most = one
		}
	}
	if m.count(most) < m.count(who)+2 {
		return false
	}
	for i, c := range slices.Backward(m.waiting) {
		if c.who == most {
			m.waiting, m.pushed = slices.Delete(m.waiting, i, i+1), append(m.pushed, c)
			break
		}
	}
	return true
}

// left is what waits without one that has gone.
func (m *model) left(c *claim) {
	if m.count(c.who) == 0 {
		m.order = slices.DeleteFunc(m.order, func(who string) bool { return who == c.who })
	}
}

// claim returns whether it is refused.
func (m *model) claim(c *claim, max int) bool {
	m.max = max
	m.handOn()
	switch {
	case len(m.held) < max:
		m.held = append(m.held, c)
	case len(m.waiting) >= queueFactor*max && !m.fair(c.who):
		return true
	default:
		if m.count(c.who) == 0 {
			m.order = append(m.order, c.who)
		}
		m.waiting = append(m.waiting, c)
	}
	return false
}

func pick(claims []*claim, n int) (*claim, []*claim) {
	if len(claims) == 0 {
		return nil, claims
	}
	i := n % len(claims)
	return claims[i], slices.Delete(slices.Clone(claims), i, i+1)
}

func TestSlotsDoWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		script := steps.Draw(r, "steps")
		var differs string
		synctest.Test(t, func(t *testing.T) { differs = compare(t, script) })
		if differs != "" {
			r.Fatal(differs)
		}
	})
}

// compare runs a script and returns where the slots differ from the model.
func compare(t *testing.T, script []step) string {
	t.Helper()
	var s Slots
	var m model
	var all []*claim
	released := map[*claim]bool{}
	defer func() { // let everybody go
		for _, c := range all {
			c.cancel()
		}
		synctest.Wait()
		for _, c := range all {
			if c.holds() && !released[c] {
				c.release()
			}
		}
		expectIdle(t, &s)
	}()
	for i, st := range script {
		var c *claim
		switch st.What {
		case "claim":
			c = acquireFor(t.Context(), &s, "orders", st.Who, st.N)
			all = append(all, c)
			if refused := m.claim(c, st.N); refused != (c.over && c.err != nil) {
				return fmt.Sprintf("step %d: refused is %v by the model", i, refused)
			}
		case "release":
			if c, m.held = pick(m.held, st.N); c != nil {
				c.release()
				released[c] = true
				m.handOn()
			}
		case "leave":
			if c, m.waiting = pick(m.waiting, st.N); c != nil {
				m.left(c)
				c.cancel()
			}
		}
		synctest.Wait()
		for _, c := range m.held {
			if !c.holds() {
				return fmt.Sprintf("step %d: a claim that should hold a slot does not", i)
			}
		}
		for _, c := range m.pushed {
			if !c.over || c.err == nil {
				return fmt.Sprintf("step %d: a claim that should be pushed out is not", i)
			}
		}
		for _, c := range m.waiting {
			if c.over {
				return fmt.Sprintf("step %d: a claim that should wait does not", i)
			}
		}
	}
	return ""
}
