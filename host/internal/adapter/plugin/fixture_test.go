// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// bound is how long something may take that a busy machine does late.
const bound = 30 * time.Second

// echo is the example plugin, built once.
var echo string

func TestMain(m *testing.M) {
	if act := os.Getenv(act); act != "" {
		play(act)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tw-echo-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	echo = filepath.Join(dir, "echo")
	build := exec.Command("go", "build", "-C", "../../../../examples", "-o", echo, "./echo")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("%v: %v\n%s", build, err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		return 1
	}
	return code
}

// harness launches plugins into a directory of its own.
type harness struct {
	*Launcher

	t *testing.T
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	dir, err := os.MkdirTemp("", "tw-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &harness{&Launcher{RunDir: dir, MaxResult: 1 << 20, Log: hclog.NewNullLogger()}, t}
}

// desired is an adapter that runs a program.
func desired(path string) *adapter.Desired {
	return &adapter.Desired{
		Name: "orders", Program: adapter.Program{Plugin: "orders", Path: path}, Configured: true, Dir: os.TempDir(),
		Limits: adapter.Limits{Timeout: bound, MaxInFlight: 16, StartTimeout: bound},
	}
}

// started starts what must start, and drains it with the test.
func (h *harness) started(d *adapter.Desired) adapter.Instance {
	h.t.Helper()
	in, err := h.Start(h.t.Context(), d)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { h.drained(in) })
	return in
}

// drained drains an instance, once or again, and expects that nothing of it is
// left.
func (h *harness) drained(in adapter.Instance) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if err := in.Drain(ctx); err != nil {
		h.t.Error(err)
	}
	select {
	case <-in.Done():
	default:
		h.t.Error("it runs on")
	}
	h.expectNothingLeft(in.About().PID)
}

// expectNothingLeft: no socket directory, no process, also no zombie.
func (h *harness) expectNothingLeft(pids ...int) {
	h.t.Helper()
	left, err := os.ReadDir(h.RunDir)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(left) != 0 {
		h.t.Errorf("%v is left in the directory of sockets", left)
	}
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			h.t.Errorf("process %d is left", pid)
		}
	}
}

// fails starts what must not start, and expects that nothing is left of it.
func (h *harness) fails(d *adapter.Desired) *adapter.StartError {
	h.t.Helper()
	in, err := h.Start(h.t.Context(), d)
	if err == nil {
		h.drained(in)
		h.t.Fatal("it has started")
	}
	var e *adapter.StartError
	if !errors.As(err, &e) {
		h.t.Fatalf("%T: %v", err, err)
	}
	h.expectNothingLeft()
	return e
}

// attempt of a tool with the arguments.
func attempt(t testing.TB, declared, args string) *tool.Attempt {
	t.Helper()
	parsed, err := tool.ParseArgs([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Attempt{
		Call: &tool.Call{Op: tool.OpTool, Name: "orders_" + declared, Args: parsed},
		ID:   "call_1", RunID: "run_1", N: 1, Spec: tool.Spec{Declared: declared}, Args: parsed,
	}
}

// result is the result of a call that must succeed.
func result(t testing.TB, r tool.Runner, a *tool.Attempt) *tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	out, err := r.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*tool.Result)
}

// failure is the error of a call that must not succeed.
func failure(t testing.TB, out tool.Outcome, err error) *tool.Error {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, %T: %v", out, err, err)
	}
	return e
}

// expectWords: text holds each of the words.
func expectWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}
