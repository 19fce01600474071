// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second
)

// Server is a running server.
type Server struct {
	Address string // host:port
	Path    string // of its MCP endpoint
	Started time.Time

	process *os.Process
	ended   chan struct{} // closed when the process has ended
	log     *tail
	clean   func() error // removes what was made for it; may be nil
}

// launch starts the command and watches it to its end.
func launch(cmd *exec.Cmd) (*Server, error) {
	s := &Server{ended: make(chan struct{}), log: &tail{}, Started: time.Now()}
	cmd.Stderr = s.log
	if cmd.Stdout == nil {
		cmd.Stdout = s.log
	}
	cmd.WaitDelay = stopTimeout // not forever, should a child of its keep the log open
	started := make(chan error, 1)
	go func() {
		// One thread starts the process and waits for it: where the system ends a
		// child with the thread that started it, that is when this program ends.
		defer tieToThread(cmd)()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		s.process = cmd.Process
		started <- nil
		_ = cmd.Wait() // why it ended is in its log
		close(s.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return s, nil
}

// PID is the process id.
func (s *Server) PID() int { return s.process.Pid }

// Stop ends the server and everything that it started, and removes what was
// made for it. It is an error if something had to be ended by force.
func (s *Server) Stop() error {
	tree := proc.Tree(s.PID())
	err := s.end()
	if left := await(tree, stopTimeout); len(left) > 0 {
		for _, p := range left {
			err = errors.Join(err, fmt.Errorf("process %d outlived its server", p.PID))
			if left, findErr := os.FindProcess(p.PID); findErr == nil {
				_ = left.Kill() // it may have ended by now
			}
		}
	}
	if s.clean != nil {
		err = errors.Join(err, s.clean())
	}
	return err
}

// end ends the process itself, asking first.
func (s *Server) end() error {
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		_ = s.process.Kill() // there is no asking on this system, or nobody to ask
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = s.process.Kill()
		<-s.ended
		return fmt.Errorf("process %d did not end within %v of SIGTERM", s.PID(), stopTimeout)
	}
}

// await returns those processes that still run after the timeout.
func await(tree []proc.Process, timeout time.Duration) []proc.Process {
	deadline := time.Now().Add(timeout)
	for {
		left := proc.Alive(tree)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Fault adds the end of the server's log to an error.
func (s *Server) Fault(err error) error {
	if log := strings.TrimSpace(s.log.String()); log != "" {
		return fmt.Errorf("%w; it said:\n%s", err, log)
	}
	return err
}
