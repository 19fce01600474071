// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"slices"
	"strings"

	tree "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// nodes may be part of a statement. Those that name something are looked at by
// judge.message besides.
var nodes = set(`
	Node List SelectStmt ResTarget ColumnRef A_Star ParamRef
	A_Const Integer Float Boolean String BitString
	A_Expr BoolExpr NullTest BooleanTest CaseExpr CaseWhen CoalesceExpr MinMaxExpr SQLValueFunction
	TypeCast TypeName CollateClause SubLink FuncCall NamedArgExpr A_ArrayExpr A_Indirection A_Indices
	RowExpr SortBy WindowDef GroupingSet GroupingFunc
	WithClause CommonTableExpr CTESearchClause CTECycleClause
	RangeVar RangeSubselect RangeFunction RangeTableSample JoinExpr Alias ColumnDef
	JsonFormat JsonReturning JsonOutput JsonArgument JsonValueExpr JsonBehavior JsonKeyValue JsonFuncExpr
	JsonParseExpr JsonScalarExpr JsonSerializeExpr JsonIsPredicate JsonObjectConstructor
	JsonArrayConstructor JsonArrayQueryConstructor JsonAggConstructor JsonObjectAgg JsonArrayAgg
	JsonTable JsonTableColumn JsonTablePathSpec
`)

// written is what people call a node that is refused.
var written = map[string]string{
	"IntoClause":     "SELECT INTO",
	"LockingClause":  "a locking clause (FOR UPDATE, FOR SHARE)",
	"RangeTableFunc": "XMLTABLE",
	"XmlExpr":        "an XML expression",
	"XmlSerialize":   "XMLSERIALIZE",
	"CurrentOfExpr":  "CURRENT OF",
	"SetToDefault":   "DEFAULT",
}

// maxTree is how deep a tree may be.
const maxTree = 3000

// scope are names of WITH that are visible in a part of a statement.
type scope struct {
	name  string
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return true
		}
	}
	return false
}

// judge walks one tree.
type judge struct {
	rules     *rules
	tables    map[engine.Name]bool
	functions map[string]bool
	params    int
	depth     int
}

func newJudge(r *rules) *judge {
	return &judge{rules: r, tables: map[engine.Name]bool{}, functions: map[string]bool{}}
}

func (j *judge) verdict(sql string) *engine.Verdict {
	v := &engine.Verdict{SQL: sql, Params: j.params}
	for t := range j.tables {
		v.Tables = append(v.Tables, t)
	}
	slices.SortFunc(v.Tables, func(a, b engine.Name) int {
		if c := strings.Compare(a.Schema, b.Schema); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for f := range j.functions {
		v.Functions = append(v.Functions, f)
	}
	slices.Sort(v.Functions)
	return v
}

// message judges a node and all that is in it.
func (j *judge) message(m protoreflect.Message, s *scope) error {
	kind := string(m.Descriptor().Name())
	if !nodes[kind] || len(m.GetUnknown()) > 0 {
		return refusedNode(kind)
	}
	if j.depth++; j.depth > maxTree {
		return engine.Syntax("the statement is too deeply nested")
	}
	defer func() { j.depth-- }()
	switch n := m.Interface().(type) {
	case *tree.SelectStmt:
		return j.query(n, s)
	case *tree.RangeVar:
		return j.table(n, s)
	default:
		if err := j.named(n); err != nil {
			return err
		}
	}
	return j.fields(m, s, "")
}

// fields judges what is in a node, but for one field.
func (j *judge) fields(m protoreflect.Message, s *scope, but protoreflect.Name) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil, f.Name() == but:
		case f.IsMap():
			err = refusedNode(string(f.Name()))
		case f.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = j.message(v.List().Get(i).Message(), s)
			}
		default:
			err = j.message(v.Message(), s)
		}
		return err == nil
	})
	return err
}

// query judges a SELECT with the names of its WITH. One is visible behind
// itself: to its later siblings and in the body. Under RECURSIVE all are
// visible to all.
func (j *judge) query(n *tree.SelectStmt, s *scope) error {
	if w := n.GetWithClause(); w != nil {
		if w.GetRecursive() {
			for _, c := range w.GetCtes() {
				s = &scope{c.GetCommonTableExpr().GetCtename(), s}
			}
		}
		for _, c := range w.GetCtes() {
			if err := j.message(c.ProtoReflect(), s); err != nil {
				return err
			}
			if !w.GetRecursive() {
				s = &scope{c.GetCommonTableExpr().GetCtename(), s}
			}
		}
	}
	return j.fields(n.ProtoReflect(), s, "with_clause")
}

// table judges the name of a table. One with a schema is never that of a WITH.
func (j *judge) table(n *tree.RangeVar, s *scope) error {
	name := engine.Name{Schema: n.GetSchemaname(), Name: n.GetRelname()}
	switch {
	case n.GetCatalogname() != "":
		return engine.TableNotAllowed(engine.Name{Name: n.GetCatalogname()}.String() + "." + name.String())
	case name.Schema == "" && s.has(name.Name):
	case !j.rules.table(name):
		return engine.TableNotAllowed(name.String())
	default:
		if name.Schema == j.rules.DefaultSchema {
			name.Schema = ""
		}
		j.tables[name] = true
	}
	return j.fields(n.ProtoReflect(), s, "")
}

// named judges what a node calls by name.
func (j *judge) named(node any) error {
	switch n := node.(type) {
	case *tree.FuncCall:
		return j.call(n)
	case *tree.SQLValueFunction:
		// SVFOP_CURRENT_DATE is current_date; _N is a precision.
		name := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(n.GetOp().String(), "SVFOP_"), "_N"))
		return j.callable(engine.Name{Name: name}, n.GetLocation())
	case *tree.A_Expr:
		return j.expression(n)
	case *tree.SubLink:
		return j.operator(n.GetOperName())
	case *tree.SortBy:
		return j.operator(n.GetUseOp())
	case *tree.TypeName:
		return j.dataType(n)
	case *tree.CollateClause:
		return collation(n.GetCollname())
	case *tree.ColumnDef:
		return collation(n.GetCollClause().GetCollname())
	case *tree.RangeTableSample:
		return sampling(n)
	case *tree.ColumnRef:
		return j.column(n)
	case *tree.A_Indirection:
		return j.indirection(n)
	case *tree.ParamRef:
		if n.GetNumber() < 1 {
			return engine.ConstructNotAllowed("a parameter without a number")
		}
		j.params = max(j.params, int(n.GetNumber()))
	}
	return nil
}

func (j *judge) call(n *tree.FuncCall) error {
	name, ok := nameOf(n.GetFuncname())
	if !ok {
		return engine.ConstructNotAllowed(fmt.Sprintf("a function of another database (offset %d)", n.GetLocation()))
	}
	if err := j.callable(name, n.GetLocation()); err != nil || j.rules.functions[name] {
		return err
	}
	switch {
	case bounded[name.Name]:
		return boundedCall(name.Name, n)
	case name.Name == "format":
		return boundedFormat(n)
	}
	return nil
}

func (j *judge) callable(name engine.Name, at int32) error {
	if !j.rules.function(name) {
		return engine.FunctionNotAllowed(fmt.Sprintf("%s (offset %d; allowed_functions can permit it)", name, at))
	}
	if name.Schema == catalogSchema {
		name.Schema = ""
	}
	j.functions[name.String()] = true
	return nil
}

// expression judges the operator of an expression. BETWEEN has its own name
// for one.
func (j *judge) expression(n *tree.A_Expr) error {
	if !strings.Contains(n.GetKind().String(), "BETWEEN") {
		return j.operator(n.GetName())
	}
	for _, op := range []string{"<", "<=", ">", ">="} {
		if !j.rules.operator(engine.Name{Name: op}) {
			return refusedOperator(engine.Name{Name: op})
		}
	}
	return nil
}

// operator judges an operator, if there is one.
func (j *judge) operator(parts []*tree.Node) error {
	if len(parts) == 0 {
		return nil
	}
	name, ok := nameOf(parts)
	if !ok || !j.rules.operator(name) {
		return refusedOperator(name)
	}
	return nil
}

func (j *judge) dataType(n *tree.TypeName) error {
	name, ok := nameOf(n.GetNames())
	switch {
	case !ok, n.GetPctType(), n.GetSetof(), n.GetTypeOid() != 0, !j.rules.dataType(name):
		return engine.ConstructNotAllowed(fmt.Sprintf("type %s (offset %d)", name, n.GetLocation()))
	}
	return nil
}

// column judges alias.name, which may be a call of name(alias). A name alone
// is none.
func (j *judge) column(n *tree.ColumnRef) error {
	if len(n.GetFields()) < 2 {
		return nil
	}
	last := n.GetFields()[len(n.GetFields())-1].GetString_()
	if last == nil || j.rules.field(last.GetSval(), true) {
		return nil
	}
	return refusedField(last.GetSval(), n.GetLocation())
}

// indirection judges (expression).name, which may be a call as well.
func (j *judge) indirection(n *tree.A_Indirection) error {
	for _, i := range n.GetIndirection() {
		if name := i.GetString_(); name != nil && !j.rules.field(name.GetSval(), false) {
			return refusedField(name.GetSval(), n.GetArg().GetColumnRef().GetLocation())
		}
	}
	return nil
}

// nameOf is the name that a list of strings is; not ok for one of more than two
// parts, or of none.
func nameOf(parts []*tree.Node) (engine.Name, bool) {
	text := make([]string, len(parts))
	for i, p := range parts {
		text[i] = p.GetString_().GetSval()
	}
	switch len(text) {
	case 1:
		return engine.Name{Name: text[0]}, text[0] != ""
	case 2:
		return engine.Name{Schema: text[0], Name: text[1]}, text[0] != "" && text[1] != ""
	}
	return engine.Name{Name: strings.Join(text, ".")}, false
}

// boundedCall wants the length of a padding as a number in the statement.
func boundedCall(name string, n *tree.FuncCall) error {
	if len(n.GetArgs()) >= 2 && n.GetArgs()[1].GetAConst().GetIval() != nil && !n.GetFuncVariadic() &&
		n.GetArgs()[1].GetAConst().GetIval().GetIval() <= maxPadding {
		return nil
	}
	return engine.ConstructNotAllowed(fmt.Sprintf("%s (offset %d) to a length that is no plain number up to %d", name, n.GetLocation(), maxPadding))
}

// boundedFormat wants the template of a format in the statement, without
// widths of more than three digits or from an argument.
func boundedFormat(n *tree.FuncCall) error {
	refused := engine.ConstructNotAllowed(fmt.Sprintf(
		"format (offset %d) with a template that is no plain literal, or with a width of more than three digits or from an argument", n.GetLocation()))
	if len(n.GetArgs()) == 0 || n.GetFuncVariadic() && len(n.GetArgs()) == 1 || n.GetArgs()[0].GetAConst().GetSval() == nil {
		return refused
	}
	template := n.GetArgs()[0].GetAConst().GetSval().GetSval()
	for i := 0; i < len(template); i++ {
		if template[i] != '%' {
			continue
		}
		digits := 0
		for i++; i < len(template) && (isDigit(template[i]) || template[i] == '-' || template[i] == '$' || template[i] == '*'); i++ {
			switch {
			case template[i] == '*':
				return refused
			case !isDigit(template[i]):
				digits = 0
			default:
				digits++
			}
			if digits > 3 {
				return refused
			}
		}
	}
	return nil
}

// collation lets those pass that search_path or pg_catalog have; none of them
// calls anything.
func collation(parts []*tree.Node) error {
	if name, ok := nameOf(parts); len(parts) > 0 && (!ok || name.Schema != "" && name.Schema != catalogSchema) {
		return engine.ConstructNotAllowed("collation " + name.String())
	}
	return nil
}

func sampling(n *tree.RangeTableSample) error {
	name, ok := nameOf(n.GetMethod())
	if !ok || name.Schema != "" && name.Schema != catalogSchema || !samplings[name.Name] {
		return engine.ConstructNotAllowed("TABLESAMPLE " + name.String())
	}
	return nil
}

func refusedNode(kind string) error {
	if what, ok := written[kind]; ok {
		return engine.ConstructNotAllowed(what)
	}
	if what, ok := strings.CutSuffix(kind, "Stmt"); ok {
		return engine.NotSelect(strings.ToUpper(what))
	}
	return engine.ConstructNotAllowed(kind)
}

func refusedOperator(name engine.Name) error {
	if name.Schema != "" {
		return engine.ConstructNotAllowed("operator " + name.String())
	}
	return engine.ConstructNotAllowed("operator " + name.Name)
}

func refusedField(name string, at int32) error {
	return engine.FunctionNotAllowed(fmt.Sprintf("%s (offset %d; written as a column; allowed_functions can permit it)", name, at))
}
