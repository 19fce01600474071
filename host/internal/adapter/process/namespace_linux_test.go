// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/profile"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

func init() {
	// A host that nobody may trace, as the real one.
	roles["concealed host"] = func() {
		if err := errors.Join(Adopt(), Conceal()); err != nil {
			fmt.Println(err)
			return
		}
		rules, err := profile.Rules(profile.Program{Path: os.Getenv("SCRIPT")})
		if err != nil {
			fmt.Println(err)
			return
		}
		policy := sandbox.For(sandbox.Probe(), rules)
		policy.Strict = true
		p := New(Spec{Path: os.Getenv("SCRIPT"), Env: path, Dir: "/", Sandbox: policy})
		if err := p.Start(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
		said, _ := io.ReadAll(p.Stdout())
		fmt.Print(string(said))
	}
	roles["host without namespaces"] = func() {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(Strict(context.Background()))
		for _, n := range Namespaces() {
			fmt.Println(n.Kind, n.Err)
		}
	}
}

// needsNamespaces says loudly where a machine has none.
func needsNamespaces(t *testing.T) sandbox.Support {
	t.Helper()
	s := needsKernel(t)
	for _, n := range Namespaces() {
		if n.Err != nil {
			t.Skipf("SKIPPED: this machine gives no %s namespace: %v", n.Kind, n.Err)
		}
	}
	if err := Strict(t.Context()); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	return s
}

// strictly is the policy of a script in namespaces, and a directory of its own.
func strictly(t *testing.T, body string) (Spec, string) {
	t.Helper()
	s := needsNamespaces(t)
	own, program := t.TempDir(), script(t, body)
	rules, err := profile.Rules(profile.Program{Path: program})
	if err != nil {
		t.Fatal(err)
	}
	policy := sandbox.For(s, append(rules, sandbox.Rule{Path: own, Access: sandbox.Own}))
	policy.Strict = true
	return Spec{Path: program, Env: append([]string{"OWN=" + own}, path...), Dir: own, Sandbox: policy}, own
}

func TestAStrictlyConfinedProcessHasItselfAndWhatIsGrantedAndNothingElse(t *testing.T) {
	policy := sandbox.For(needsNamespaces(t), nil)
	policy.Strict = true
	const absent = "no such file or directory"
	want := map[string]string{
		"own file": ok, "own socket": ok, "granted": ok,
		"write granted": "read-only file system", "beside": absent, "home": absent, "environ of the host": absent, "a shell": absent,
		"unix": denied, "unix datagram": denied, "abstract": denied, "tcp": denied, "udp": denied, "mptcp": denied, "raw": denied, "packet": denied,
		"vsock": denied, "netlink": denied, "a family in more than 32 bits": denied, "a pair of datagrams": denied, "a pair": ok,
		"ptrace": denied, "unshare": denied, "clone into a namespace": denied, "clone3": "function not implemented",
		"io_uring": denied, "userfaultfd": denied, "keyctl": denied, "personality": denied, "bpf": denied,
		"signal to the guardian": denied, "capabilities": "0000000000000000 0000000000000000 1",
	}
	expect(t, confined(t, policy), want)
	t.Run("and may connect to sockets that it sees", func(t *testing.T) {
		policy.Connects = true
		// Both listen outside: one has no path in there, the other is of another network.
		want["unix"], want["abstract"] = absent, "connection refused"
		expect(t, confined(t, policy), want)
	})
}

// tells are the lines that a script has written to the file "said" of its directory.
func tells(t *testing.T, own string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(own, "said"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestAProcessInNamespacesIsTheUserThatTheHostIsAndItsGuardianTheFirst(t *testing.T) {
	spec, own := strictly(t, `{ echo $PPID; id -u; id -g; pwd; cat /proc/self/uid_map; ls /proc | grep -c '^[0-9]'; ls /; } >$OWN/said; echo ready; sleep 1000`)
	spec.Sandbox.Landlock = 0 // it forbids to look
	r := start(t, spec)
	r.line(t)
	if alive, _ := lives(r.PID()); !alive || !guardian.Descends(r.PID(), r.cmd.Process.Pid) || r.PID() == r.cmd.Process.Pid {
		t.Errorf("the host takes it for %d, its guardian is %d", r.PID(), r.cmd.Process.Pid)
	}
	uid := fmt.Sprint(os.Getuid())
	want := []string{"1", uid, fmt.Sprint(os.Getgid()), own, uid + " " + uid + " 1", "4"} // it, its guardian, ls and grep
	said := tells(t, own)
	for i, w := range want {
		if got := strings.Join(strings.Fields(said[i]), " "); got != w {
			t.Errorf("%q, want %q", got, w)
		}
	}
	for _, name := range said[len(want):] {
		if slices.Contains([]string{"root", "home", "run", "var", "opt", "srv", "mnt", "boot"}, name) {
			t.Errorf("it sees /%s", name)
		}
	}
}

// found are processes that sleep as long as mark says, by their ids outside.
func found(t *testing.T, mark string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), "sleep\x00"+mark) {
			pids = append(pids, number(t, filepath.Base(filepath.Dir(file))))
		}
	}
	return pids
}

func TestInNamespacesWhatRanAwayEndsWithThePlugin(t *testing.T) {
	for name, tc := range map[string]struct {
		then, exit string
		end        func(*testing.T, *running)
	}{
		"that ends by itself":       {"exit 3", "exit status 3", func(*testing.T, *running) {}},
		"that ends by its own hand": {"kill -ABRT $$", "signal: aborted", func(*testing.T, *running) {}},
		"that the host kills": {"trap '' TERM; while :; do sleep 1; done", "signal: killed", func(t *testing.T, r *running) {
			if err := r.Kill(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		"that somebody terminates": {"exec sleep 1000", "signal: terminated", func(t *testing.T, r *running) {
			if err := unix.Kill(r.cmd.Process.Pid, unix.SIGTERM); err != nil {
				t.Error(err)
			}
		}},
		"whose guardian was stopped": {"exec sleep 1000", "signal: killed", func(t *testing.T, r *running) {
			if err := errors.Join(unix.Kill(r.cmd.Process.Pid, unix.SIGSTOP), r.Kill(t.Context())); err != nil {
				t.Error(err)
			}
		}},
		"whose guardian is killed": {"exec sleep 1000", "signal: killed", func(t *testing.T, r *running) {
			if err := unix.Kill(r.cmd.Process.Pid, unix.SIGKILL); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("1000.%d", time.Now().UnixNano())
			spec, _ := strictly(t, `
				sleep `+mark+` &
				setsid sh -c 'setsid sleep `+mark+` & exec sleep `+mark+`' &
				while [ "$(cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -c '^`+mark+`$')" != 3 ]; do sleep 0.01; done
				echo ready
				`+tc.then)
			spec.Sandbox.Landlock = 0 // it forbids to look at others
			r := start(t, spec)
			r.line(t)
			tc.end(t, r)
			r.ends(t)
			if got := r.Exit(); got != tc.exit {
				t.Errorf("ended with %q, want %q", got, tc.exit)
			}
			for _, pid := range found(t, mark) {
				expectGone(t, "a process that ran away", pid)
			}
		})
	}
}

// Nobody else waits for what a plugin in a pid namespace leaves behind.
func TestInNamespacesNoZombieIsLeft(t *testing.T) {
	spec, own := strictly(t, `
		for i in 1 2 3; do sh -c 'sh -c "exit 1" & exec true'; done
		while cat /proc/[0-9]*/stat | grep -q ') Z '; do sleep 0.01; done
		ls -d /proc/[0-9]* >$OWN/said; echo ready; sleep 1000`)
	spec.Sandbox.Landlock = 0
	start(t, spec).line(t)
	if left := tells(t, own); len(left) != 2 { // the guardian and the script
		t.Errorf("%q are left", left)
	}
}

func TestOnlyWhatAProcessInNamespacesStartedMayServeItsSocket(t *testing.T) {
	s := needsNamespaces(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := profile.Rules(profile.Program{Path: self})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"serve", "serve by another"} {
		t.Run(role, func(t *testing.T) {
			dir := socketDir(t)
			policy := sandbox.For(s, append(rules, sandbox.Rule{Path: dir, Access: sandbox.Own}))
			policy.Strict = true
			socket := filepath.Join(dir, "plugin.sock")
			r := start(t, Spec{Path: self, SocketDir: dir, Dir: dir, Sandbox: policy, Env: []string{mode + "=" + role, "SOCKET=" + socket}})
			r.line(t)
			if _, _, err := r.PluginToHost("unix", socket); err != nil {
				t.Fatal(err)
			}
			conn, err := r.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		})
	}
}

// as starts this program in a role, as somebody.
func as(t *testing.T, attr *syscall.SysProcAttr, role string, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	copied := filepath.Join(public(t), "process.test")
	if err := errors.Join(err, os.WriteFile(copied, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), copied)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = append([]string{mode + "=" + role, path[0]}, env...), "/", attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// public is a directory that everybody may enter.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tw-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAHostThatIsNotRootAndMayNotBeTracedConfinesStrictly(t *testing.T) {
	needsNamespaces(t)
	attr, uid := &syscall.SysProcAttr{}, os.Getuid()
	if uid == 0 {
		uid = 65534
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	program := filepath.Join(public(t), "script")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nid -u\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said := as(t, attr, "concealed host", "SCRIPT="+program); said != strconv.Itoa(uid) {
		t.Error(said)
	}
}

func TestWhatAMachineDoesNotGiveIsNamed(t *testing.T) {
	needsNamespaces(t)
	said := as(t, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER, // whose own bound is not that of the machine
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}, "host without namespaces")
	const full = "no space left on device"
	for _, want := range []string{
		"sandbox: user namespace: " + full + " (sysctl user.max_user_namespaces is 0); docs/isolation.md", "\nuser " + full, "\nnetwork " + full,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
}

func TestWhatCannotBeStartedForAnotherReasonIsNotBlamedOnNamespaces(t *testing.T) {
	spec, _ := strictly(t, `exit`)
	spec.Dir = filepath.Join(spec.Dir, "nowhere")
	if err := New(spec).Start(t.Context()); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "namespace") {
		t.Error(err)
	}
}

func TestInNamespacesAProcessMayBeAUserOfItsOwnAndStillEnds(t *testing.T) {
	support, stage := needsNamespaces(t), newStage(t)
	const user = account.First
	own, program := filepath.Join(stage.dir, "own"), filepath.Join(stage.dir, "script")
	err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, user, user),
		os.WriteFile(program, []byte("#!/bin/sh\n{ id -u; id -g; id -G; cat /proc/self/uid_map; } >$OWN/said; echo ready; trap '' TERM; sleep 1000\n"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := profile.Rules(profile.Program{Path: program})
	if err != nil {
		t.Fatal(err)
	}
	policy := sandbox.For(support, append(rules, sandbox.Rule{Path: own, Access: sandbox.Own}, sandbox.Rule{Path: "/proc", Access: sandbox.Read}))
	policy.Strict, policy.User = true, user
	r := start(t, Spec{Path: program, Env: append([]string{"OWN=" + own}, path...), Dir: "/", Sandbox: policy})
	r.line(t)
	u := fmt.Sprint(user)
	if said := strings.Fields(strings.Join(tells(t, own), " ")); !slices.Equal(said, []string{u, u, u, "0", "0", "1", u, u, "1"}) {
		t.Errorf("%q", said)
	}
	if err := r.Kill(t.Context()); err != nil || r.Exit() != "signal: killed" {
		t.Error(err, r.Exit())
	}
}

func TestInNamespacesAFileThatIsNotThereBringsItsDirectoryWithoutWhatIsHidden(t *testing.T) {
	spec, own := strictly(t, `
		cd $AROUND && { echo * ; echo run/*; echo state/*; cat link/file; } >$OWN/said 2>&1
		echo x >run/home/made; { echo x >made; } 2>>$OWN/said
		echo ready; sleep 1000`)
	around := t.TempDir()
	for _, dir := range []string{"run/home", "run/other", "state", "real"} {
		if err := os.MkdirAll(filepath.Join(around, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(around, "real", "file")
	err := errors.Join(os.WriteFile(file, []byte("granted\n"), 0o600), os.WriteFile(filepath.Join(around, "state", "key"), nil, 0o600),
		os.Symlink("real", filepath.Join(around, "link")))
	if err != nil {
		t.Fatal(err)
	}
	spec.Env = append(spec.Env, "AROUND="+around)
	spec.Sandbox.Landlock = 0
	spec.Sandbox.Hidden = []string{filepath.Join(around, "run"), filepath.Join(around, "state")}
	spec.Sandbox.Rules = append(spec.Sandbox.Rules, sandbox.Rule{Path: filepath.Join(around, "shop.db-wal"), Access: sandbox.Read},
		sandbox.Rule{Path: filepath.Join(around, "run", "home"), Access: sandbox.Own},
		sandbox.Rule{Path: file, Access: sandbox.Read, Named: filepath.Join(around, "link", "file")})
	start(t, spec).line(t)
	said := tells(t, own)
	for i, want := range []string{"link real run state", "run/home", "state/*", "granted", "Read-only file system"} {
		if i >= len(said) || !strings.HasSuffix(said[i], want) {
			t.Fatalf("%q, want %q at %d", said, want, i)
		}
	}
	if _, err := os.Stat(filepath.Join(around, "run", "home", "made")); err != nil {
		t.Error(err)
	}
}
