// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import "github.com/sqlc-dev/marino/mysql"

// Types of the parser's tree that a statement may be made of, by name.
//
// Nodes are walked field by field, by reflection: the visitor of the tree does
// not come by every field, and what it passes over is what an attack is made
// of. Leaves hold no nodes.
var (
	nodes = set(`
		SelectStmt SelectStmtOpts SetOprStmt SetOprSelectList FieldList SelectField WildCardField
		WithClause CommonTableExpression TableRefsClause TableSource TableName IndexHint Join
		OnCondition GroupByClause HavingClause OrderByClause ByItem Limit PartitionByClause
		WindowSpec FrameClause FrameExtent FrameBound

		AggregateFuncExpr BetweenExpr BinaryOperationExpr CaseExpr ColumnName ColumnNameExpr
		CompareSubqueryExpr ExistsSubqueryExpr FuncCallExpr FuncCastExpr GetFormatSelectorExpr
		IsNullExpr IsTruthExpr JSONOnResponse JSONTableColumn JSONTableExpr JSONValueExpr
		MatchAgainst ParamMarkerExprBase ParenthesesExpr PatternInExpr PatternLikeOrIlikeExpr
		PatternRegexpExpr PositionExpr RowExpr SetCollationExpr SubqueryExpr TimeUnitExpr
		TrimDirectionExpr UnaryOperationExpr ValueExprBase VariableExpr WhenClause WindowFuncExpr
	`)
	leaves = set(`CIStr Datum FieldType Regexp`)
	// Where a node stands in a text, and which parentheses and modes it was
	// written with, is not what it does.
	positions = set(`
		EscapeExplicit ExplicitParens IsInBraces Offset PatChars PatTypes QueryBlockOffset
		WithBeforeBraces dmlNode exprNode funcNode node stmtNode projectionOffset
	`)
	// Names of what else people may meet.
	constructs = map[string]string{
		"AsOfClause":         "AS OF",
		"DefaultExpr":        "DEFAULT()",
		"SelectIntoOption":   "INTO",
		"SelectLockInfo":     "FOR UPDATE, FOR SHARE or LOCK IN SHARE MODE",
		"TableOptimizerHint": "an optimizer hint",
		"TableSample":        "TABLESAMPLE",
		"ValuesExpr":         "VALUES() of an INSERT",
	}
	// Character sets of literals. Others, such as gbk, have bytes that look
	// like quotes.
	charsets = set(`ascii binary latin1 utf8 utf8mb3 utf8mb4`)
)

// castable are the types of CAST, CONVERT, JSON_VALUE and JSON_TABLE.
var castable = map[byte]bool{
	mysql.TypeTiny: true, mysql.TypeShort: true, mysql.TypeInt24: true, mysql.TypeLong: true,
	mysql.TypeLonglong: true, mysql.TypeFloat: true, mysql.TypeDouble: true, mysql.TypeNewDecimal: true,
	mysql.TypeDate: true, mysql.TypeDatetime: true, mysql.TypeTimestamp: true, mysql.TypeDuration: true,
	mysql.TypeYear: true, mysql.TypeVarchar: true, mysql.TypeVarString: true, mysql.TypeString: true,
	mysql.TypeBlob: true, mysql.TypeTinyBlob: true, mysql.TypeMediumBlob: true, mysql.TypeLongBlob: true,
	mysql.TypeJSON: true,
}
