// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/debug"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// misfit says what of a condition does not fit the arguments that a tool takes, and
// so denies a call of it; empty if nothing is known to. What CEL's type checker
// objects to is said only if there is a call, good by the tool's schema, that the
// condition cannot judge because of it: much of it, such as a text that is compared
// by == with a number, can be judged.
func (w *When) misfit(s *tool.Spec) string {
	words, err := environment()
	if err != nil {
		return ""
	}
	root := argsOfTool(s.Input)
	var doubts []doubt
	readings := 1
	for i := 0; i < readings; i++ {
		found, more, err := w.doubts(words, root, i)
		if err != nil {
			return ""
		}
		doubts, readings = append(doubts, found...), max(readings, more)
	}
	if len(doubts) == 0 {
		return ""
	}
	good, err := schema.Compile(s.Input, schema.Input)
	if err != nil {
		return ""
	}
	t, err := w.trial(words, s, doubts)
	if err != nil {
		return ""
	}
	for args := range root.calls(w.args, t.literals) {
		if good.Validate(args) != nil {
			continue
		}
		if d := t.fails(args); d != nil {
			same := slices.DeleteFunc(slices.Clone(doubts), func(other doubt) bool { return other.id != d.id })
			return d.inWords(s.Name, len(same) == readings)
		}
	}
	return ""
}

// doubt is something that CEL's type checker objects to.
type doubt struct {
	expr    ast.Expr
	id      int64
	message string
	typeOf  map[int64]*types.Type
}

// missing is the argument that there is none of, empty if the doubt is another one.
func (d *doubt) missing() string {
	name, ok := strings.CutPrefix(d.message, "undefined field '")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "'")
}

// doubts are what the type checker objects to if args are of a tool's types, in one
// reading of how many.
func (w *When) doubts(words *cel.Env, root *argType, reading int) (found []doubt, readings int, err error) {
	parsed, issues := words.Parse(w.text)
	if issues.Err() != nil {
		return nil, 0, issues.Err()
	}
	a := parsed.NativeRep()
	named(a.Expr())
	provider := newArgTypes(root, reading)
	e, err := checker.NewEnv(containers.DefaultContainer, provider, checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, 0, err
	}
	for _, v := range words.Variables() {
		if v.Name() == "args" {
			v = decls.NewVariable("args", provider.args)
		}
		if err := e.AddIdents(v); err != nil {
			return nil, 0, err
		}
	}
	for _, f := range words.Functions() {
		if err := e.AddFunctions(f); err != nil {
			return nil, 0, err
		}
	}
	checked, errs := checker.Check(a, common.NewTextSource(w.text), e)
	byID := map[int64]ast.Expr{}
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) { byID[e.ID()] = e }))
	for _, e := range errs.GetErrors() {
		found = append(found, doubt{byID[e.ExprID], e.ExprID, e.Message, checked.TypeMap()})
	}
	if t := checked.GetType(checked.Expr().ID()); len(found) == 0 && t.Kind() != types.BoolKind && t.Kind() != types.DynKind {
		found = append(found, doubt{checked.Expr(), checked.Expr().ID(), "expected type 'bool'", checked.TypeMap()})
	}
	return found, provider.readings(), nil
}

// named writes members that are named by a literal as others are: args["a"] is
// args.a.
func named(root ast.Expr) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		c := e.AsCall()
		of, key := c.Args()[0], c.Args()[1]
		if key.Kind() != ast.LiteralKind {
			return
		}
		name, ok := key.AsLiteral().(types.String)
		if !ok {
			return
		}
		switch c.FunctionName() {
		case operators.Index:
			e.SetKindCase(factory.NewSelect(e.ID(), of, string(name)))
		case operators.OptIndex:
			e.SetKindCase(factory.NewCall(e.ID(), operators.OptSelect, of, key))
		}
	}))
}

// trial holds a condition against calls.
type trial struct {
	spec     *tool.Spec
	program  cel.Program
	root     ast.Expr
	literals []ref.Val
	doubts   []doubt
	// open are the parts that hang on the caller or the time, and not on arguments;
	// equal ones have one number. Either may be the case.
	open map[int64]int
}

// maxOpen is how many parts may hang on the caller.
const maxOpen = 4

// trial returns nil if nothing can be said without knowing the caller.
func (w *When) trial(words *cel.Env, s *tool.Spec, doubts []doubt) (*trial, error) {
	checked, issues := words.Compile(w.text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	t := &trial{spec: s, root: checked.NativeRep().Expr(), doubts: doubts, open: map[int64]int{}}
	ast.PostOrderVisit(t.root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.LiteralKind {
			t.literals = append(t.literals, e.AsLiteral())
		}
	}))
	numbers, asked := map[string]int{}, map[string]string{}
	for _, e := range parts(t.root) {
		of := variables(e)
		text := debug.ToDebugString(e)
		outside := false
		for name := range of {
			if name != "args" && !strings.HasPrefix(name, "tool") {
				// Two parts about one thing may rule each other out.
				if other, ok := asked[name]; ok && other != text || name == "principal" && len(asked) > 0 || asked["principal"] != "" && asked["principal"] != text {
					return nil, errRelated
				}
				asked[name], outside = text, true
			}
		}
		if !outside || of["args"] {
			continue
		}
		if _, ok := numbers[text]; !ok {
			numbers[text] = len(numbers)
		}
		t.open[e.ID()] = numbers[text]
	}
	if len(numbers) > maxOpen {
		return nil, errRelated
	}
	var err error
	t.program, err = program(words, checked, cel.EvalOptions(cel.OptExhaustiveEval))
	return t, err
}

// errRelated is a condition of which callers decide too much.
var errRelated = errors.New("it hangs on the caller")

// parts are what a condition is put together from by not, and, or and choice.
func parts(e ast.Expr) []ast.Expr {
	if e.Kind() == ast.CallKind {
		switch e.AsCall().FunctionName() {
		case operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr, operators.Conditional:
			var all []ast.Expr
			for _, a := range e.AsCall().Args() {
				all = append(all, parts(a)...)
			}
			return all
		}
	}
	return []ast.Expr{e}
}

// variables are those that a part looks at.
func variables(e ast.Expr) map[string]bool {
	of := map[string]bool{}
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			name, _, _ := strings.Cut(e.AsIdent(), ".")
			if slices.Contains([]string{"args", "principal", "run", "now", "tool"}, name) {
				of[e.AsIdent()] = true
			}
		}
	}))
	return of
}

// fails reports whether a call cannot be judged, by some caller at some time, and
// because of which doubt; nil: it can, or something else stands in the way.
func (t *trial) fails(args tool.JSON) *doubt {
	who := tool.Principal{Kind: tool.Token, ClientID: "a", Issuer: "a", Subject: "a", Scopes: []string{"a"}}
	_, details, _ := t.program.Eval(&facts{spec: t.spec, who: &who, call: &tool.Case{
		Call: &tool.Call{Principal: who}, Spec: t.spec, Args: args, RunID: "a", Started: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
	}})
	if details == nil || details.State() == nil {
		return nil
	}
	for chosen := range 1 << maxOpen {
		if o := t.outcome(t.root, details.State(), chosen); o.end == misfit {
			return o.why
		}
	}
	return nil
}

// outcome is what a part of a condition comes to.
type outcome struct {
	end end
	why *doubt // of a misfit
}

type end int

const (
	yes end = iota
	no
	misfit  // an error, of which a doubt has warned
	another // an error of another kind, or nobody knows
)

// outcome is what a part comes to for one call and one choice of what is open, a bit
// for each.
func (t *trial) outcome(e ast.Expr, state interpreter.EvalState, chosen int) outcome {
	if e.Kind() == ast.CallKind {
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.LogicalNot:
			if o := t.outcome(args[0], state, chosen); o.end != another {
				return o.not()
			}
		case operators.LogicalAnd:
			return t.outcome(args[0], state, chosen).and(t.outcome(args[1], state, chosen))
		case operators.LogicalOr:
			return t.outcome(args[0], state, chosen).not().and(t.outcome(args[1], state, chosen).not()).not()
		case operators.Conditional:
			o := t.outcome(args[0], state, chosen)
			switch o.end {
			case yes:
				o = t.outcome(args[1], state, chosen)
			case no:
				o = t.outcome(args[2], state, chosen)
			case misfit, another:
			}
			if o.end != another {
				return o
			}
		}
	}
	if number, ok := t.open[e.ID()]; ok {
		return outcome{end: end(chosen >> number & 1)}
	}
	v, found := state.Value(e.ID())
	if e.Kind() == ast.LiteralKind {
		v, found = e.AsLiteral(), true
	}
	if b, ok := v.(types.Bool); found && ok {
		if b {
			return outcome{end: yes}
		}
		return outcome{end: no}
	}
	if why := t.doubted(e, v, state); why != nil {
		return outcome{misfit, why}
	}
	return outcome{end: another}
}

// not is the outcome of a negation.
func (o outcome) not() outcome {
	switch o.end {
	case yes:
		o.end = no
	case no:
		o.end = yes
	case misfit, another:
	}
	return o
}

// and is that of a conjunction: what is false makes up for any error, and of errors
// the first is told.
func (o outcome) and(p outcome) outcome {
	if o.end == no || p.end != no && o.end != yes {
		return o
	}
	return p
}

// doubted is the doubt that warned of what a part came to.
func (t *trial) doubted(e ast.Expr, v ref.Val, state interpreter.EvalState) *doubt {
	ids := map[int64]bool{}
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { ids[e.ID()] = true }))
	said := "no such overload: expected type 'bool'" // whatever it is, it is not true or false
	if err, ok := v.(*types.Err); ok {
		said = err.Error()
	}
	var found *doubt
	for i := range t.doubts {
		d := &t.doubts[i]
		if !ids[d.id] || !d.warnsOf(said) {
			continue
		}
		if at, ok := state.Value(d.id); ok && types.IsError(at) {
			return d
		}
		if found == nil {
			found = d
		}
	}
	return found
}

// warnsOf reports whether a doubt is about a fault of judging.
func (d *doubt) warnsOf(said string) bool {
	if name := d.missing(); name != "" {
		return strings.Contains(said, "no such key: "+name)
	}
	faults := []string{"no such overload", "iterable type", "unsupported index", "expected type 'bool'"}
	if strings.Contains(d.message, "field selection") || strings.Contains(d.message, "'_[_]'") {
		faults = append(faults, "no such key")
	}
	return slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(said, fault) })
}

// inWords says what does not fit, always or for some of the numbers that there are.
func (d *doubt) inWords(name string, always bool) string {
	if missing := d.missing(); missing != "" {
		return fmt.Sprintf("%s takes no %s, which when looks at: such a call is denied", name, missing)
	}
	subject, what := d.expr, ""
	switch e := d.expr; {
	case e == nil:
	case strings.HasPrefix(d.message, "expected type 'bool'"):
		what = "it has to be true or false"
	case strings.Contains(d.message, "range of a comprehension"):
		what = "it is no list"
	case e.Kind() == ast.SelectKind:
		subject, what = e.AsSelect().Operand(), "it has no member "+e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind:
		subject, what = d.call(e)
	}
	if what == "" || spelled(subject) == "" {
		return fmt.Sprintf("when does not fit the arguments of %s: %s: such a call is denied", name, strings.Join(strings.Fields(d.message), " "))
	}
	is := "may be"
	if always {
		is = "is"
	}
	kind := word(d.typeOf[subject.ID()])
	if strings.HasPrefix(what, compared) {
		kind = compares(d.typeOf[subject.ID()])
	}
	return fmt.Sprintf("%s %s %s in %s; %s: such a call is denied", spelled(subject), is, kind, name, what)
}

// call says what a function is given that it does not take.
func (d *doubt) call(e ast.Expr) (subject ast.Expr, what string) {
	c := e.AsCall()
	given := slices.Clone(c.Args())
	if c.IsMemberFunction() {
		given = append([]ast.Expr{c.Target()}, given...)
	}
	at := max(0, slices.IndexFunc(given, func(e ast.Expr) bool { return spelled(e) != "" }))
	if len(given) == 0 {
		return nil, ""
	}
	var with []string
	for i, g := range given {
		if i != at {
			with = append(with, word(d.typeOf[g.ID()]))
		}
	}
	name, ok := operators.FindReverse(c.FunctionName())
	if !ok || name == "" {
		name = c.FunctionName()
	}
	switch {
	case slices.Contains([]string{operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals}, c.FunctionName()):
		what = compared + compares(d.typeOf[given[1-at].ID()])
	case len(with) == 0:
		what = name + " does not take it"
	default:
		what = name + " does not take it with " + strings.Join(with, " and ")
	}
	return given[at], what
}

// spelled is a chain of members as people write it, empty if it is none.
func spelled(e ast.Expr) string {
	if e == nil {
		return ""
	}
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if of := spelled(e.AsSelect().Operand()); of != "" && !e.AsSelect().IsTestOnly() {
			return of + "." + e.AsSelect().FieldName()
		}
	default:
	}
	return ""
}

// compared is how it is said of two that are.
const compared = "it is compared with "

// compares is a type in words where numbers of all kinds are alike.
func compares(t *types.Type) string {
	if t != nil && (t.Kind() == types.IntKind || t.Kind() == types.DoubleKind) {
		return "a number"
	}
	return word(t)
}

// word is a type in words.
func word(t *types.Type) string {
	if t == nil {
		return "something"
	}
	switch t.Kind() {
	case types.IntKind:
		return "a whole number"
	case types.DoubleKind:
		return "a number with a fraction"
	case types.StringKind:
		return "a string"
	case types.BoolKind:
		return "a boolean"
	case types.ListKind:
		return "a list"
	case types.MapKind, types.StructKind:
		return "an object"
	case types.NullTypeKind:
		return "null"
	case types.TimestampKind:
		return "a time"
	default:
		return cel.FormatCELType(t)
	}
}
