// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// parseLine reads a line of ExportJSONL. Names are taken exactly and once, and
// all of them must be known: a line that another reader could understand in
// another way would prove nothing.
func parseLine(line []byte) (*proofRow, error) {
	f, err := parseFields(line)
	if err != nil {
		return nil, err
	}
	row := &proofRow{}
	f.row(&row.Row)
	row.N = f.number("chain_n")
	row.prev, row.Hash = f.digest("prev"), f.digest("hash")
	row.excerpt = f.flag("excerpt")
	if raw, ok := f.take("bytes"); ok {
		f.broken(&row.Row, raw)
	}
	if raw, ok := f.take("checkpoint"); ok {
		in := f.inside("checkpoint", raw)
		row.head = &Checkpoint{
			Head:    Head{Host: row.Host, N: row.N, Hash: row.Hash},
			Anchors: in.heads("anchors"), Time: in.number("time"), Key: in.text("key"), Signature: in.base64("signature"),
		}
		f.close(in)
	}
	if raw, ok := f.take("cut"); ok {
		in := f.inside("cut", raw)
		row.cut = &Cut{
			Seq: in.number("seq"), Heads: in.heads("heads"), Anchors: in.heads("anchors"), By: in.text("by"),
			Time: in.number("time"), Key: in.text("key"), Signature: in.base64("signature"),
		}
		f.close(in)
	}
	return row, f.end()
}

// fields are the members of an object that are still to be read, and the first
// error.
type fields struct {
	raw map[string]json.RawMessage
	err error
}

func parseFields(raw []byte) (*fields, error) {
	if _, err := tool.ParseJSON(raw); err != nil {
		return nil, err
	}
	f := &fields{}
	if err := json.Unmarshal(raw, &f.raw); err != nil || f.raw == nil {
		return nil, errors.New("not an object")
	}
	return f, nil
}

// row reads what object.row has written.
func (f *fields) row(r *Row) {
	*r = Row{
		Seq: f.number("seq"), Host: f.text("host"), Call: f.text("call"), Run: f.text("run"),
		Attempt: int(f.number("attempt")), Started: f.time("started"), Ended: f.time("ended"),
		Principal: f.text("principal"), Op: tool.Op(f.text("op")), Tool: f.text("tool"), Adapter: f.text("adapter"),
		Effects: tool.Effects(f.text("effects")), Spec: f.digest("spec"), Args: f.digest("args"), Asked: f.digest("asked"),
		Approval: f.text("approval"), DecidedBy: f.text("decided_by"), Late: f.flag("late"),
		Outcome: Outcome(f.text("outcome")), Kind: tool.Kind(f.text("error_kind")), Code: f.text("error_code"),
		Detail: f.text("detail"), Ran: tool.Ran(f.text("ran")), Gate: f.text("gate"),
		ResultBytes: f.number("result_bytes"), Cost: f.text("cost"), Client: f.text("client"), Protocol: f.text("protocol"),
	}
}

// broken puts in the texts that are not UTF-8.
func (f *fields) broken(r *Row, raw json.RawMessage) {
	in := f.inside("bytes", raw)
	for name, to := range map[string]func(string){
		"host": func(s string) { r.Host = s }, "call": func(s string) { r.Call = s }, "run": func(s string) { r.Run = s },
		"principal": func(s string) { r.Principal = s }, "op": func(s string) { r.Op = tool.Op(s) },
		"tool": func(s string) { r.Tool = s }, "adapter": func(s string) { r.Adapter = s },
		"effects":  func(s string) { r.Effects = tool.Effects(s) },
		"approval": func(s string) { r.Approval = s }, "decided_by": func(s string) { r.DecidedBy = s },
		"outcome": func(s string) { r.Outcome = Outcome(s) }, "error_kind": func(s string) { r.Kind = tool.Kind(s) },
		"error_code": func(s string) { r.Code = s }, "detail": func(s string) { r.Detail = s },
		"ran": func(s string) { r.Ran = tool.Ran(s) }, "gate": func(s string) { r.Gate = s },
		"cost": func(s string) { r.Cost = s }, "client": func(s string) { r.Client = s },
		"protocol": func(s string) { r.Protocol = s },
	} {
		if _, ok := in.raw[name]; ok {
			to(string(in.base64(name)))
		}
	}
	f.close(in)
}

func (f *fields) fail(name, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%q is not %s", name, want)
	}
}

// take removes a member; null is none.
func (f *fields) take(name string) (json.RawMessage, bool) {
	raw, ok := f.raw[name]
	delete(f.raw, name)
	return raw, ok && string(raw) != "null"
}

func (f *fields) text(name string) (s string) {
	if raw, ok := f.take(name); ok && json.Unmarshal(raw, &s) != nil {
		f.fail(name, "a string")
	}
	return s
}

func (f *fields) flag(name string) (set bool) {
	if raw, ok := f.take(name); ok && json.Unmarshal(raw, &set) != nil {
		f.fail(name, "true or false")
	}
	return set
}

func (f *fields) number(name string) int64 {
	raw, ok := f.take(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f.fail(name, "a whole number")
	}
	return n
}

func (f *fields) time(name string) time.Time {
	s := f.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(timeFormat, s)
	if err != nil || t.Format(timeFormat) != s {
		f.fail(name, "a time in UTC with microseconds")
	}
	return t
}

func (f *fields) digest(name string) (d tool.Digest) {
	s := f.text(name)
	if s == "" {
		return d
	}
	d, err := parseDigest(s)
	if err != nil || d.String() != s {
		f.fail(name, `"sha256:" and 64 hex digits`)
	}
	return d
}

func (f *fields) base64(name string) []byte {
	b, err := base64.StdEncoding.Strict().DecodeString(f.text(name))
	if err != nil {
		f.fail(name, "base64")
	}
	return b
}

func (f *fields) heads(name string) []Head {
	var texts []string
	if raw, ok := f.take(name); ok && json.Unmarshal(raw, &texts) != nil {
		f.fail(name, "a list of heads")
	}
	var heads []Head
	for _, s := range texts {
		h, err := ParseHead(s)
		if err != nil {
			f.fail(name, "a list of heads")
		}
		heads = append(heads, h)
	}
	return heads
}

// inside reads an object inside this one; close takes over its error.
func (f *fields) inside(name string, raw json.RawMessage) *fields {
	in, err := parseFields(raw)
	if err != nil {
		f.fail(name, "an object")
		return &fields{}
	}
	return in
}

func (f *fields) close(in *fields) {
	if err := in.end(); err != nil && f.err == nil {
		f.err = err
	}
}

// end returns the first error, or one about what nobody has read.
func (f *fields) end() error {
	if f.err != nil {
		return f.err
	}
	for name := range f.raw {
		return fmt.Errorf("%q is not known", name)
	}
	return nil
}
