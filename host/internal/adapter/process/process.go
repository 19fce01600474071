// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package process starts, watches and ends the processes of adapters. It
// serves go-plugin as a runner.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/cgroup"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// Spec is what is to be executed.
type Spec struct {
	// Path of the executable, absolute.
	Path string
	// Args follow it.
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory.
	Dir string
	// SocketDir is where, and nowhere else, the process may serve.
	SocketDir string
	// Sandbox confines it, where sandbox.Here; nil: nothing does.
	Sandbox *sandbox.Policy
	// Program is the SHA-256 of the executable, in hex, without which nothing is
	// executed; "": whatever lies there. It takes a guardian.
	Program string
	// Memory is the most private memory of each process, in bytes; 0: any. It takes a
	// guardian.
	Memory int64
	// Group is where all of it runs; nil: where this process does.
	Group *cgroup.Group
}

// Process is one started process and everything that it starts: they end
// together.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd // the process, or its guardian
	leash  leash
	stdout *firstLine
	stderr *lastWords

	network, address string // as accepted

	done chan struct{} // closed once the process has been waited for
	err  error         // of the wait; read after done

	mu     sync.Mutex
	killed bool // also before Start
	reaped bool // its id may be somebody else's now
}

var _ runner.Runner = (*Process)(nil)

// pipeGrace is how long pipes stay open after the process has ended: for its
// last words, not for a grandchild that has inherited them.
const pipeGrace = 200 * time.Millisecond

// New returns a process that has not been started.
func New(spec Spec) *Process { return &Process{spec: spec, done: make(chan struct{})} }

// Start executes it. Its standard input is empty: a plugin that could read the
// host's would read the protocol of a stdio client.
func (p *Process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return fmt.Errorf("%s was ended before it began", p.spec.Path)
	}
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Env, cmd.Dir = p.spec.Env, p.spec.Dir
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("stdout of %s: %w", p.spec.Path, err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("stderr of %s: %w", p.spec.Path, err)
	}
	if p.leash, err = spawn(cmd, &p.spec); err != nil {
		return err
	}
	p.cmd = cmd
	p.stdout = &firstLine{ReadCloser: stdout}
	p.stderr = &lastWords{ReadCloser: stderr, over: make(chan struct{})}
	go p.reap()
	return nil
}

// reap waits for the process whether or not anybody reads its pipes.
func (p *Process) reap() {
	state, err := p.await()
	if err == nil && !state.Success() {
		err = &exec.ExitError{ProcessState: state}
	}
	p.err = err
	close(p.done)
	time.AfterFunc(pipeGrace, func() {
		_ = p.stdout.Close()
		_ = p.stderr.Close()
	})
}

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns once the process has ended, with an *exec.ExitError if it did
// not end well.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill ends the process and what it has started, at once, and returns when it
// is gone. A process that has not been started cannot be started any more.
func (p *Process) Kill(ctx context.Context) error {
	p.mu.Lock()
	p.killed = true
	started := p.cmd != nil
	if started && !p.reaped {
		p.kill()
	}
	p.mu.Unlock()
	if !started {
		return nil
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stdout is the pipe of the handshake.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// Stderr is the pipe of the log.
func (p *Process) Stderr() io.ReadCloser { return p.stderr }

// Name is the path.
func (p *Process) Name() string { return p.spec.Path }

// PID is the plugin's own, also under a guardian; 0 before Start.
func (p *Process) PID() int {
	if p.cmd == nil || p.cmd.Process == nil {
		return 0
	}
	return p.pid()
}

// ID is the process id.
func (p *Process) ID() string { return strconv.Itoa(p.PID()) }

// Diagnose says how it ended and what it said last.
func (p *Process) Diagnose(context.Context) string { return p.LastWords() }

// Settled returns once the process has ended and its last words were read, or
// when ctx ends.
func (p *Process) Settled(ctx context.Context) {
	for _, over := range []<-chan struct{}{p.done, p.stderr.over} {
		select {
		case <-over:
		case <-ctx.Done():
			return
		}
	}
}

// LastWords is the end of what the process wrote to stderr.
func (p *Process) LastWords() string {
	if p.stderr == nil {
		return ""
	}
	return p.stderr.String()
}

// FirstLine is the beginning of what the process wrote to stdout.
func (p *Process) FirstLine() string {
	if p.stdout == nil {
		return ""
	}
	return p.stdout.String()
}

// Exit says how the process ended, "" while it runs.
func (p *Process) Exit() string {
	select {
	case <-p.done:
	default:
		return ""
	}
	if said := p.ended(); said != "" {
		return said
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return exit.String() // "exit status 3", "signal: killed"
	}
	return "exit status 0"
}

// ConfinementError is a process that could not be confined as it was to be, and
// so was not started.
type ConfinementError struct{ Reason string }

// Error says why.
func (e *ConfinementError) Error() string { return e.Reason }

// AddressError is an address that a plugin may not serve on.
type AddressError struct{ Network, Address, Reason string }

// Error names the address and the reason.
func (e *AddressError) Error() string {
	return fmt.Sprintf("the plugin serves on %s %q: %s", e.Network, e.Address, e.Reason)
}

// PluginToHost accepts only a socket in this launch's own directory: whoever
// else could serve there would get the adapter's secrets.
func (p *Process) PluginToHost(network, address string) (string, string, error) {
	if err := p.acceptable(network, address); err != nil {
		return "", "", err
	}
	p.network, p.address = network, address
	return network, address, nil
}

// Dial connects to the address that PluginToHost has accepted, as long as the
// process lives and it is who serves there.
func (p *Process) Dial(ctx context.Context) (net.Conn, error) {
	select {
	case <-p.done:
		return nil, errors.New("the process has ended")
	default:
	}
	conn, err := new(net.Dialer).DialContext(ctx, p.network, p.address)
	if err != nil {
		return nil, fmt.Errorf("socket of the plugin: %w", err)
	}
	if err := p.serves(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the plugin's socket: %w", err)
	}
	return conn, nil
}

// Owns reports, as an error, that the other end of a connection is neither this process
// nor started by it.
func (p *Process) Owns(conn *net.UnixConn) error {
	p.mu.Lock() // held while it is started
	started := p.cmd != nil
	p.mu.Unlock()
	if !started {
		return errors.New("the process was not started")
	}
	return p.serves(conn)
}

func (p *Process) socket(address string) error {
	refuse := func(reason string) error { return &AddressError{"unix", address, reason} }
	if !filepath.IsAbs(address) || filepath.Clean(address) != address || filepath.Dir(address) != filepath.Clean(p.spec.SocketDir) {
		return refuse("it must be a socket in the directory that PLUGIN_UNIX_SOCKET_DIR names")
	}
	info, err := os.Lstat(address)
	if err != nil {
		return refuse("there is no such socket")
	}
	if info.Mode().Type() != os.ModeSocket {
		return refuse("it is not a socket")
	}
	return nil
}

// HostToPlugin leaves addresses as they are.
func (p *Process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
