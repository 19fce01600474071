// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/duel"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
	"github.com/toolwharf/toolwharf/bench/internal/startup"
)

// Report is a whole run.
type Report struct {
	When     time.Time        `json:"when"`
	Go       string           `json:"go"` // version, system, architecture
	CPUs     int              `json:"cpus"`
	Protocol string           `json:"protocol"`
	Rounds   int              `json:"rounds"`
	Slice    string           `json:"slice"`
	Pairs    []*duel.Result   `json:"pairs"`
	Startup  []startup.Result `json:"startup,omitempty"`
	First    []Firsts         `json:"first,omitempty"`
}

// Firsts are the first calls of servers of one database.
type Firsts struct {
	Name    string          `json:"name"`
	Servers []startup.First `json:"servers"`
}

// New is the report of a run on this machine.
func New(rounds int, slice time.Duration, pairs []*duel.Result) Report {
	return Report{
		When: time.Now().UTC().Truncate(time.Second), Protocol: rpc.Version,
		Go:   fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		CPUs: runtime.NumCPU(), Rounds: rounds, Slice: slice.String(), Pairs: pairs,
	}
}

// WriteFile writes the report as JSON.
func (r Report) WriteFile(name string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644) //nolint:gosec // meant to be read by others
}

// WriteMarkdown writes the report as Markdown tables.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs. MCP %s over HTTP on 127.0.0.1; client and server share the machine. Medians of rounds: %d, of two alternating slices of %s.\n",
		r.Go, r.CPUs, r.Protocol, r.Rounds, r.Slice)
	for _, p := range r.Pairs {
		figures(&b, p)
		ratios(&b, p)
	}
	for _, f := range r.First {
		firsts(&b, f)
	}
	starts(&b, r.Startup)
	_, err := io.WriteString(w, b.String())
	return err
}

// firsts are the figures of first calls.
func firsts(b *strings.Builder, f Firsts) {
	const mb = 1 << 20
	fmt.Fprintf(b, "\n### %s: the first call\n\n| server | start to first call, ms | idle PSS MB |\n| --- | ---: | ---: |\n", f.Name)
	for _, s := range f.Servers {
		fmt.Fprintf(b, "| %s | %.0f | %s |\n", s.Name, s.Millis, known("%.1f", s.PSS/mb))
	}
}

// starts are the figures of starting, and what they are made of by difference: an
// adapter beside the host, and each further one beside the first.
func starts(b *strings.Builder, all []startup.Result) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n### Start and idle memory\n\n")
	b.WriteString("| adapters | sandbox | start to first tools/list, ms | host PSS MB | adapters PSS MB |\n" +
		"| ---: | --- | ---: | ---: | ---: |\n")
	const mb = 1 << 20
	for _, s := range all {
		fmt.Fprintf(b, "| %d | %s | %.0f | %s | %s |\n", s.Adapters, s.Sandbox, s.Millis, known("%.1f", s.HostPSS/mb), known("%.1f", s.RestPSS/mb))
	}
	last := all[len(all)-1]
	first := all[slices.IndexFunc(all, func(r startup.Result) bool { return r.Sandbox == last.Sandbox })]
	if more := last.Adapters - first.Adapters; more > 0 && last.RestPSS > 0 {
		fmt.Fprintf(b, "\nEach further adapter of the same binary (%s): %.1f MB.\n", last.Sandbox,
			(last.HostPSS+last.RestPSS-first.HostPSS-first.RestPSS)/float64(more)/mb)
	}
}

func figures(b *strings.Builder, p *duel.Result) {
	fmt.Fprintf(b, "\n### %s\n\n", p.Pair)
	b.WriteString("| clients | server | calls/s | p50 µs | p99 µs | server CPU µs/call | RSS MB | PSS MB | calls |\n")
	b.WriteString("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range p.Levels {
		figure(b, l.Clients, p.Baseline, l.Baseline)
		figure(b, l.Clients, p.Subject, l.Subject)
	}
}

func figure(b *strings.Builder, clients int, name string, s duel.Side) {
	const mb = 1 << 20
	fmt.Fprintf(b, "| %d | %s | %.0f | %.0f | %.0f | %s | %s | %s | %d |\n", clients, name,
		s.PerSecond.Median, s.P50.Median, s.P99.Median, known("%.0f", s.CPU.Median), known("%.1f", s.RSS.Median/mb), known("%.1f", s.PSS.Median/mb), s.Calls)
}

func ratios(b *strings.Builder, p *duel.Result) {
	fmt.Fprintf(b, "\n%s / %s, round by round: median (min to max)\n\n", p.Subject, p.Baseline)
	b.WriteString("| clients | calls/s | p50 | p99 | server CPU |\n")
	b.WriteString("| ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range p.Levels {
		fmt.Fprintf(b, "| %d | %s | %s | %s | %s |\n", l.Clients,
			times(l.Ratios.PerSecond), times(l.Ratios.P50), times(l.Ratios.P99), times(l.Ratios.CPU))
	}
}

// known leaves the cell empty where the figure could not be had.
func known(format string, v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

func times(s duel.Spread) string {
	if s == (duel.Spread{}) {
		return ""
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Min, s.Max)
}
