// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Dial opens a connection to an address.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// connectTimeout is for one connection, from the dial to the first prompt,
// unless the DSN has another.
const connectTimeout = 5 * time.Second

// options of a DSN that are taken. Others would set what is pinned here, or read
// files that nobody meant.
var dsnOptions = []string{
	"application_name", "channel_binding", "connect_timeout", "search_path",
	"sslcert", "sslkey", "sslmode", "sslrootcert", "sslsni",
}

func badDSN(detail string) error {
	return &OpenError{Summary: "the DSN cannot be read", Detail: detail}
}

// parseURL reads a DSN without ever quoting it: it holds a password.
func parseURL(dsn string) (*url.URL, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, badDSN("write it as postgres://user:password@host:5432/database?sslmode=verify-full, with special characters of the password as %XX")
	}
	switch {
	case u.Hostname() == "" || strings.ContainsAny(u.Host, ",/%"):
		return nil, badDSN("it has to name one host")
	case u.User.Username() == "":
		return nil, badDSN("it has to name the user")
	case len(u.Path) < 2 || strings.Contains(u.Path[1:], "/"):
		return nil, badDSN("it has to name one database")
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, badDSN("what follows the ? is not key=value&key=value")
	}
	for key, values := range options {
		if !slices.Contains(dsnOptions, key) {
			return nil, badDSN("it has an option that is not one of " + strings.Join(dsnOptions, ", "))
		}
		if len(values) > 1 {
			return nil, badDSN("option " + key + " is given twice")
		}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, badDSN("its port is not a number from 1 to 65535")
		}
	}
	// The library's own default falls back to no encryption whenever somebody on
	// the way says that the server has none.
	if options.Get("sslmode") == "" && !loopback(u.Hostname()) {
		options.Set("sslmode", "require")
		if options.Get("sslrootcert") != "" {
			options.Set("sslmode", "verify-full")
		}
		u.RawQuery = options.Encode()
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Address is the host and port that a DSN leads to.
func Address(dsn string) (string, error) {
	u, err := parseURL(dsn)
	if err != nil {
		return "", err
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// configure makes the settings of connections, and says which schema unqualified
// names are in.
func configure(dsn string, o Options) (cfg *pgconn.Config, schema string, err error) {
	u, err := parseURL(dsn)
	if err != nil {
		return nil, "", err
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "5432") // never PGPORT's
	}
	cfg, err = pgconn.ParseConfig(u.String())
	if err != nil {
		return nil, "", badDSN("one of its options has a value of no use, or names a certificate that cannot be read")
	}
	schema, err = firstSchema(cfg.RuntimeParams["search_path"])
	if err != nil {
		return nil, "", err
	}
	application := cfg.RuntimeParams["application_name"]
	if application == "" {
		application = "toolwharf"
	}
	// What RESET ALL resets to. Ours are in front of what the role and the
	// database are set to.
	cfg.RuntimeParams = pinned(schema, o.Limits.Timeout)
	cfg.RuntimeParams["application_name"] = application
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > time.Minute {
		cfg.ConnectTimeout = connectTimeout
	}
	cfg.MaxProtocolMessageBodyLen = maxRow
	if o.Dial != nil {
		// Who dials also resolves, and may dial nothing but what the DSN names: in a
		// sandbox this process sees no name server. The library sends its requests to
		// cancel to wherever a connection led.
		address := net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
		cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx, "tcp", address) }
		cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	}
	return cfg, schema, nil
}

// firstSchema takes the only schema of a search_path. With several, which table a
// name means depends on what others create.
func firstSchema(path string) (string, error) {
	switch {
	case path == "":
		return "public", nil
	case strings.ContainsAny(path, `,"$`) || strings.TrimSpace(path) != path:
		return "", badDSN("search_path has to be one plain schema; qualify the tables of others in allowed_tables")
	}
	return strings.ToLower(path), nil
}

// pinned are the settings of each session.
func pinned(schema string, timeout time.Duration) map[string]string {
	return map[string]string{
		"search_path":                   searchPath(schema),
		"TimeZone":                      "UTC",
		"DateStyle":                     "ISO, MDY",
		"IntervalStyle":                 "iso_8601",
		"bytea_output":                  "hex",
		"extra_float_digits":            "1",
		"client_encoding":               "UTF8",
		"standard_conforming_strings":   "on",
		"default_transaction_read_only": "on",
		"statement_timeout":             milliseconds(timeout),
		"lock_timeout":                  milliseconds(timeout),
		// Who loses this process loses its locks soon after.
		"idle_in_transaction_session_timeout": milliseconds(timeout + idleGrace),
	}
}

// idleGrace is how much longer than a statement a transaction may sit idle.
const idleGrace = 5 * time.Second

// searchPath has temporary tables last: by default they come first, whoever made
// them.
func searchPath(schema string) string { return "pg_catalog, " + quote(schema) + ", pg_temp" }

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// quote writes an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
