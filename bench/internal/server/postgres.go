// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// PostgresRole is the role that may read what StartPostgres was told to put there,
// if that says so, and PostgresDatabase the database that it is in.
const (
	PostgresRole     = "agent"
	PostgresDatabase = "postgres"
)

// StartPostgres makes a PostgreSQL server in a directory of its own, as an
// unprivileged user if this one is root, with this role, and has psql read the
// script. It takes no password: nobody but this machine reaches it, and it holds
// nothing but the script.
func StartPostgres(ctx context.Context, script []byte) (*Server, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toolwharf-bench-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	data := filepath.Join(dir, "data")
	as := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "LC_ALL=C", "PATH=/usr/bin:/bin"}
		return cmd
	}
	initdb := as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions")
	postgres := as("postgres", "-D", data, "-h", loopback, "-p", port, "-k", dir)
	for _, cmd := range []*exec.Cmd{initdb, postgres} {
		if err := unprivileged(cmd, dir); err != nil {
			return nil, errors.Join(err, remove())
		}
	}
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w; it said:\n%s", err, said), remove())
	}
	s, err := launch(postgres)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	s.Address, s.clean = address, remove
	if err := s.awaitPostgres(ctx); err != nil {
		return nil, errors.Join(s.Fault(err), s.Stop())
	}
	psql := as("psql", "-h", loopback, "-p", port, "-U", "postgres", "-X", "-q", "-v", "ON_ERROR_STOP=1")
	psql.Stdin = strings.NewReader("CREATE ROLE " + PostgresRole + " LOGIN;\n" + string(script))
	if said, err := psql.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("psql: %w; it said:\n%s", err, said), s.Stop())
	}
	return s, nil
}

// postgresPrograms is where the newest PostgreSQL's are: Debian has them beside the
// path.
func postgresPrograms() (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("PostgreSQL is not installed (Debian: postgresql): %w", err)
	}
	return filepath.Dir(path), nil
}

// awaitPostgres waits until the server says that it serves: it listens before.
func (s *Server) awaitPostgres(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !strings.Contains(s.log.String(), "database system is ready to accept connections") {
		select {
		case <-s.ended:
			return errors.New("PostgreSQL ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL is not ready: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
