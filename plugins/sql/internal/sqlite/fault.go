// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// message is what SQLite says of an error, without the name of its code.
func message(err error) string {
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return strings.TrimPrefix(strings.TrimPrefix(e.Error(), e.Code().Error()), ": ")
	}
	return strings.TrimPrefix(err.Error(), "sqlite3: ")
}

// refusal says why SQLite does not compile a caller's statement.
func (c *conn) refusal(err error, s *shape, seen *verdict) error {
	switch {
	case !errors.Is(err, sqlite3.ERROR) && !errors.Is(err, sqlite3.AUTH):
		return err
	case seen.denied != nil:
		return seen.denied
	case seen.deniedTable != "":
		return engine.TableNotAllowed(s.spelling(seen.deniedTable))
	}
	if err := syntaxError(err, s.sql); err != nil {
		return err
	}
	text := message(err)
	if name, ok := strings.CutPrefix(text, "no such function: "); ok {
		return engine.FunctionNotAllowed(name)
	}
	if name, ok := missingTable(text); ok {
		return c.missing(name, s)
	}
	return engine.DBError(text)
}

// syntaxError is what is wrong with the syntax of sql, if that is what err says.
func syntaxError(err error, sql string) error {
	if err == nil {
		return nil
	}
	text := message(err)
	if near, ok := strings.CutSuffix(text, ": syntax error"); ok {
		offset := 0
		if e, ok := errors.AsType[*sqlite3.Error](err); ok {
			offset = len(sql) - len(e.SQL())
		}
		near = strings.TrimSuffix(strings.TrimPrefix(near, `near "`), `"`)
		return engine.SyntaxAt(near, offset)
	}
	if text == "incomplete input" || strings.HasPrefix(text, "unrecognized token") {
		return engine.Syntax(text)
	}
	return nil
}

// missing refuses a table that does not exist, unless it is listed or within a
// listed view: then the operator has forgotten something.
func (c *conn) missing(name string, s *shape) error {
	bare := name
	if rest, ok := strings.CutPrefix(fold(name), "main."); ok {
		bare = rest
	}
	switch {
	case c.guard.catalog.absent[fold(bare)]:
		return engine.DBError("table " + name + " is in allowed_tables, but does not exist")
	case s.spelling(fold(bare)) == "" && !strings.Contains(fold(s.sql), fold(name[strings.LastIndexByte(name, '.')+1:])):
		return engine.DBError("a listed view reads a table that does not exist")
	}
	return engine.TableNotAllowed(name)
}

// spelling is how the caller wrote a folded name; empty: not at all.
func (s *shape) spelling(name string) string {
	for _, t := range s.tokens {
		if t.mayName() && fold(t.text) == name {
			return t.text
		}
	}
	return ""
}

// explain makes of any error one that may be told. ctx is the statement's own
// context and caller the one that it comes from.
func (d *DB) explain(ctx, caller context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, told := errors.AsType[*toolwharf.Error](err); told {
		return err
	}
	switch {
	case caller.Err() != nil:
		return caller.Err()
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED), errors.Is(err, syscall.EBADF): // see unsteadyTries
		return engine.DBError("the database is locked by a program that writes to it; try again")
	case ctx.Err() != nil || errors.Is(err, sqlite3.INTERRUPT):
		return engine.Timeout(d.limits.Timeout)
	case errors.Is(err, sqlite3.TOOBIG):
		return engine.DBError(fmt.Sprintf("a value is larger than %d bytes; select less of it, or its length", valueLimit))
	case errors.Is(err, sqlite3.ERROR), errors.Is(err, sqlite3.MISMATCH), errors.Is(err, sqlite3.RANGE), errors.Is(err, sqlite3.CONSTRAINT):
		return engine.DBError(message(err))
	}
	return engine.Unavailable(withoutPath(err))
}

// broken says whether a connection is of no use after err.
func broken(err error) bool {
	for _, code := range []sqlite3.ErrorCode{
		sqlite3.IOERR, sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.CANTOPEN, sqlite3.READONLY, sqlite3.PROTOCOL,
		sqlite3.NOMEM, sqlite3.TOOBIG, sqlite3.MISUSE, sqlite3.INTERNAL, sqlite3.FULL,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, errSchemaUnsteady)
}

// withoutPath keeps what went wrong and leaves out where.
func withoutPath(err error) error {
	path, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return fmt.Errorf("%w: %w", e.ExtendedCode(), path.Err)
	}
	return fmt.Errorf("%s: %w", path.Op, path.Err)
}

// outOfMemory makes an error of the binding's panic; other panics go on.
func outOfMemory(p any) error {
	if err, ok := p.(error); ok && strings.Contains(err.Error(), "out of memory") {
		return engine.DBError(fmt.Sprintf("the statement needs more than %d MiB of memory; narrow it", heapLimit>>20))
	}
	panic(p)
}
