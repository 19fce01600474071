// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// maxExpression is the longest text of a condition, in bytes.
const maxExpression = 4096

// When is a condition on a call, in CEL. It is immutable.
type When struct {
	text    string
	program cel.Program
	// known judges what is known without a call; nil: the condition needs no call.
	known cel.Program
	args  []string
}

// environment is what conditions are written in. It is made for the first of them:
// a host that has none does not pay for it.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	text, texts := cel.StringType, cel.ListType(cel.StringType)
	object := cel.MapType(cel.StringType, cel.DynType)
	// The parts are variables of their own, so that one that does not exist is a
	// fault of the file, and tool and principal alone can be their names.
	own := env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction("matches"))
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(own)), cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), matching(), cel.ASTValidators(cel.ValidateRegexLiterals()),
		cel.Variable("tool", text), cel.Variable("tool.name", text), cel.Variable("tool.adapter", text),
		cel.Variable("tool.effects", text), cel.Variable("tool.idempotent", cel.BoolType), cel.Variable("tool.tags", texts),
		cel.Variable("args", object),
		cel.Variable("principal", text), cel.Variable("principal.kind", text), cel.Variable("principal.client_id", text),
		cel.Variable("principal.issuer", text), cel.Variable("principal.subject", text),
		cel.Variable("principal.scopes", texts), cel.Variable("principal.claims", object),
		cel.Variable("run", text), cel.Variable("now", cel.TimestampType),
	)
})

// ofCall are the variables that only a call has.
var ofCall = []string{"args", "run", "now"}

// NewWhen compiles a condition, whose value is true or false.
func NewWhen(expression string) (*When, error) {
	if len(expression) > maxExpression {
		return nil, fmt.Errorf("has more than %d bytes", maxExpression)
	}
	words, err := environment()
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	checked, issues := words.Compile(expression)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("is no CEL expression over tool, args, principal, run and now: character %d: %s",
			first.Location.Column()+1, strings.Join(strings.Fields(first.Message), " "))
	}
	if t := checked.OutputType(); t != cel.BoolType && t != cel.DynType {
		return nil, fmt.Errorf("must be true or false, gives %s", cel.FormatCELType(t))
	}
	w := &When{text: expression, args: argsOf(checked.NativeRep())}
	if w.program, err = program(words, checked); err != nil {
		return nil, err
	}
	for _, r := range checked.NativeRep().ReferenceMap() {
		if slices.Contains(ofCall, r.Name) {
			if w.known, err = program(words, checked, cel.EvalOptions(cel.OptPartialEval)); err != nil {
				return nil, err
			}
			break
		}
	}
	return w, nil
}

func program(words *cel.Env, checked *cel.Ast, more ...cel.ProgramOption) (cel.Program, error) {
	p, err := words.Program(checked, append(more, cel.CostLimit(maxCost), cel.CostTracking(toll{}))...)
	if err != nil {
		return nil, fmt.Errorf("is no condition: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return p, nil
}

// argsOf are the arguments that an expression looks at by name, sorted.
func argsOf(a *ast.AST) (args []string) {
	of := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "args" }
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			if s := e.AsSelect(); of(s.Operand()) {
				args = append(args, s.FieldName())
			}
		case ast.CallKind:
			c := e.AsCall()
			indexed := c.FunctionName() == "_[_]" || c.FunctionName() == "_[?_]" || c.FunctionName() == "_?._"
			if indexed && len(c.Args()) == 2 && of(c.Args()[0]) && c.Args()[1].Kind() == ast.LiteralKind {
				if name, ok := c.Args()[1].AsLiteral().Value().(string); ok {
					args = append(args, name)
				}
			}
		default:
		}
	}))
	slices.Sort(args)
	return slices.Compact(args)
}

// Holds reports whether the condition is true of a call.
func (w *When) Holds(c *tool.Case) (bool, error) {
	out, _, err := w.program.Eval(&facts{spec: c.Spec, who: &c.Principal, call: c})
	if err != nil {
		return false, short(err)
	}
	return truth(out)
}

// truth is a value as a condition's.
func truth(v ref.Val) (bool, error) {
	if b, ok := v.(types.Bool); ok {
		return bool(b), nil
	}
	return false, fmt.Errorf("it gave %s, not true or false", v.Type().TypeName())
}

// short bounds what is said of an evaluation: it may quote an argument.
func short(err error) error {
	const most = 200
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return errors.New(s)
}

// could is what is known of a condition before there is a call.
type could int

const (
	never  could = iota // false, whatever the call
	always              // true, whatever the call
	some                // it hangs on the call
	fails               // it cannot be judged, whatever the call
)

// Could says what is known of the condition for a principal's calls of a tool.
func (w *When) could(who *tool.Principal, s *tool.Spec) could {
	f := &facts{spec: s, who: who}
	program, vars := w.program, any(f)
	if w.known != nil {
		patterns := make([]*cel.AttributePatternType, 0, len(ofCall))
		for _, v := range ofCall {
			patterns = append(patterns, cel.AttributePattern(v))
		}
		partial, err := cel.PartialVars(f, patterns...)
		if err != nil {
			return fails
		}
		program, vars = w.known, partial
	}
	out, _, err := program.Eval(vars)
	switch {
	case err != nil:
		return fails
	case types.IsUnknown(out):
		return some
	}
	switch b, err := truth(out); {
	case err != nil:
		return fails
	case b:
		return always
	}
	return never
}

// facts are the variables of one call.
type facts struct {
	spec *tool.Spec
	who  *tool.Principal
	call *tool.Case // nil: there is none
	args any        // as expressions see them, once they were asked for
}

var _ cel.Activation = (*facts)(nil)

// Parent is nil: there is nothing beside.
func (*facts) Parent() cel.Activation { return nil }

// ResolveName returns the value of a variable.
func (f *facts) ResolveName(name string) (any, bool) {
	switch name {
	case "tool", "tool.name":
		return f.spec.Name, true
	case "tool.adapter":
		return f.spec.Adapter, true
	case "tool.effects":
		return string(f.spec.Effects.Effective()), true
	case "tool.idempotent":
		return f.spec.Idempotent, true
	case "tool.tags":
		return f.spec.Tags, true
	case "principal":
		return f.who.String(), true
	case "principal.kind":
		return kindOf(f.who), true
	case "principal.client_id":
		return f.who.ClientID, true
	case "principal.issuer":
		return f.who.Issuer, true
	case "principal.subject":
		return f.who.Subject, true
	case "principal.scopes":
		return f.who.Scopes, true
	case "principal.claims":
		return values("the token's claims", f.who.Claims), true
	}
	if f.call == nil {
		return nil, false
	}
	switch name {
	case "args":
		if f.args == nil {
			f.args = values("the arguments", f.call.Args)
		}
		return f.args, true
	case "run":
		return f.call.RunID, true
	case "now":
		return f.call.Started.UTC().Truncate(time.Microsecond), true
	}
	return nil, false
}

func kindOf(p *tool.Principal) string {
	if p.IsAnonymous() {
		return "anonymous"
	}
	return string(p.Kind)
}

// values is one object as expressions see it, or an error that ends the evaluation.
func values(what string, j tool.JSON) any {
	if j.IsZero() {
		return map[string]any{}
	}
	v, err := j.Exact()
	if err != nil {
		return types.WrapErr(fmt.Errorf("%s: %w", what, err))
	}
	return v
}

// Args are the arguments that the condition looks at by name, sorted.
func (w *When) Args() []string { return w.args }
