// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

// The roles are a host of its own, and a plugin that fights its guardian.
func init() {
	roles["adopting host"] = func() {
		if err := Adopt(); err != nil {
			fmt.Println(err)
			return
		}
		host()
	}
	roles["defiant"] = func() {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
		if os.Getenv("SPARED") == "" {
			_ = unix.Kill(os.Getppid(), unix.SIGKILL)
		}
		fmt.Println("ready")
		select {}
	}
}

// host starts SCRIPT, says its id and that of its guardian once it is ready, and
// then whatever becomes of it.
func host() {
	p := New(Spec{Path: os.Getenv("SCRIPT"), Env: append(os.Environ(), mode+"="+os.Getenv("PLAY"))})
	if err := p.Start(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = bufio.NewReader(p.Stdout()).ReadString('\n')
	fmt.Println(p.PID(), p.cmd.Process.Pid)
	<-p.Done()
	fmt.Println(p.Exit())
	select {}
}

// played is that role in a process of its own.
type played struct {
	*exec.Cmd

	lines            *bufio.Reader
	plugin, guardian int
}

func plays(t *testing.T, role string, env ...string) *played {
	t.Helper()
	h := &played{Cmd: exec.Command("/proc/self/exe")}
	h.Env = append([]string{mode + "=" + role, "PATH=/usr/bin:/bin"}, env...)
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Process.Kill(); _ = h.Wait() })
	h.lines = bufio.NewReader(out)
	if _, err := fmt.Fscan(h.lines, &h.plugin, &h.guardian); err != nil {
		t.Fatal(err)
	}
	_, _ = h.lines.ReadString('\n')
	return h
}

// runaway is a script that starts processes which leave its group, its session and
// its care, and the file in which their ids are.
func runaway(t *testing.T, then string) (path, ids string) {
	t.Helper()
	ids = filepath.Join(t.TempDir(), "ids")
	stay := script(t, `trap "" TERM HUP INT; echo $$ >>`+ids+`; exec sleep 1000`)
	return script(t, `
		setsid sh -c '`+stay+` & sh -c "setsid `+stay+` &" &'
		`+stay+` &
		while [ "$(wc -l 2>/dev/null <`+ids+`)" != 3 ]; do sleep 0.01; done
		echo ready
		`+then), ids
}

// expectNoneLeft: all of them have ended and were waited for.
func expectNoneLeft(t *testing.T, ids string) {
	t.Helper()
	text, err := os.ReadFile(ids)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(text))
	if len(all) != 3 {
		t.Fatalf("%q", all)
	}
	for _, id := range all {
		expectGone(t, "a process that ran away", number(t, id))
	}
}

// expectGone waits until there is no such process, also no zombie.
func expectGone(t *testing.T, what string, pid int) {
	t.Helper()
	for late := time.Now().Add(bound); ; time.Sleep(5 * time.Millisecond) {
		alive, zombie := lives(pid)
		if !alive && !zombie {
			return
		}
		if time.Now().After(late) {
			t.Errorf("%s (process %d) lives on: %v, is a zombie: %v", what, pid, alive, zombie)
			return
		}
	}
}

var path = []string{"PATH=/usr/bin:/bin"}

func TestWhatRanAwayEndsWithThePlugin(t *testing.T) {
	for name, tc := range map[string]struct {
		then, exit string
		end        func(*testing.T, *running)
	}{
		"that ends by itself": {"exit 3", "exit status 3", func(*testing.T, *running) {}},
		"that is killed by somebody": {"exec sleep 1000", "signal: killed", func(t *testing.T, r *running) {
			if err := unix.Kill(r.PID(), unix.SIGKILL); err != nil {
				t.Error(err)
			}
		}},
		"that the host kills": {"trap '' TERM; while :; do sleep 1; done", "signal: killed", func(t *testing.T, r *running) {
			if err := r.Kill(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		"that is stopped when the host kills it": {"exec sleep 1000", "signal: killed", func(t *testing.T, r *running) {
			if err := errors.Join(unix.Kill(r.PID(), unix.SIGSTOP), r.Kill(t.Context())); err != nil {
				t.Error(err)
			}
		}},
		"whose guardian was stopped": {"exec sleep 1000", "signal: killed", func(t *testing.T, r *running) {
			if err := errors.Join(unix.Kill(r.cmd.Process.Pid, unix.SIGSTOP), r.Kill(t.Context())); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			plugin, ids := runaway(t, tc.then)
			r := start(t, Spec{Path: plugin, Env: path})
			if got := r.line(t); got != "ready" {
				t.Fatal(got)
			}
			tc.end(t, r)
			r.ends(t)
			if got := r.Exit(); got != tc.exit {
				t.Errorf("ended with %q, want %q", got, tc.exit)
			}
			expectNoneLeft(t, ids) // at once: the end is the end of all of it
		})
	}
}

func TestWhatRanAwayEndsWithTheHost(t *testing.T) {
	for name, before := range map[string]func(*played) error{
		"that is killed": func(*played) error { return nil },
		"that is killed while the guardian is stopped":       func(h *played) error { return unix.Kill(h.guardian, unix.SIGSTOP) },
		"that is killed while the plugin is stopped":         func(h *played) error { return unix.Kill(h.plugin, unix.SIGSTOP) },
		"that is killed after somebody killed the guardian":  func(h *played) error { return unix.Kill(h.guardian, unix.SIGKILL) },
		"that is killed after somebody terminated the guard": func(h *played) error { return unix.Kill(h.guardian, unix.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			plugin, ids := runaway(t, "exec sleep 1000")
			h := plays(t, "adopting host", "SCRIPT="+plugin)
			if err := before(h); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "killed the guardian") {
				_, _ = h.lines.ReadString('\n') // the host has noticed
			}
			if err := h.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = h.Wait()
			expectNoneLeft(t, ids)
			expectEnd(t, "the plugin", h.plugin)
			expectEnd(t, "the guardian", h.guardian)
		})
	}
}

func TestWhenTheGuardianIsKilledTheHostNoticesAndEndsWhatItGuarded(t *testing.T) {
	plugin, ids := runaway(t, "exec sleep 1000")
	h := plays(t, "adopting host", "SCRIPT="+plugin)
	if err := unix.Kill(h.guardian, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if line, err := h.lines.ReadString('\n'); line != "signal: killed\n" {
		t.Fatalf("the host says %q, %v", line, err)
	}
	expectNoneLeft(t, ids)
	for _, pid := range []int{h.plugin, h.guardian} {
		expectGone(t, "the plugin or its guardian", pid)
	}
}

// A plugin may ask the kernel not to be killed with its parent, and kill that.
func TestAPluginThatKillsItsGuardianDoesNotOutliveIt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("while the host lives", func(t *testing.T) {
		h := plays(t, "adopting host", "SCRIPT="+self, "PLAY=defiant")
		if line, err := h.lines.ReadString('\n'); line != "signal: killed\n" {
			t.Fatalf("the host says %q, %v", line, err)
		}
		expectGone(t, "the plugin", h.plugin)
	})
	t.Run("nor the host, if it cannot", func(t *testing.T) {
		h := plays(t, "adopting host", "SCRIPT="+self, "PLAY=defiant", "SPARED=1")
		if err := h.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = h.Wait()
		expectEnd(t, "the plugin", h.plugin)
	})
}

func TestWhoeverHasExecutedTheHostMayHaveLeftItChildren(t *testing.T) {
	plugin, _ := runaway(t, "exec sleep 1000")
	shell := exec.Command("/bin/sh", "-c", `sleep 1000 & echo $!; exec /proc/`+fmt.Sprint(os.Getpid())+`/exe`)
	shell.Env = []string{mode + "=adopting host", "SCRIPT=" + plugin, path[0]}
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shell.Process.Kill(); _ = shell.Wait() })
	var inherited, child, guard int
	lines := bufio.NewReader(out)
	if _, err := fmt.Fscan(lines, &inherited, &child, &guard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(inherited, unix.SIGKILL) })
	if err := unix.Kill(guard, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, _ = lines.ReadString('\n')
	if line, err := lines.ReadString('\n'); line != "signal: killed\n" {
		t.Fatalf("the host says %q, %v", line, err)
	}
	expectGone(t, "the plugin", child)
	if alive, _ := lives(inherited); !alive {
		t.Error("what is none of the host's business was ended")
	}
}

func TestTheGuardianPassesSignalsOnAndTheWayThatThePluginEnds(t *testing.T) {
	for _, tc := range []struct {
		body string
		sent unix.Signal
		want string
	}{
		{`trap 'exit 5' TERM`, unix.SIGTERM, "exit status 5"},
		{`trap 'exit 6' USR1`, unix.SIGUSR1, "exit status 6"},
		{``, unix.SIGHUP, "signal: hangup"},
		{`trap 'kill -SEGV $$' TERM`, unix.SIGTERM, "signal: segmentation fault"},
		{`trap 'kill -ABRT $$' TERM`, unix.SIGTERM, "signal: aborted"},
		{`trap 'kill -QUIT $$' TERM`, unix.SIGTERM, "signal: quit"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			r := sh(t, tc.body+"\necho ready; while :; do sleep 0.01; done")
			r.line(t)
			if err := unix.Kill(r.cmd.Process.Pid, tc.sent); err != nil {
				t.Fatal(err)
			}
			r.ends(t)
			if got := r.Exit(); got != tc.want {
				t.Errorf("ended with %q, want %q", got, tc.want)
			}
		})
	}
}

func TestThePluginHasItsThreePipesAndNothingThatTheHostWasExecutedWith(t *testing.T) {
	inherited, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	r := sh(t, `exec ls -x /proc/self/fd`)
	if got := strings.Join(strings.Fields(r.line(t)), " "); got != "0 1 2 3" { // 3 is what ls reads
		t.Errorf("its descriptors are %s", got)
	}
}

func TestThePluginsSessionIsNotTheHosts(t *testing.T) {
	r := sh(t, `exec cut -d' ' -f6 /proc/self/stat`)
	session, _ := unix.Getsid(0)
	if theirs := number(t, r.line(t)); theirs == session || theirs != r.cmd.Process.Pid {
		t.Errorf("its session is %d, the host's %d", theirs, session)
	}
}

func TestTheIDIsThePluginsOwn(t *testing.T) {
	r := sh(t, `echo $$; sleep 1000`)
	if got := number(t, r.line(t)); got != r.PID() {
		t.Errorf("the plugin is process %d, PID says %d", got, r.PID())
	}
}

func TestAProgramThatCannotBeExecutedIsSaidByItsOwnName(t *testing.T) {
	for want, text := range map[error]string{unix.ENOEXEC: "no program\n", unix.ENOENT: "#!/no/such/interpreter\n"} {
		program := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		err := New(Spec{Path: program, Env: path}).Start(t.Context())
		if !errors.Is(err, want) || !strings.Contains(err.Error(), program) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	expectChildless(t)
}

// expectChildless: nothing of what was not started is left.
func expectChildless(t *testing.T) {
	t.Helper()
	if left := guardian.Children(); len(left) != 0 {
		t.Errorf("children %v are left", left)
	}
}

func TestAGuardianIsOfNoUseByHand(t *testing.T) {
	out, err := exec.Command("/proc/self/exe", guardian.Word, "/bin/true").CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "of no use by hand") {
		t.Errorf("%v: %s", err, out)
	}
}
