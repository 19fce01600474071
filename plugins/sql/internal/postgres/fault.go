// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// timeoutGrace is how long the server has to stop a statement by its own clock,
// which keeps the connection, before it is told to.
const timeoutGrace = 300 * time.Millisecond

func serverError(m *pgproto3.ErrorResponse) error { return pgconn.ErrorResponseToPgError(m) }

// SQLSTATE of errors that are told apart (PostgreSQL, appendix A).
const (
	stateQueryCanceled  = "57014"
	stateUndefinedTable = "42P01"
	stateNoPrivilege    = "42501"
	stateNoSchema       = "3F000"
)

// explain makes of an error what the caller is told. ctx is the statement's,
// caller the caller's.
func (d *DB) explain(ctx, caller context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, told := errors.AsType[*toolwharf.Error](err); told {
		return err
	}
	if ended := over(caller); ended != nil {
		return ended
	}
	if over(ctx) != nil {
		return engine.Timeout(d.limits.Timeout)
	}
	if _, large := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); large {
		return engine.DBError(fmt.Sprintf("a row is larger than %d MiB; select less of it, or its length", maxRow>>20))
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return d.told(e)
	}
	if errors.Is(err, errNoRows) {
		return engine.DBError(err.Error())
	}
	if e, ok := errors.AsType[*OpenError](err); ok {
		return engine.Unavailable(e)
	}
	return engine.Unavailable(errors.New(plain(err)))
}

// over says whether a context has ended, or is about to: sockets have a clock of
// their own for its deadline, which may be a moment ahead.
func over(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// told words what the server said of a statement. Its message is passed on, and
// nothing else: details and context quote rows and functions that views use.
func (d *DB) told(e *pgconn.PgError) error {
	switch e.Code {
	case stateQueryCanceled:
		if strings.Contains(e.Message, "user request") {
			return engine.DBError("the query was canceled on the server (SQLSTATE " + e.Code + ")")
		}
		return engine.Timeout(d.limits.Timeout)
	case stateUndefinedTable, stateNoSchema:
		return engine.TableNotAllowed("")
	case stateNoPrivilege:
		// The message would name what lies beneath a view.
		return engine.DBError("the role of this connection has no right to something that the statement needs (SQLSTATE " + e.Code + ")")
	}
	switch class(e.Code) {
	case "0A", "20", "21", "22", "25", "2F", "40", "42", "54", "55":
		return engine.DBError(shorten(e.Message) + " (SQLSTATE " + e.Code + ")")
	case "53":
		return engine.DBError("the server has not enough resources for the statement (SQLSTATE " + e.Code + ")")
	}
	return engine.Unavailable(errors.New(plain(e)))
}

func class(state string) string { return state[:min(2, len(state))] }

// plain is an error without host, user or path.
func plain(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "the server says SQLSTATE " + e.Code
	}
	if errors.Is(err, errUnclean) || errors.Is(err, errNoRows) {
		return err.Error()
	}
	return "the connection to the server was lost"
}

// shorten keeps what a statement quotes from filling an error.
func shorten(s string) string {
	const limit = 400
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

// connectError says why there is no connection. The library's own words hold the
// host and the user.
func connectError(ctx context.Context, err error) error {
	if ended := over(ctx); ended != nil {
		return ended
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused(e)
	}
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, hostname := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case authority || hostname || invalid || verification:
		return &OpenError{Summary: "the server's certificate is not trusted", Detail: "name the authority that issued it with sslrootcert, and the host as the certificate does"}
	case strings.Contains(err.Error(), "server refused TLS"):
		return &OpenError{Summary: "the server has no TLS", Detail: "turn it on there, or say sslmode=disable where the network between is trusted"}
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return &OpenError{Summary: "the database does not answer", Detail: "see whether it runs, and whether this host may reach it"}
	}
	return &OpenError{Summary: "the database cannot be reached", Detail: "see whether it runs at the address of the DSN, and whether this host may reach it"}
}

func refused(e *pgconn.PgError) error {
	state := " (SQLSTATE " + e.Code + ")"
	switch {
	case class(e.Code) == "28":
		return &OpenError{Summary: "the database refuses the user" + state, Detail: "see user and password of the DSN, and pg_hba.conf of the server"}
	case e.Code == "3D000":
		return &OpenError{Summary: "there is no such database" + state, Detail: "correct the DSN"}
	case class(e.Code) == "53":
		return &OpenError{Summary: "the server takes no more connections" + state, Detail: "lower the bound of connections here, or raise the server's"}
	case class(e.Code) == "57":
		return &OpenError{Summary: "the server starts or stops" + state, Detail: "try again"}
	}
	return &OpenError{Summary: "the server refuses the connection" + state, Detail: "the server's log says why"}
}
