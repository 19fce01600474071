// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
)

// strict says loudly where a machine cannot confine adapters strictly.
func strict(t *testing.T) {
	t.Helper()
	if err := process.Strict(t.Context()); err != nil {
		t.Skipf("SKIPPED: this machine has no sandbox: strict: %v", err)
	}
}

func TestAPluginGetsOutOfTheStrictSandboxByNoWay(t *testing.T) {
	t.Parallel()
	whole(t)
	strict(t)
	i := intrude(t, "strict")
	// What is outside is not there, what is granted is mounted, and nobody else is a user.
	i.refused += "|no such file or directory|read-only file system|device or resource busy|no such process|invalid argument|connection refused"
	i.getNowhere(t)

	elsewhere := listenAt(t, "tw-strict-")
	for what, attempt := range map[string]string{
		"see the first process":         "read /proc/1/environ",
		"see itself":                    "read /proc/self/environ",
		"list processes":                "read /proc",
		"signal the first process":      "signal 1",
		"trace the first process":       "ptrace 1",
		"see what the kernel tells":     "read /proc/sys/kernel/hostname",
		"connect to a socket of a user": "dial unix " + elsewhere,
		"connect to the host's socket":  "dial unix " + i.control(),
		"connect to Docker's socket":    "dial unix /var/run/docker.sock",
		"see the sockets of others":     "read " + filepath.Dir(i.run),
		"open a TCP socket":             fmt.Sprintf("socket %d %d 0", unix.AF_INET, unix.SOCK_STREAM),
		"open a TCP socket of IPv6":     fmt.Sprintf("socket %d %d 0", unix.AF_INET6, unix.SOCK_STREAM),
		"open UDP of IPv6":              fmt.Sprintf("socket %d %d 0", unix.AF_INET6, unix.SOCK_DGRAM),
		"open MPTCP of IPv6":            fmt.Sprintf("socket %d %d 262", unix.AF_INET6, unix.SOCK_STREAM),
		"open unix datagrams":           fmt.Sprintf("socket %d %d 0", unix.AF_UNIX, unix.SOCK_DGRAM),
		"connect where it may":          "dial tcp " + i.tcp,
	} {
		for _, name := range intruding {
			i.expects(t, name+" may not "+what, name, attempt, i.refused)
		}
	}

	before := i.moored()["connected"].Egress
	if before == nil {
		t.Fatal("nothing is said of its connections")
	}
	i.expects(t, "connects through the host", "connected", "through "+i.tcp, works)
	const forbidden = "403 Forbidden "
	other := strings.TrimPrefix(i.base, "http://")
	for attempt, why := range map[string]string{
		"169.254.169.254:80": "there is no connect grant for 169.254.169.254:80",
		other:                "there is no connect grant for " + other,
		"localhost:" + i.tcp[strings.LastIndex(i.tcp, ":")+1:]: "there is no connect grant for localhost",
		"example.com:443": "there is no connect grant for example.com:443",
	} {
		said := i.tries(t, "connected", "through "+attempt)
		if !strings.Contains(said, forbidden+why) {
			t.Errorf("%s: %s", attempt, said)
		}
	}
	for _, name := range []string{"bare", "granted"} {
		i.expects(t, name+" has no way out", name, "through "+i.tcp, "operation not permitted|no such file or directory|missing address")
		if i.all[name].Egress != nil {
			t.Errorf("%s: %+v", name, i.all[name].Egress)
		}
	}
	after := i.moored()["connected"].Egress
	if after.Opened != before.Opened+1 || after.Refused != before.Refused+4 {
		t.Errorf("from %+v to %+v", before, after)
	}
	shown, _, _ := run(t, i.dir, "adapters", "show", "connected")
	for _, want := range []string{"strict: own user, mount, pid, network, ipc and uts namespaces, landlock ", "connects through the host only", fmt.Sprintf("%d made, %d refused", after.Opened, after.Refused)} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %s\n%s", want, shown)
		}
	}
	for _, name := range intruding {
		if strings.Contains(i.all[name].Sandbox, "not held") {
			t.Errorf("%s: %s", name, i.all[name].Sandbox)
		}
	}

	var pids []int
	for _, name := range intruding {
		pids = append(pids, i.all[name].PID, parent(t, i.all[name].PID))
		i.tries(t, name, "stay")
	}
	staying := children(t, i.program)
	_ = i.cmd.Process.Kill()
	for _, pid := range append(pids, staying...) {
		eventually(t, "what was in namespaces is gone", func() error { return gone(pid) })
	}
}

// children are the processes of a program.
func children(t *testing.T, program string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		var pid int
		if _, no := fmt.Sscan(filepath.Base(dir), &pid); err == nil && no == nil && strings.HasPrefix(string(line), program+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// listenAt listens on a unix socket of this user, anywhere.
func listenAt(t *testing.T, pattern string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(l.Close(), os.RemoveAll(dir)) })
	return filepath.Join(dir, "s")
}

func TestInTheStrictSandboxAPluginReachesADatabaseAndAWebServerThroughTheHostAndNothingElse(t *testing.T) {
	t.Parallel()
	strict(t)
	database := postgres(t)
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ahoy") }))
	defer web.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	own := freePort(t)
	dir, plugins := workspace(t, fmt.Sprintf(`
http: {listen: %[1]q}
adapters:
  out: {plugin: outpost, sandbox: strict, config: {database: %[2]q, web: %[3]q, ca: %[4]q}}
  host: {plugin: outpost, sandbox: strict, config: {database: %[1]q, web: %[1]q}}
  cloud: {plugin: outpost, sandbox: strict, config: {database: "169.254.169.254:80", web: %[3]q}}
`, own, database, web.Listener.Addr(), ca))
	source := absolute(t, "testdata/outpost/main.go")
	if out, err := exec.Command("go", "build", "-C", "../../examples", "-o", filepath.Join(plugins, "outpost"), source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	h := serve(t, dir)
	if a := h.moored()["out"]; a.State != "ready" || len(a.Reach) != 2 {
		t.Fatalf("%s: %s %v", a.State, a.Cause, a.Reach)
	}
	c := h.caller()
	says := func(tool, args, want string) {
		t.Helper()
		if a := c.call(t.Context(), "out_"+tool, args); !a.ok() || !strings.Contains(a.text+a.structured, want) {
			t.Errorf("%s %s: %v, want %s", tool, args, a, want)
		}
	}
	says("multiply", `{"A":6,"B":7}`, "42")
	says("page", `{}`, "ahoy")
	for _, network := range []string{"tcp", "udp", "unix"} {
		address := database
		if network == "unix" {
			address = "/tmp/.s.PGSQL." + database[strings.LastIndex(database, ":")+1:]
		}
		want := "operation not permitted"
		if network == "unix" {
			want = "no such file or directory"
		}
		says("dial", fmt.Sprintf(`{"Network":%q,"Address":%q}`, network, address), want)
	}
	if e := h.moored()["out"].Egress; e == nil || e.Opened != 2 || e.Refused != 0 || e.Received == 0 {
		t.Errorf("%+v", e)
	}
	if a := c.call(t.Context(), "host_multiply", `{"A":1,"B":1}`); a.ok() {
		t.Errorf("it has reached the host: %v", a)
	}
	h.logs("toolwharf.adapter.host", "warn", "a connection of the adapter is refused", "the host itself listens there, and no adapter may reach it")
	if a := h.moored()["cloud"]; a.State != "failed" || !strings.Contains(a.Cause, `connect grant "169.254.169.254:80": it is link-local, which no adapter may reach`) {
		t.Errorf("%s: %s", a.State, a.Cause)
	}
	// The next process of the adapter has a way out of its own.
	if _, stderr, code := run(t, dir, "adapters", "restart", "out"); code != 0 {
		t.Fatal(stderr)
	}
	says("multiply", `{"A":2,"B":3}`, "6")
	if e := h.moored()["out"].Egress; e == nil || e.Opened != 3 {
		t.Errorf("%+v", e)
	}
}

// postgres starts a PostgreSQL that trusts whoever comes, and returns its address.
func postgres(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	switch {
	case len(found) > 0:
	case os.Getenv("CI") != "":
		t.Fatal("PostgreSQL is not installed; .ci/run does that")
	default:
		t.Skip("SKIPPED: PostgreSQL is not installed (Debian: postgresql)")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 { // which it refuses to run as
		attr.Credential = &syscall.Credential{Uid: somebody, Gid: somebody}
		if err := os.Chown(dir, somebody, somebody); err != nil {
			t.Fatal(err)
		}
	}
	as := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		cmd.Env = []string{"HOME=" + dir, "LC_ALL=C", "PATH=/usr/bin:/bin"}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--no-instructions").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	address := freePort(t)
	_, port, _ := net.SplitHostPort(address)
	server := as("postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", "/tmp", "-F", "-c", "max_connections=5", "-c", "shared_buffers=1MB")
	var said buffer
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
	})
	eventually(t, "PostgreSQL serves", func() error {
		if !strings.Contains(said.String(), "database system is ready to accept connections") {
			return errors.New(said.String())
		}
		return nil
	})
	return address
}

func TestWhereAMachineLacksSomethingAStrictAdapterFailsAndSaysWhat(t *testing.T) {
	t.Parallel()
	strict(t)
	dir, plugins := workspace(t, `
adapters:
  held: {plugin: hello, sandbox: strict}
  free: {plugin: hello}
`)
	install(t, "hello", plugins)
	// A user namespace has a bound of its own.
	bounded := filepath.Join(dir, "bounded")
	text := "#!/bin/sh\nexec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"' " + toolwharf + " \"$@\"\n"
	if err := os.WriteFile(bounded, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	h := serveWith(t, dir, bounded)
	const lacks = "sandbox: user namespace: no space left on device (sysctl user.max_user_namespaces is 0)"
	if a := h.moored()["held"]; a.State != "failed" || !strings.Contains(a.Cause, lacks) || a.PID != 0 {
		t.Errorf("%s: %s", a.State, a.Cause)
	}
	if a := h.moored()["free"]; a.State != "ready" {
		t.Errorf("another: %s: %s", a.State, a.Cause)
	}
}

func TestThePluginsWithoutAnSDKRunInTheStrictSandbox(t *testing.T) {
	t.Parallel()
	strict(t)
	for name := range withoutSDK {
		t.Run(name, func(t *testing.T) {
			dir, plugins := workspace(t, "adapters: {far: {plugin: "+name+", sandbox: strict}}\n")
			moor(t, name, plugins)
			h := serve(t, dir)
			if a := h.moored()["far"]; a.State != "ready" || !strings.HasPrefix(a.Sandbox, "strict: ") {
				t.Fatalf("%s: %s: %s", a.State, a.Sandbox, a.Cause)
			}
			if a := h.caller().call(t.Context(), "far_echo", `{"value":[1.10]}`); !a.ok() || !strings.Contains(a.text+a.structured, "1.10") {
				t.Error(a)
			}
		})
	}
}
