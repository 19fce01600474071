// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// CEL counts what a match costs when it is over. These bounds hold before: a
// pattern can be an argument, and a few characters of one can stand for thousands
// of states.
const (
	// maxPattern is the longest pattern, in bytes.
	maxPattern = 1024
	// maxStates is how many states one may have.
	maxStates = 10_000
	// maxSteps is states of a pattern times bytes of a text.
	maxSteps = 4 << 20
	// maxPatterns are remembered.
	maxPatterns = 256
)

var errCostly = errors.New("actual cost limit exceeded: matches would take too many steps")

// pattern is a compiled pattern and how many states it has.
type pattern struct {
	regex  *regexp.Regexp
	states int
}

// patterns are those that were used last. When there are too many, all are
// forgotten.
var patterns struct {
	mu    sync.RWMutex
	known map[string]*pattern
}

// compiled returns the pattern of a text.
func compiled(text string) (*pattern, error) {
	patterns.mu.RLock()
	p := patterns.known[text]
	patterns.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := newPattern(text)
	if err != nil {
		return nil, err
	}
	patterns.mu.Lock()
	defer patterns.mu.Unlock()
	if len(patterns.known) >= maxPatterns || patterns.known == nil {
		patterns.known = map[string]*pattern{}
	}
	patterns.known[text] = p
	return p, nil
}

func newPattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, errCostly
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("no regular expression: %w", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("no regular expression: %w", err)
	}
	if len(prog.Inst) > maxStates {
		return nil, errCostly
	}
	regex, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("no regular expression: %w", err)
	}
	return &pattern{regex, len(prog.Inst)}, nil
}

// matching puts bounded matches in the place of CEL's.
func matching() cel.EnvOption {
	args := []*cel.Type{cel.StringType, cel.StringType}
	return cel.Function("matches",
		cel.Overload("matches", args, cel.BoolType), cel.MemberOverload("matches_string", args, cel.BoolType),
		cel.SingletonBinaryBinding(match))
}

func match(text, given ref.Val) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	of, ok := given.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(given)
	}
	p, err := compiled(string(of))
	if err == nil && len(s) > maxSteps/p.states {
		err = errCostly
	}
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(p.regex.MatchString(string(s)))
}

// steps is how many steps a match took, at most. One that was refused took as many
// as its pattern is long.
func steps(text, given ref.Val) int {
	of, ok := given.(types.String)
	if !ok {
		return 0
	}
	p, err := compiled(string(of))
	if err != nil {
		return maxPattern * stepped
	}
	return min(p.states*(length(text)+1), maxSteps)
}
