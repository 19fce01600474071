// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	words "github.com/toolwharf/toolwharf/host/internal/tool"
)

// echo is an argument that comes back in the result. What it comes back as can
// be judged.
type echo struct {
	tool     *tool
	property string
	kind     echoKind
	untyped  bool // the schema takes any value there: the tool passes it on
}

type echoKind int

const (
	textEcho echoKind = iota
	numberEcho
)

// What is sent to find echoes.
const (
	markText   = "conform-7f3a9c"
	markNumber = "731" // it may be taken for milliseconds or bytes
)

// maxEchoes is how many arguments of one tool are tried.
const maxEchoes = 8

// allEchoes finds the arguments that come back.
func (s *suite) allEchoes(ctx context.Context) []*echo {
	if s.sought {
		return s.echoes
	}
	tools, err := s.callable(ctx)
	if err != nil {
		return nil
	}
	s.sought = true
	for _, t := range tools {
		names, untyped := t.properties()
		for _, name := range names[:min(len(names), maxEchoes)] {
			for kind, mark := range []string{`"` + markText + `"`, markNumber} {
				e := &echo{t, name, echoKind(kind), untyped[name]}
				if r := s.sent(ctx, e, mark); says(r, strings.Trim(mark, `"`)) {
					s.echoes = append(s.echoes, e)
				}
			}
		}
	}
	return s.echoes
}

// sent is the result of a call with a value in the echo's place, nil if there is
// none.
func (s *suite) sent(ctx context.Context, e *echo, value string) *words.Result {
	args, ok := e.tool.with(e.property, json.RawMessage(value))
	if !ok {
		return nil
	}
	m, err := s.ready(ctx)
	if err != nil {
		return nil
	}
	a, err := s.call(ctx, m, request(e.tool.GetName(), args))
	if err != nil {
		return nil
	}
	return a.result()
}

// echoOf is an echo of that kind, nil if there is none.
func (s *suite) echoOf(ctx context.Context, kind echoKind) *echo {
	for _, e := range s.allEchoes(ctx) {
		if e.kind == kind {
			return e
		}
	}
	return nil
}

var errNoEcho = unjudgedf("no tool that may be called gives back what it gets, so there is nothing to compare")

// echoing are the echoes of a kind, or why there is nothing to judge.
func (s *suite) echoing(ctx context.Context, kind echoKind) ([]*echo, error) {
	if _, err := s.callable(ctx); err != nil {
		return nil, err
	}
	var out []*echo
	for _, e := range s.allEchoes(ctx) {
		if e.kind == kind {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, errNoEcho
	}
	return out, nil
}

// numerals are sent to see whether their digits survive: an integer that binary
// floating point does not have, and a decimal whose last digit it drops.
var numerals = []struct {
	text  string
	exact bool // only as it was written, not another numeral of the same value
}{{"9007199254740993", false}, {"81529.4730", true}}

func (s *suite) digits(ctx context.Context) error {
	echoes, err := s.echoing(ctx, numberEcho)
	if err != nil {
		return err
	}
	judged := false
	for _, e := range echoes {
		for _, n := range numerals {
			near := nearest(texts(s.sent(ctx, e, n.text)), n.text)
			if near == "" {
				continue
			}
			judged = true
			if near != n.text && (n.exact && e.untyped || !sameNumber(near, n.text)) {
				return fmt.Errorf("%s: %s was sent as %q and came back as %s", e.tool.GetName(), n.text, e.property, near)
			}
		}
	}
	if !judged {
		return errNoEcho
	}
	return nil
}

// nearest is the number among texts that is meant by a numeral: the numeral
// itself, or one that is nearly of its value. Empty: none.
func nearest(all []string, numeral string) string {
	want, _ := new(big.Float).SetString(numeral)
	near := ""
	for _, text := range all {
		if text == numeral {
			return text
		}
		got, ok := new(big.Float).SetString(strings.TrimSpace(text))
		if !ok || got.IsInf() {
			continue
		}
		apart := new(big.Float).Quo(new(big.Float).Sub(got, want), want)
		if apart.Abs(apart).Cmp(big.NewFloat(1e-6)) < 0 {
			near = text
		}
	}
	return near
}

func sameNumber(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, also := new(big.Rat).SetString(b)
	return ok && also && x.Cmp(y) == 0
}

// scripts are texts that are easily spoilt.
var scripts = []string{
	"Grüße, \u4f60\u597d, שלום, 🚢👩\u200d🚀, e\u0301 and \u00e9, \u2028\u2029",
	`quotes " ' and \ and </script> and ${HOME} and %s`,
	"line\nbreak\r\n\ttab \u0001",
}

func (s *suite) unicode(ctx context.Context) error {
	echoes, err := s.echoing(ctx, textEcho)
	if err != nil {
		return err
	}
	judged := false
	for _, e := range echoes {
		for _, script := range scripts {
			value, err := json.Marshal(script)
			if err != nil {
				return err
			}
			r := s.sent(ctx, e, string(value))
			if r == nil {
				continue // refused, or not valid by the schema
			}
			judged = true
			if !says(r, script) {
				return fmt.Errorf("%s: %q was sent as %q and did not come back", e.tool.GetName(), script, e.property)
			}
		}
	}
	if !judged {
		return errNoEcho
	}
	return nil
}

func (s *suite) largeResults(ctx context.Context) error {
	echoes, err := s.echoing(ctx, textEcho)
	if err != nil {
		return err
	}
	for _, e := range echoes {
		args, ok := e.tool.with(e.property, quoted(5*mebi))
		if !ok {
			continue
		}
		m, err := s.ready(ctx)
		if err != nil {
			return err
		}
		a, err := s.call(ctx, m, request(e.tool.GetName(), args))
		switch {
		case err != nil:
			return toolFault(e.tool, "a result of 5 MiB", err)
		case a.err != nil && a.err.Kind != words.ResultTooLarge:
			return toolFault(e.tool, "a result of 5 MiB", a.err)
		case a.err == nil && !says(a.result(), strings.Repeat("x", 5*mebi)):
			return toolFault(e.tool, "a result of 5 MiB", errors.New("it did not arrive whole"))
		}
		return nil
	}
	return unjudgedf("no argument that comes back may be so large")
}

// resultLimit tells a fresh plugin of a small limit.
func (s *suite) resultLimit(ctx context.Context) error {
	const most, sent = 4 << 10, 64 << 10
	echoes, err := s.echoing(ctx, textEcho)
	if err != nil {
		return err
	}
	for _, e := range echoes {
		args, ok := e.tool.with(e.property, quoted(sent))
		if !ok {
			continue
		}
		l := limits()
		l.MaxResultBytes, l.CallTimeout = most, durationpb.New(s.bounds.call)
		m, err := s.configured(ctx, l)
		if err != nil {
			return err
		}
		defer m.end()
		a, err := s.call(ctx, m, request(e.tool.GetName(), args))
		if err != nil {
			return toolFault(e.tool, "a result beyond max_result_bytes", err)
		}
		if n := size(a.result()); n > most {
			return fmt.Errorf("%s: max_result_bytes is %d, and the result has %d; the error RESULT_TOO_LARGE says so at the source",
				e.tool.GetName(), most, n)
		}
		return nil
	}
	return unjudgedf("no argument that comes back may be so large")
}

// size is what a result weighs against max_result_bytes.
func size(r *words.Result) int {
	if r == nil {
		return 0
	}
	n := len(r.Structured)
	for _, c := range r.Content {
		switch c := c.(type) {
		case *words.Text:
			n += len(c.Text)
		case *words.Blob:
			n += len(c.Data)
		case *words.Embedded:
			n += len(c.Text) + len(c.Blob)
		}
	}
	return n
}
