// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"reflect"

	"github.com/sqlc-dev/marino/ast"
)

// scope is the names that the WITH clauses around a part of a statement give.
// It grows by one name at a time, so that each part keeps the one it had.
//
// A server may find more names than this, as MariaDB does, whose names of a
// WITH have no case; it never finds fewer. What is not found here has to be a
// table that may be read, so the difference permits nothing.
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

var withClause = reflect.TypeFor[*ast.WithClause]()

// with judges the WITH of a query, if it has one, and gives the scope of the
// rest of the query. A name is known to what comes after it; to its own query
// only if that is recursive, which takes a set operation:
//
//	WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets
//
// reads the table. A WITH inside of the reach of another does not see its
// names: MariaDB 10.11 reads the table in
//
//	WITH secrets AS (SELECT 1) SELECT * FROM (WITH z AS (SELECT * FROM secrets) SELECT * FROM z) x
func (j *judge) with(v reflect.Value, s *scope, depth int) (*scope, error) {
	field := v.FieldByName("With")
	if !field.IsValid() || field.IsNil() {
		return s, nil
	}
	w, ok := reflect.TypeAssert[*ast.WithClause](field)
	if !ok {
		return s, nil
	}
	s = nil // names of a WITH further out
	j.note(reflect.ValueOf(w.IsRecursive))
	for _, cte := range w.CTEs {
		inner := &scope{name: j.guard.fold(cte.Name.O), outer: s}
		own := s
		if w.IsRecursive && setOperation(cte.Query) {
			own = inner
		}
		if err := j.walk(reflect.ValueOf(cte), own, depth); err != nil {
			return nil, err
		}
		s = inner
	}
	return s, nil
}

func setOperation(q *ast.SubqueryExpr) bool {
	if q == nil {
		return false
	}
	_, ok := q.Query.(*ast.SetOprStmt)
	return ok
}
