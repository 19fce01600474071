// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

const (
	// guardianStart bounds how long a guardian may take to start its plugin.
	guardianStart = 10 * time.Second
	// guardianEnd is how long it may take to end what it guards before it is
	// ended itself.
	guardianEnd = 5 * time.Second
)

// leash is the host's hold of a guardian.
type leash struct {
	control *net.UnixConn // its end makes the guardian end the plugin
	lines   *bufio.Reader
	plugin  int
	// isolated: the guardian is in namespaces, where ids are others.
	isolated bool
	signal   syscall.Signal // that has ended the plugin, as the guardian says
}

// spawn starts cmd under a guardian: this program, executed again. It leads a
// session of its own: it does not get the terminal's Ctrl-C, and no plugin can
// read the terminal. When the host dies it is not killed but continued: it may
// have been stopped, and has yet to end what it guards.
func spawn(cmd *exec.Cmd, spec *Spec) (leash, error) {
	policy := spec.Sandbox
	strict := policy != nil && policy.Strict
	if strict {
		policy = own(policy)
	}
	order, err := json.Marshal(guardian.Order{Sandbox: policy, Memory: spec.Memory, Program: spec.Program})
	if err == nil && len(order) >= guardian.MaxOrder {
		err = errors.New("it has too many rules")
	}
	if err != nil {
		return leash{}, fmt.Errorf("sandbox: %w", err)
	}
	host, theirs, err := pair()
	if err != nil {
		return leash{}, fmt.Errorf("socket of the guardian: %w", err)
	}
	defer func() { _ = theirs.Close() }()
	path := cmd.Path
	cmd.Path, cmd.Err = "/proc/self/exe", nil
	cmd.Args = append([]string{guardian.Word, guardian.Word, path}, cmd.Args[1:]...)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
	if spec.Group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, spec.Group.FD()
	}
	if strict {
		isolate(cmd.SysProcAttr, policy)
	}
	if err := kin.start(cmd); err != nil {
		_ = host.Close()
		if strict {
			err = unisolated(err)
		}
		return leash{}, err
	}
	l := leash{control: host, lines: bufio.NewReader(host), isolated: strict}
	if err := l.started(path, append(order, '\n')); err != nil {
		_ = host.Close() // it ends by that, with what it may have started
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		kin.buried(cmd.Process.Pid, false)
		return leash{}, err
	}
	return l, nil
}

// pair is a socket pair that no other child inherits.
func pair() (host *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	_ = unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1) // see answer
	ours := os.NewFile(uintptr(fds[0]), "guardian")
	theirs = os.NewFile(uintptr(fds[1]), "guardian")
	defer func() { _ = ours.Close() }()
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil //nolint:forcetypeassert // it is AF_UNIX
}

// started tells the guardian what confines the plugin, and waits until it has
// started it.
func (l *leash) started(path string, order []byte) error {
	_ = l.control.SetDeadline(time.Now().Add(guardianStart))
	if _, err := l.control.Write(order); err != nil {
		return fmt.Errorf("guardian of %s: %w", path, err)
	}
	line, who, err := l.answer()
	if err != nil {
		return fmt.Errorf("guardian of %s: %w", path, err)
	}
	if no, refused := strings.CutPrefix(line, guardian.Refused); refused {
		n, _ := strconv.Atoi(strings.TrimSpace(no))
		return &os.PathError{Op: "exec", Path: path, Err: syscall.Errno(n)}
	}
	if why, no := strings.CutPrefix(line, guardian.Unconfined); no {
		if l.isolated {
			return unavailable(strings.TrimSpace(why))
		}
		return &ConfinementError{Reason: strings.TrimSpace(why)}
	}
	l.plugin, err = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, guardian.Started)))
	if err != nil {
		return fmt.Errorf("guardian of %s: it said %q", path, line)
	}
	if l.isolated {
		l.plugin = who
	}
	return nil
}

// cleared reports whether the guardian, which has ended, left nothing behind.
func (l *leash) cleared() bool {
	defer func() { _ = l.control.Close() }()
	_ = l.control.SetReadDeadline(time.Now().Add(time.Second))
	rest, _ := io.ReadAll(io.LimitReader(l.lines, 64))
	how, said := strings.CutPrefix(string(rest), guardian.Clear)
	n, err := strconv.Atoi(strings.TrimSpace(how))
	if !said || err != nil {
		return false
	}
	l.signal = syscall.Signal(n)
	return true
}

// pid is the plugin's.
func (p *Process) pid() int { return p.leash.plugin }

// ended is how a guardian in namespaces says that its plugin was ended by a signal.
func (p *Process) ended() string {
	if p.leash.isolated && p.leash.signal > 0 {
		return "signal: " + p.leash.signal.String()
	}
	return ""
}

// kill makes the guardian end everything. One that does not, since somebody has
// stopped it, is continued, and then ended itself. p.mu is held, and it was not
// waited for.
func (p *Process) kill() {
	_ = p.leash.control.CloseWrite()
	_ = p.cmd.Process.Signal(unix.SIGCONT)
	time.AfterFunc(guardianEnd, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.reaped {
			_ = p.cmd.Process.Kill()
		}
	})
}

// await waits for the guardian, which ends when nothing of the plugin is left. If
// it was killed, what it guarded is this process's to end.
func (p *Process) await() (*os.ProcessState, error) {
	state, err := p.cmd.Process.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	kin.buried(p.cmd.Process.Pid, p.leash.cleared())
	return state, err
}
