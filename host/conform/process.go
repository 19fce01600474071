// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// maxKept bounds what is kept of an output, in bytes; all of it is read.
const maxKept = 1 << 20

// output keeps what a process writes.
type output struct {
	mu   sync.Mutex
	kept []byte
	line chan struct{} // closed with the first newline
	over bool          // line is closed
}

func newOutput() *output { return &output{line: make(chan struct{})} }

// Write keeps b, within the bound.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := maxKept - len(o.kept); room > 0 {
		o.kept = append(o.kept, b[:min(len(b), room)]...)
	}
	if !o.over && bytes.IndexByte(o.kept, '\n') >= 0 {
		o.over = true
		close(o.line)
	}
	return len(b), nil
}

func (o *output) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.kept)
}

// first is the first line, rest what came after it.
func (o *output) first() (line, rest string) {
	line, rest, _ = strings.Cut(string(o.bytes()), "\n")
	return line, rest
}

// lastLine is the last line that is not empty.
func (o *output) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(o.bytes())), "\n")
	return lines[len(lines)-1]
}

// process is one start of the plugin, with whatever that starts.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *output
	done           chan struct{} // closed once it was waited for
	err            error         // of the wait; read after done
	pid            int           // of the plugin
}

// pipeGrace is how long pipes stay open after the process has ended.
const pipeGrace = 500 * time.Millisecond

// start starts the program with that environment and an empty standard input.
func (p *program) start(env []string) (*process, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Dir = env, p.dir
	return startCommand(cmd)
}

func startCommand(cmd *exec.Cmd) (*process, error) {
	proc := &process{cmd: cmd, stdout: newOutput(), stderr: newOutput(), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = proc.stdout, proc.stderr
	cmd.WaitDelay = pipeGrace
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("it cannot be started: %w", err)
	}
	proc.pid = cmd.Process.Pid
	go func() {
		proc.err = cmd.Wait()
		close(proc.done)
	}()
	return proc, nil
}

// ended reports whether it has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// endsWithin waits that long for its end.
func (p *process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// kill ends it and what it has started, at once.
func (p *process) kill() {
	killAll(p.cmd)
	<-p.done
}

// exit says how it ended.
func (p *process) exit() string {
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return exit.String()
	}
	return "exit status 0"
}

// failed reports whether it ended with another status than 0.
func (p *process) failed() bool {
	_, ok := errors.AsType[*exec.ExitError](p.err)
	return ok
}

// words are how it ended and the last line that it wrote to stderr.
func (p *process) words() string {
	var b strings.Builder
	if p.ended() {
		fmt.Fprintf(&b, "; the plugin has ended (%s)", p.exit())
	}
	if last := p.stderr.lastLine(); last != "" {
		fmt.Fprintf(&b, "; the last line on stderr: %s", last)
	}
	return b.String()
}

var _ io.Writer = (*output)(nil)
