// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// dead leaves a socket that nobody listens on, as a host that was killed does.
func dead(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

func expectFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), files(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSocketIsTheHostsUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the directory's access list guards it")
	}
	dir := state(t)
	s := serve(t, dir, service(t, &fake{}))
	if s.Path() != filepath.Join(dir, "control.sock") {
		t.Errorf("it is %s", s.Path())
	}
	info, err := os.Lstat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestASecondHostHasASocketOfItsOwnAndTheFirstIsAsked(t *testing.T) {
	dir := state(t)
	first, second := service(t, &fake{}), service(t, &fake{})
	second.About = func() Host { return Host{Name: "second"} }
	own := fmt.Sprintf("control-%d.sock", os.Getpid())

	t.Run("both serve", func(t *testing.T) {
		serve(t, dir, first)
		if s := serve(t, dir, second); filepath.Base(s.Path()) != own {
			t.Errorf("the second is %s", s.Path())
		}
		expectFiles(t, dir, own, "control.sock")
		h, err := dial(t, dir).Host(t.Context())
		if err != nil || h.Name != "toolwharf" {
			t.Errorf("%+v, %v", h, err)
		}
	})
	expectFiles(t, dir) // both have taken theirs away

	t.Run("only a further one serves", func(t *testing.T) {
		one, err := Listen(dir, first, nil, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		serve(t, dir, second)
		if err := one.Close(t.Context()); err != nil { // it was never served
			t.Fatal(err)
		}
		if _, err := one.listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("it still listens: %v", err)
		}
		expectFiles(t, dir, own)
		h, err := dial(t, dir).Host(t.Context())
		if err != nil || h.Name != "second" {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

func TestWithoutAHostThereIsNoneAndDeadSocketsAreSwept(t *testing.T) {
	dir := state(t)
	if _, err := Dial(dir); !errors.Is(err, ErrNoHost) {
		t.Errorf("%v", err)
	}
	if _, err := Dial(filepath.Join(dir, "nowhere")); !errors.Is(err, ErrNoHost) {
		t.Errorf("%v", err)
	}
	dead(t, filepath.Join(dir, "control.sock"))
	dead(t, filepath.Join(dir, "control-1.sock"))
	dead(t, filepath.Join(dir, "other.sock"))
	if _, err := Dial(dir); !errors.Is(err, ErrNoHost) {
		t.Errorf("%v", err)
	}
	expectFiles(t, dir, "other.sock")
}

func TestADeadSocketIsInNobodysWay(t *testing.T) {
	dir := state(t)
	dead(t, filepath.Join(dir, "control.sock"))
	dead(t, filepath.Join(dir, "control-1.sock"))
	s := serve(t, dir, service(t, &fake{}))
	if filepath.Base(s.Path()) != "control.sock" {
		t.Errorf("it is %s", s.Path())
	}
	if _, err := dial(t, dir).Host(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.Remove(s.Path()); err != nil { // now only the dead one is there
		t.Fatal(err)
	}
	if _, err := Dial(dir); !errors.Is(err, ErrNoHost) {
		t.Errorf("%v", err)
	}
	expectFiles(t, dir)
}

func TestAStateDirectoryMayBeNamedLikeAPattern(t *testing.T) {
	dir := filepath.Join(state(t), `a[b]*?\c`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip(err)
	}
	one, err := Listen(dir, service(t, &fake{}), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	serve(t, dir, service(t, &fake{}))
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, dir).Host(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAStateDirectoryThatCannotHoldASocketSaysWhy(t *testing.T) {
	for name, dir := range map[string]string{
		"that is not there": filepath.Join(state(t), "nowhere"),
		"that is too long":  filepath.Join(state(t), string(make([]byte, 200))),
	} {
		if _, err := Listen(dir, service(t, &fake{}), nil, hclog.NewNullLogger()); err == nil {
			t.Errorf("a directory %s: no error", name)
		}
	}
}

func TestAClosedHostIsNoHost(t *testing.T) {
	dir := state(t)
	s, err := Listen(dir, service(t, &fake{}), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	c := dial(t, dir)
	if _, err := c.Host(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve ended with %v", err)
	}
	expectFiles(t, dir)
	if _, err := c.Host(t.Context()); err == nil {
		t.Error("it still answers")
	}
}
