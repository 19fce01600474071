// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/mysql"
	"github.com/sqlc-dev/marino/types"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// maxNodes is how deep nodes may nest, which parentheses do not bound: NOT NOT,
// CASE CASE, or a sum of many terms.
const maxNodes = 2000

// judge walks one statement.
type judge struct {
	guard     *Guard
	tables    map[engine.Name]bool
	functions map[string]bool
	params    int
	shape     []string // kept only where texts are compared
}

func (j *judge) statement(tree ast.StmtNode) error {
	return j.walk(reflect.ValueOf(tree), nil, 0)
}

func (j *judge) verdict() *verdict {
	return &verdict{
		Verdict: engine.Verdict{
			Tables: slices.SortedFunc(maps.Keys(j.tables), func(a, b engine.Name) int {
				return cmp.Or(strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
			}),
			Functions: slices.Sorted(maps.Keys(j.functions)),
			Params:    j.params,
		},
		shape: j.shape,
	}
}

// walk judges v and what it holds.
func (j *judge) walk(v reflect.Value, s *scope, depth int) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return j.walk(v.Elem(), s, depth)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := j.walk(v.Index(i), s, depth); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		return j.node(v, s, depth+1)
	case reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return engine.ConstructNotAllowed("a part of a statement that is not known here")
	}
	j.note(v)
	return nil
}

// note keeps a plain value for the comparison of two statements.
func (j *judge) note(v reflect.Value) {
	if j.guard.policy.Strip {
		j.shape = append(j.shape, fmt.Sprint(v))
	}
}

// node judges a struct and walks its fields.
func (j *judge) node(v reflect.Value, s *scope, depth int) error {
	name := v.Type().Name()
	switch {
	case leaves[name]:
		j.note(v)
		return nil
	case !nodes[name]:
		return refused(name)
	case depth > maxNodes:
		return engine.ConstructNotAllowed("nesting this deep")
	case !v.CanAddr() || !v.Addr().CanInterface():
		return engine.ConstructNotAllowed("a part of a statement that is not known here")
	}
	if j.guard.policy.Strip && name != "ParenthesesExpr" {
		j.shape = append(j.shape, name)
	}
	if err := j.check(v.Addr().Interface(), s); err != nil {
		return err
	}
	s, err := j.with(v, s, depth)
	if err != nil {
		return err
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if positions[field.Name] || field.Type == withClause {
			continue
		}
		if err := j.walk(v.Field(i), s, depth); err != nil {
			return err
		}
	}
	return nil
}

func refused(node string) error {
	if what, ok := constructs[node]; ok {
		return engine.ConstructNotAllowed(what)
	}
	node = strings.TrimSuffix(strings.TrimSuffix(node, "Stmt"), "Expr")
	return engine.ConstructNotAllowed("the construct " + node)
}

// check judges what a node says by itself.
func (j *judge) check(node any, s *scope) error {
	switch n := node.(type) {
	case *ast.TableName:
		return j.table(n, s)
	case *ast.FuncCallExpr:
		return j.function(n.Schema.O, n.FnName.O)
	case *ast.AggregateFuncExpr:
		return j.function("", n.F)
	case *ast.WindowFuncExpr:
		return j.function("", n.Name)
	case *ast.JSONValueExpr:
		return cmpErr(j.function("", "json_value"), castTo(n.Returning))
	case *ast.JSONTableExpr:
		return j.function("", "json_table")
	case *ast.JSONTableColumn:
		return castTo(n.Tp)
	case *ast.FuncCastExpr:
		return cmpErr(j.function("", "cast"), castTo(n.Tp))
	case *ast.ValueExprBase:
		return literal(&n.Type)
	case *ast.ParamMarkerExprBase:
		j.params++
	case *ast.VariableExpr:
		return variable(n)
	case *ast.SelectStmtOpts:
		return options(n)
	}
	return nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// table permits the table of an allowed name. Names of a WITH stand before
// those of the database, where they are in scope and have no database.
func (j *judge) table(n *ast.TableName, s *scope) error {
	if n.Schema.O == "" && s.has(j.guard.fold(n.Name.O)) {
		return nil
	}
	t := j.guard.table(n.Schema.O, n.Name.O)
	if !j.guard.mayRead(t) {
		return engine.TableNotAllowed(engine.Name{Schema: n.Schema.O, Name: n.Name.O}.String())
	}
	j.tables[t] = true
	return nil
}

func (j *judge) function(database, name string) error {
	if what, ok := literals[name]; ok && database == "" {
		name = what
	}
	f := j.guard.function(database, name)
	switch {
	case database == "" && functions[f.Name]:
		j.functions[f.Name] = true
	case j.guard.functions[f]:
		j.functions[f.String()] = true
	default:
		return engine.FunctionNotAllowed(engine.Name{Schema: database, Name: name}.String())
	}
	return nil
}

func castTo(t *types.FieldType) error {
	if t != nil && (!castable[t.GetType()] || t.IsArray()) {
		return engine.ConstructNotAllowed("a cast to type " + t.String())
	}
	return nil
}

func literal(t *types.FieldType) error {
	if cs := t.GetCharset(); cs != "" && !charsets[strings.ToLower(cs)] {
		return engine.ConstructNotAllowed("a literal in character set " + cs)
	}
	return nil
}

func variable(n *ast.VariableExpr) error {
	if !n.IsSystem || n.Value != nil {
		return engine.ConstructNotAllowed("a user variable (@)")
	}
	if !variables[foldASCII(n.Name)] {
		return engine.ConstructNotAllowed("the system variable @@" + n.Name)
	}
	return nil
}

func options(n *ast.SelectStmtOpts) error {
	switch {
	case n.CalcFoundRows:
		return engine.ConstructNotAllowed("SQL_CALC_FOUND_ROWS")
	case n.Priority != mysql.NoPriority:
		return engine.ConstructNotAllowed("HIGH_PRIORITY")
	}
	return nil
}
