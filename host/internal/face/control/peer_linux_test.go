// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

const nobody = 65534

// The roles say on stdout how they fared.
func init() {
	roles["ask"] = func() {
		c := &Client{path: os.Getenv("SOCKET")}
		conn, err := net.Dial("unix", c.path)
		if err != nil {
			fmt.Println("no connection:", err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET /v1/host HTTP/1.1\r\nHost: control\r\n\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			fmt.Println("no answer:", err)
			return
		}
		fmt.Print(line)
	}
	roles["dial"] = func() {
		_, err := Dial(os.Getenv("STATE"))
		fmt.Println(err)
	}
	roles["serve"] = func() {
		s, err := Listen(os.Getenv("STATE"), &Service{About: func() Host { return Host{Name: "of nobody"} }}, nil, hclog.NewNullLogger())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("ready")
		_ = s.Serve()
	}
}

// as is the test binary in a role, run by a user.
func as(t *testing.T, user uint32, what string, env ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be another user, so it is not shown here that another user is refused")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(slices.Clone(env), role+"="+what, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user, NoSetGroups: true}}
	return cmd
}

func asks(t *testing.T, user uint32, socket string) string {
	t.Helper()
	out, err := as(t, user, "ask", "SOCKET="+socket).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestAnotherUserIsRefusedByTheSocketsModeAndByWhoItIs(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	dir := state(t)
	s, err := Listen(dir, service(t, &fake{}), nil, hclog.New(&hclog.LoggerOptions{Output: &log, Mutex: &mu}))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if got := asks(t, 0, s.Path()); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("the host's own user: %s", got)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if got := asks(t, nobody, s.Path()); !strings.Contains(got, "permission denied") {
		t.Errorf("another user, by the mode: %s", got)
	}
	if err := os.Chmod(s.Path(), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := asks(t, nobody, s.Path()); !strings.HasPrefix(got, "no answer") {
		t.Errorf("another user, by who it is: %s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "peer is user 65534, not the host's") {
		t.Errorf("the log says %s", &log)
	}
}

func TestAHostThatMayNotBeAskedIsNotSwept(t *testing.T) {
	dir := state(t)
	cmd := as(t, nobody, "dial", "STATE="+dir)
	serve(t, dir, service(t, &fake{}))
	if err := os.Chmod(dir, 0o777); err != nil { // so that it could be swept
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != ErrNoHost.Error() {
		t.Errorf("%s, %v", out, err)
	}
	expectFiles(t, dir, "control.sock")
}

func TestRootMayAskTheHostOfAnotherUser(t *testing.T) {
	dir := state(t)
	cmd := as(t, nobody, "serve", "STATE="+dir)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	h, err := dial(t, dir).Host(ctx)
	if err != nil || h.Name != "of nobody" {
		t.Errorf("%+v, %v", h, err)
	}
}
