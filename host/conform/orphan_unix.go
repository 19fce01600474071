//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// adopt starts the plugin in the background, says its id, and waits for it: a
// host that can be killed.
const adopt = `"$@" 3>&- & echo $! >&3; exec 3>&-; wait`

// hostDies kills a host. Its pipes and its connection go with it.
func (s *suite) hostDies(ctx context.Context) error {
	pid := 0
	m, err := s.moorBy(ctx, func(env []string) (p *process, err error) {
		p, pid, err = s.adopted(env)
		return p, err
	})
	if err != nil {
		return unjudgedf("it could not be started: %v", err)
	}
	defer m.end()
	if err := m.reached(ctx, s); err != nil {
		return unjudgedf("it does not serve: %v", err)
	}
	_ = m.cmd.Process.Kill()
	_ = m.conn.Close()
	<-m.done
	for deadline := time.Now().Add(s.bounds.orphan); alive(pid); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after its host was killed it still runs; where the kernel does not end it, it must watch its parent", s.bounds.orphan)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// adopted starts the plugin as a child of a shell.
func (s *suite) adopted(env []string) (*process, int, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = read.Close() }()
	cmd := exec.Command("/bin/sh", append([]string{"-c", adopt, "sh"}, s.program.argv...)...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = env, s.program.dir, []*os.File{write}
	p, err := startCommand(cmd)
	_ = write.Close()
	if err != nil {
		return nil, 0, err
	}
	text := make([]byte, 32)
	n, _ := read.Read(text)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		p.kill()
		return nil, 0, fmt.Errorf("the shell that is to be its host: %w", err)
	}
	return p, pid, nil
}
