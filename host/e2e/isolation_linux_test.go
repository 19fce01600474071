// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

// somebody is a user who is nobody in particular.
const somebody = 65534

// intruders is a host with plugins that try to get out of their sandboxes.
type intruders struct {
	*host

	caller           *caller
	all              map[string]control.Adapter
	program, plugins string
	run, state       string // the host's directories
	guardian         int    // of the one without grants
	tcp              string // where something listens that one of them was granted
	homes            map[string][]string
	refused          string // what the system says
}

// intruding are those that are confined.
var intruding = []string{"bare", "granted", "connected"}

// tries has an adapter attempt something, and returns what it says of it.
func (i *intruders) tries(t *testing.T, adapter, attempt string) string {
	t.Helper()
	a := i.caller.call(t.Context(), adapter+"_intrude", fmt.Sprintf(`{"text":%q}`, attempt))
	if !a.ok() {
		t.Fatalf("%s: %v", attempt, a)
	}
	return a.text
}

const (
	works   = "it worked"
	refused = "permission denied|operation not permitted|invalid cross-device link" // a hard link, to Landlock
)

// expects holds what came of an attempt to one of the outcomes.
func (i *intruders) expects(t *testing.T, name, adapter, attempt, outcomes string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		said := i.tries(t, adapter, attempt)
		for outcome := range strings.SplitSeq(outcomes, "|") {
			if strings.HasSuffix(said, outcome) {
				return
			}
		}
		t.Errorf("%s: %q, want %s", attempt, said, outcomes)
	})
}

func whole(t *testing.T) {
	t.Helper()
	if s := sandbox.Probe(); !s.Whole() {
		t.Skipf("this kernel does not hold all of it: %v", sandbox.For(s, nil).Missing(s))
	}
}

// intrude starts a host with them, in sandboxes of one mode.
func intrude(t *testing.T, mode string) *intruders {
	t.Helper()
	dir, plugins := workspace(t, "")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"data", "mine"} {
		if err := os.Mkdir(at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"data/granted", "data/beside", "secret", "toolwharf.lock"} {
		if err := os.WriteFile(at(f), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	abstract, err := net.Listen("unix", "@"+dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = abstract.Close() })
	config := fmt.Sprintf(`
rules: [{allow: ["*"]}]
adapters:
  bare: {plugin: mischief, env: {MISCHIEF: intrudes}, sandbox: %[4]s}
  granted:
    plugin: mischief
    sandbox: %[4]s
    env: {MISCHIEF: intrudes}
    config: {read: [%[1]q], write: [%[2]q]}
  connected:
    plugin: mischief
    sandbox: %[4]s
    env: {MISCHIEF: intrudes}
    config: {connect: [%[3]q]}
  free: {plugin: mischief, env: {MISCHIEF: intrudes}, sandbox: off}
`, at("data/granted"), at("mine"), tcp.Addr(), mode)
	file := at("toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Without a lock that counts: its digests are none of this test.
	if err := errors.Join(os.Remove(at("toolwharf.lock")), os.WriteFile(file, append(text, config...), 0o600)); err != nil {
		t.Fatal(err)
	}
	i := &intruders{program: install(t, "mischief", plugins), plugins: plugins, tcp: tcp.Addr().String(), refused: refused, homes: map[string][]string{}}
	i.host = serve(t, dir)
	i.caller, i.all = i.host.caller(), i.moored()
	for name, a := range i.all {
		if a.State != "ready" {
			t.Fatalf("%s is %s: %s", name, a.State, a.Cause)
		}
	}
	for _, name := range intruding {
		if i.homes[name] = strings.Fields(i.tries(t, name, "home")); len(i.homes[name]) != 2 {
			t.Fatalf("%s has %q", name, i.homes[name])
		}
	}
	i.run, i.state, i.guardian = filepath.Dir(i.homes["bare"][0]), at(".toolwharf"), parent(t, i.all["bare"].PID)
	return i
}

// in is a path of their workspace.
func (i *intruders) in(name string) string { return filepath.Join(i.dir, name) }

// control is the host's socket.
func (i *intruders) control() string { return filepath.Join(i.state, "control.sock") }

// getNowhere: what none of them may, whatever it was granted.
func (i *intruders) getNowhere(t *testing.T) {
	t.Helper()
	hostPID, freePID := i.cmd.Process.Pid, i.all["free"].PID
	homes, at, sockets := i.homes, i.in, map[string]string{}
	for _, name := range intruding {
		sockets[name] = i.tries(t, name, "socket_path")
	}
	for _, name := range intruding {
		i.expects(t, name+" writes its home", name, "write "+homes[name][0]+"/f", works)
		i.expects(t, name+" writes its temporary directory", name, "write "+homes[name][1]+"/f", works)
	}
	i.expects(t, "reads what is granted", "granted", "read "+at("data/granted"), works)
	i.expects(t, "writes what is granted", "granted", "write "+at("mine/f"), works)
	i.expects(t, "reads its own program", "bare", "read "+i.program, works)
	i.expects(t, "resolves nothing and still has its certificates", "bare", "read /dev/null", "EOF")

	forbidden := map[string]string{
		"write what may be read":               "write " + at("data/granted"),
		"cut off what may be read":             "truncate " + at("data/granted"),
		"remove what may be read":              "remove " + at("data/granted"),
		"read a file beside":                   "read " + at("data/beside"),
		"read a file by a link":                "symlink " + at("data/beside"),
		"read a file by a hard link":           "hardlink " + at("data/beside"),
		"take a file away":                     "rename " + at("data/beside"),
		"list the directory":                   "read " + at("data"),
		"read by /proc/self/root":              "read /proc/self/root" + at("data/beside"),
		"read by /proc/PID/root":               fmt.Sprintf("read /proc/%d/root%s", hostPID, at("data/beside")),
		"read by /proc/self/cwd":               "read /proc/self/cwd/secret",
		"read the configuration":               "read " + at("toolwharf.yaml"),
		"write the configuration":              "write " + at("toolwharf.yaml"),
		"write a lock":                         "write " + at("toolwharf.lock"),
		"read the store":                       "read " + filepath.Join(i.state, "toolwharf.db"),
		"write the store":                      "write " + filepath.Join(i.state, "toolwharf.db"),
		"read a key":                           "read " + filepath.Join(i.state, "ledger.key"),
		"list the state":                       "read " + i.state,
		"add a plugin":                         "write " + filepath.Join(i.plugins, "another"),
		"remove its own program":               "remove " + i.program,
		"replace the host's program":           "rename " + toolwharf,
		"list the plugins":                     "read " + i.plugins,
		"list the sockets of others":           "read " + i.run,
		"read passwords":                       "read /etc/shadow",
		"read accounts":                        "read /etc/passwd",
		"read a home":                          "read /root",
		"write /tmp":                           "write /tmp/toolwharf-intruder",
		"write shared memory":                  "write /dev/shm/toolwharf-intruder",
		"make a device":                        "device",
		"give a file away":                     "chown",
		"read the environment of the host":     fmt.Sprintf("read /proc/%d/environ", hostPID),
		"read the memory of the host":          fmt.Sprintf("memory %d", hostPID),
		"read the memory file of the host":     fmt.Sprintf("read /proc/%d/mem", hostPID),
		"read the command line of the host":    fmt.Sprintf("read /proc/%d/cmdline", hostPID),
		"trace the host":                       fmt.Sprintf("ptrace %d", hostPID),
		"signal the host":                      fmt.Sprintf("signal %d", hostPID),
		"read the environment of the guardian": fmt.Sprintf("read /proc/%d/environ", i.guardian),
		"trace the guardian":                   fmt.Sprintf("ptrace %d", i.guardian),
		"signal the guardian":                  fmt.Sprintf("signal %d", i.guardian),
		"read the environment of another":      fmt.Sprintf("read /proc/%d/environ", freePID),
		"trace another":                        fmt.Sprintf("ptrace %d", freePID),
		"signal another":                       fmt.Sprintf("signal %d", freePID),
		"limit the host":                       fmt.Sprintf("limits %d", hostPID),
		"limit another":                        fmt.Sprintf("limits %d", freePID),
		"slow the host down":                   fmt.Sprintf("pace %d", hostPID),
		"take the host's processors":           fmt.Sprintf("processors %d", hostPID),
		"share memory with its user":           "shared_memory",
		"execute what it has made":             "made",
		"remove the configuration":             "remove " + at("toolwharf.yaml"),
		"take the control socket away":         "remove " + i.control(),
		"list the caches":                      "read " + filepath.Join(i.state, "cache"),
		"execute a shell":                      "exec /bin/sh",
		"execute the host":                     "exec " + toolwharf,
		"open io_uring":                        "io_uring",
		"open userfaultfd":                     "userfaultfd",
		"use keys":                             "keyctl",
		"change its personality":               "personality",
		"make a user namespace":                "unshare",
		"change its root":                      "chroot",
		"become somebody else":                 "setuid",
		"open MPTCP":                           fmt.Sprintf("socket %d %d 262", unix.AF_INET, unix.SOCK_STREAM),
		"open a raw socket":                    fmt.Sprintf("socket %d %d %d", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"open a packet socket":                 fmt.Sprintf("socket %d %d 0", unix.AF_PACKET, unix.SOCK_RAW),
		"open vsock":                           fmt.Sprintf("socket %d %d 0", unix.AF_VSOCK, unix.SOCK_STREAM),
		"open netlink":                         fmt.Sprintf("socket %d %d 0", unix.AF_NETLINK, unix.SOCK_RAW),
		"open UDP":                             fmt.Sprintf("socket %d %d 0", unix.AF_INET, unix.SOCK_DGRAM),
		"send a datagram to a path":            "dial unixgram " + i.control(),
		"connect to another port":              "dial tcp " + strings.TrimPrefix(i.base, "http://"),
		"connect to an abstract socket":        "dial unix @" + i.dir,
		"listen on a port":                     "listen tcp 127.0.0.1:0",
	}
	for n, name := range intruding {
		t.Run(name, func(t *testing.T) {
			for what, attempt := range forbidden {
				i.expects(t, what, name, attempt, i.refused)
			}
			other := homes[intruding[(n+1)%len(intruding)]]
			i.expects(t, "read another's home", name, "read "+other[0]+"/f", i.refused)
			i.expects(t, "read another's temporary files", name, "read "+other[1]+"/f", i.refused)
			i.expects(t, "write another's temporary files", name, "write "+other[1]+"/g", i.refused)
			i.expects(t, "read the host's stdin", name, "stdin", "EOF")
			i.expects(t, "find descriptors of others", name, "descriptors", "0 1 2")
			// What Landlock does not cover ends at a user of its own, and nowhere else: that
			// is what is said of it.
			unheld, said := works, i.all[name].Sandbox
			if ownUser.MatchString(said) || strings.HasPrefix(said, "strict") { // which does not see them
				unheld = i.refused
			}
			i.expects(t, "change the mode of a file of the host's user", name, "mode "+at("data/beside"), unheld)
			i.expects(t, "change the times of a file of the host's user", name, "times "+at("data/beside"), unheld)
			theirs := sockets[intruding[(n+1)%len(intruding)]]
			if reaches := name == "connected" && unheld == works; !reaches {
				i.expects(t, "connect to another's socket", name, "dial unix "+theirs, i.refused)
			} else {
				i.expects(t, "connect to another's socket, which will not speak with it", name, "ask "+theirs, "EOF|connection reset by peer|broken pipe")
			}
			if name != "connected" {
				i.expects(t, "connect by TCP", name, "dial tcp "+i.tcp, i.refused)
				i.expects(t, "connect to the host's socket", name, "dial unix "+i.control(), i.refused)
			}
		})
	}
}

func TestAPluginGetsOutOfItsSandboxByNoWay(t *testing.T) {
	t.Parallel()
	whole(t)
	i := intrude(t, "auto")
	i.getNowhere(t)
	all, at, hostPID := i.all, i.in, i.cmd.Process.Pid
	t.Run("what is said of it is so", func(t *testing.T) {
		const held = "landlock "
		for name, wants := range map[string][]string{
			"bare": {held, "seccomp, no new privileges, no capabilities"}, "granted": {held}, "free": {"off"},
			"connected": {held, "; not held: the hosts that it connects to (landlock knows ports only)"},
		} {
			for _, want := range wants {
				if said := all[name].Sandbox; !strings.Contains(said, want) {
					t.Errorf("%s: %s, want %q", name, said, want)
				}
			}
			if holds := !strings.Contains(all[name].Sandbox, "not held"); holds != (name != "connected") {
				t.Errorf("%s: %s", name, all[name].Sandbox)
			}
		}
		if said := fmt.Sprint(all["granted"].Reach, all["connected"].Reach, all["bare"].Reach); said !=
			fmt.Sprintf("[read %s write %s] [connect %s] []", at("data/granted"), at("mine"), i.tcp) {
			t.Error(said)
		}
	})
	i.expects(t, "connects where it may", "connected", "dial tcp "+i.tcp, works)
	// The status says so: nothing of this kernel holds it.
	const hungUp = "EOF|connection reset by peer|broken pipe"
	unheld, unanswered := works+"|broken pipe", hungUp // the host hangs up at once
	if ownUser.MatchString(all["connected"].Sandbox) { // and that user may not open it
		unheld, unanswered = refused, refused
	}
	if !strings.Contains(all["connected"].Sandbox, "unix sockets that its user may open") {
		t.Errorf("nothing holds it, and it is not said: %s", all["connected"].Sandbox)
	}
	i.expects(t, "reaches a unix socket of its user", "connected", "dial unix "+i.control(), unheld)

	// It reaches the socket, and the host hangs up.
	i.expects(t, "asks the host's socket", "connected", "ask "+i.control(), unanswered)
	i.expects(t, "asks the host's socket without a sandbox", "free", "ask "+i.control(), hungUp)
	if os.Getuid() != 0 { // root may
		i.expects(t, "reads the environment of the host without a sandbox", "free", fmt.Sprintf("read /proc/%d/environ", hostPID), refused)
		i.expects(t, "traces the host without a sandbox", "free", fmt.Sprintf("ptrace %d", hostPID), refused)
		i.expects(t, "reads the environment of a guardian without a sandbox", "free", fmt.Sprintf("read /proc/%d/environ", i.guardian), refused)
	}

	t.Run("survive the host", func(t *testing.T) {
		var pids []int
		for _, name := range []string{"bare", "free"} {
			var pid int
			if _, err := fmt.Sscan(i.tries(t, name, "stay"), &pid); err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		_ = i.cmd.Process.Kill()
		for _, pid := range pids {
			eventually(t, "what has left its session is gone", func() error { return gone(pid) })
		}
	})
}

func TestAPluginThatShowsTheHostWhereSomebodyElseServesIsRefused(t *testing.T) {
	t.Parallel()
	whole(t)
	dir, plugins := workspace(t, "")
	met := make(chan string, 100)
	shown := map[string]net.Listener{}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, "s")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
				met <- network
			}
		}()
		shown[network] = l
	}
	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, `
adapters:
  port: {plugin: mischief, env: {SHOWN: "tcp|%[1]s"}}
  socket: {plugin: mischief, env: {SHOWN: "unix|%[2]s"}}
  unbound: {plugin: mischief, env: {SHOWN: "tcp|%[1]s"}, sandbox: off}
  host: {plugin: mischief, env: {SHOWN: "unix|%[3]s"}, sandbox: off}
`, shown["tcp"].Addr(), shown["unix"].Addr(), filepath.Join(dir, ".toolwharf", "control.sock"))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, "mischief", plugins)
	h := serve(t, dir)
	for name, want := range map[string]string{
		"port": "only a unix socket", "unbound": "only a unix socket",
		"socket": "it must be a socket in the directory", "host": "it must be a socket in the directory",
	} {
		if a := h.moored()[name]; a.State == "ready" || !strings.Contains(a.Cause, want) {
			t.Errorf("%s is %s: %s, want %q", name, a.State, a.Cause, want)
		}
	}
	select {
	case network := <-met:
		t.Errorf("the host connected by %s to somebody whom no plugin has started", network)
	default:
	}
}

// The same again as a user who may do little: then no capability was there to drop.
func TestAPluginOfANormalUserGetsOutOfItsSandboxByNoWay(t *testing.T) {
	t.Parallel()
	whole(t)
	if os.Getuid() != 0 {
		t.Skip("the test before was it")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := os.MkdirTemp("", "tw-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	copied := filepath.Join(tmp, "e2e.test")
	if out, err := exec.Command("cp", self, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), os.Chown(tmp, somebody, somebody)); err != nil {
		t.Fatal(err)
	}
	tests := []string{"TestAPluginGetsOutOfItsSandboxByNoWay", "TestAPluginThatShowsTheHostWhereSomebodyElseServesIsRefused"}
	if process.Strict(t.Context()) == nil { // else that test has said so
		tests = append(tests, "TestAPluginGetsOutOfTheStrictSandboxByNoWay")
	}
	cmd := exec.Command(copied, "-test.v", "-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), builtBefore+"="+built, "HOME="+tmp, "TMPDIR="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	out, err := cmd.CombinedOutput()
	for _, test := range tests {
		if err != nil || !strings.Contains(string(out), "--- PASS: "+test+" ") {
			t.Errorf("%s: %v\n%s", test, err, out)
		}
	}
}

func TestAPluginThatAsksForWhatItsConfigurationDoesNotNameSaysWhatToList(t *testing.T) {
	whole(t)
	dir, plugins := workspace(t, `
adapters:
  bold: {plugin: mischief, env: {MISCHIEF: intrudes}, config: {read: [/etc]}}
  greedy: {plugin: mischief, env: {MISCHIEF: intrudes}, sandbox: {allow: {write: [plugins]}}}
  curious: {plugin: mischief, env: {MISCHIEF: intrudes}, config: {read: [DIR/.toolwharf]}}
`)
	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, "mischief", plugins)
	all := serve(t, dir).moored()
	if a := all["bold"]; a.State != "ready" || fmt.Sprint(a.Reach) != "[read /etc]" {
		t.Errorf("what its configuration names: %s %v %s", a.State, a.Reach, a.Cause)
	}
	for name, want := range map[string]string{
		"greedy":  "sandbox.allow lets it write " + plugins + ": that is, or holds, a directory of plugins",
		"curious": "it asks to read " + dir + "/.toolwharf: that is, or holds, the state directory",
	} {
		if a := all[name]; a.State != "failed" || !strings.Contains(a.Cause, want) {
			t.Errorf("%s is %s: %s", name, a.State, a.Cause)
		}
	}
}

func TestWhatWasAskedForIsRememberedSoThatTheNextStartIsOneProcess(t *testing.T) {
	whole(t)
	dir, _ := workspace(t, "adapters: {shop: {plugin: sql, config: {dsn: 'sqlite:shop.db', allowed_tables: ['*']}}}\n")
	shopDatabase(t, filepath.Join(dir, "shop.db"))

	h := serve(t, dir)
	a := h.moored()["shop"]
	if a.State != "ready" || len(a.Reach) != 4 || a.Reach[0] != "read "+filepath.Join(dir, "shop.db") {
		t.Fatalf("%s: %s %v", a.State, a.Cause, a.Reach)
	}
	remembered := filepath.Join(dir, ".toolwharf", "grants.json")
	before, err := os.ReadFile(remembered)
	if err != nil || strings.Count(string(before), "shop.db-wal") != 1 {
		t.Fatalf("%s %v", before, err)
	}
	h.stop()
	h = serve(t, dir)
	if a := h.moored()["shop"]; a.State != "ready" || len(a.Reach) != 4 {
		t.Errorf("after it was remembered: %s: %s %v", a.State, a.Cause, a.Reach)
	}
	if after, err := os.ReadFile(remembered); err != nil || string(after) != string(before) {
		t.Errorf("it was asked again: %s %v", after, err)
	}
}

// SQLite makes its log anew for each writer that comes: no sandbox can name it
// before.
func TestADatabaseIsReadInItsSandboxWhileWritersComeAndGo(t *testing.T) {
	whole(t)
	for _, mode := range []string{"auto", "strict"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "strict" {
				strict(t)
			}
			comeAndGo(t, mode)
		})
	}
}

func comeAndGo(t *testing.T, mode string) {
	t.Helper()
	dir, _ := workspace(t, "adapters: {shop: {plugin: sql, sandbox: "+mode+", config: {dsn: 'sqlite:shop.db', allowed_tables: ['*']}}}\n")
	file := filepath.Join(dir, "shop.db")
	shopDatabase(t, file)
	h := serve(t, dir)
	c := h.caller()
	count := func(when string, want int) {
		t.Helper()
		a := c.call(t.Context(), "shop_query", `{"sql":"SELECT count(*) AS n FROM orders"}`)
		if !a.ok() || !strings.Contains(a.structured, fmt.Sprintf(`"n":%d`, want)) {
			t.Errorf("%s: %v", when, a)
		}
	}
	count("nobody writes", 1)
	db, err := sqlite3.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("INSERT INTO orders VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	count("a writer has come", 2)
	if err := errors.Join(db.Exec("INSERT INTO orders VALUES (3)"), db.Close()); err != nil {
		t.Fatal(err)
	}
	count("it has gone", 3)
}

// shopDatabase makes a database in WAL mode with one order.
func shopDatabase(t *testing.T, file string) {
	t.Helper()
	db, err := sqlite3.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec("PRAGMA journal_mode = WAL; CREATE TABLE orders(id INT); INSERT INTO orders VALUES (1)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
