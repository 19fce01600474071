// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	tree "github.com/pganalyze/pg_query_go/v6"
	parser "github.com/wasilibs/go-pgquery"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// turn is held by whoever parses. The library makes another instance, of two
// seconds and 200 MB, for each parse that finds all of them busy: with one
// parse at a time there is one.
var turn = make(chan struct{}, 1)

// broken is set once the parser has crashed; it belongs to whoever has the turn.
var broken bool

var errBroken = engine.Unavailable(errors.New("the parser of SQL has crashed; restart the plugin"))

// Warm starts the parser in the background, so that the first statement need
// not wait for its compilation. The library keeps no compiled code on disk and
// has no way to be told to; what compiling took is given back to the system.
func Warm() {
	go func() {
		if _, err := parse(context.Background(), "SELECT 1"); err == nil {
			debug.FreeOSMemory()
		}
	}()
}

// parse is the tree of a text. The context ends the wait for a turn; a parse
// takes less than a millisecond and is not ended.
func parse(ctx context.Context, sql string) (result *tree.ParseResult, err error) {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-turn }()
	if broken {
		return nil, errBroken
	}
	// The lexer keeps away what is known to overflow the parser's stack. After
	// something else did, there is no trusting it: the library would go on with
	// the same memory.
	defer func() {
		if p := recover(); p != nil {
			broken, result, err = true, nil, errBroken
		}
	}()
	result, err = parser.Parse(sql)
	if err != nil {
		return nil, syntaxError(err)
	}
	return result, nil
}

// syntaxError is what the parser says, with the place. The type of its errors
// is internal to it.
func syntaxError(err error) error {
	const limit = 200
	text := err.Error()
	if len(text) > limit {
		text = fmt.Sprintf("%.*s...", limit, text)
	}
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() == reflect.Struct {
		if at := v.FieldByName("Cursorpos"); at.IsValid() && at.CanInt() && at.Int() > 0 {
			text = fmt.Sprintf("%s (character %d)", text, at.Int())
		}
	}
	return engine.Syntax(text)
}
