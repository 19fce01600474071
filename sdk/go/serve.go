// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolwharf/toolwharf/sdk/go/internal/handshake"
	"github.com/toolwharf/toolwharf/sdk/go/internal/logline"
)

// Serve runs the plugin and does not return: started by a host it serves until
// the host lets it go, started by hand it says what it is or does what its
// arguments ask. It is the last statement of main; nothing may be printed to
// stdout before it, because there a host reads the handshake.
//
// Under a host, [os.Stdout] becomes [os.Stderr] and the default loggers of
// log/slog and log write the lines that hosts read. SIGINT is ignored: the host
// decides. The process ends with its host.
func (p *Plugin[S]) Serve() { os.Exit(p.core.main(os.Args[1:])) }

func (c *core) main(args []string) int {
	if len(c.faults) > 0 {
		c.reportFaults(os.Stderr)
		return 1
	}
	if !handshake.Hosted(os.Getenv) {
		return (&hand{core: c, in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}).run(args)
	}
	if err := c.serveHost(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: cannot serve: %v\n", c.info.Name, err)
		return 1
	}
	return 0
}

func (c *core) reportFaults(w io.Writer) {
	fmt.Fprintf(w, "%s: cannot start: the plugin is not right (%d faults, to be mended by its author):\n",
		orElse(c.info.Name, "plugin"), len(c.faults))
	for _, f := range c.faults {
		fmt.Fprintf(w, "  %v\n", f)
	}
}

// serveHost moors at the host that started the process, and returns when the
// host has let go.
func (c *core) serveHost() error {
	gone := orphaned()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	terms, err := handshake.Read(os.Getenv)
	if err != nil {
		return err
	}
	identity, err := handshake.Identity(terms.Host)
	if err != nil {
		return err
	}
	l, clean, err := handshake.Listen(terms)
	if err != nil {
		return err
	}
	defer clean()

	log := slog.New(logline.New(os.Stderr, c.info.Name, slog.LevelDebug))
	slog.SetDefault(log)
	s := newServer(c, identity, log)
	served := make(chan error, 1)
	go func() { served <- s.serve(l) }()

	// From here on, what is printed by mistake is a log line and no handshake.
	stdout := os.Stdout
	os.Stdout = os.Stderr //nolint:reassign // the process is ours, and its stdout is the host's
	if _, err := io.WriteString(stdout, handshake.Line(l.Addr(), identity, terms)); err != nil {
		return fmt.Errorf("writing the handshake: %w", err)
	}
	for {
		select {
		case err := <-served:
			return err
		case sig := <-signals:
			if sig == syscall.SIGTERM {
				go s.stop(graceSignal)
			}
		case <-gone:
			gone = nil
			log.Warn("the host has ended")
			go s.stop(graceShutdown)
		}
	}
}
