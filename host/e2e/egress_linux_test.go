// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/egress"
)

// A process in a network namespace of its own, where there is nothing, reaches what it
// was granted with the SDK's dialer, and nothing else.
func TestWithoutANetworkTheSDKReachesWhatIsGranted(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("testdata/outbound/main.go")
	if err != nil {
		t.Fatal(err)
	}
	outbound := filepath.Join(t.TempDir(), "outbound")
	if out, err := exec.Command("go", "build", "-C", "../../examples", "-o", outbound, source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "ahoy %s", r.Host) })
	granted, other := httptest.NewServer(page), httptest.NewServer(page)
	defer granted.Close()
	defer other.Close()
	own := netip.MustParseAddrPort(other.Listener.Addr().String())

	dir, err := os.MkdirTemp("", "twe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var peer atomic.Int32
	gate, err := egress.Listen(egress.Config{
		Path:   filepath.Join(dir, "egress.sock"),
		Grants: []string{granted.Listener.Addr().String(), other.Listener.Addr().String()},
		Own:    func() []netip.AddrPort { return []netip.AddrPort{own} },
		Peer: func(conn *net.UnixConn) error {
			pid, err := peerOf(conn)
			peer.Store(pid)
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := gate.Close(); err != nil {
			t.Error(err)
		}
	}()

	cmd := exec.Command(outbound, granted.URL, other.URL, "http://169.254.169.254/latest/meta-data/", granted.URL)
	cmd.Env = []string{"TOOLWHARF_EGRESS=" + gate.Path()}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.Output()
	if cmd.Process == nil {
		t.Skipf("SKIPPED: this machine gives no user and network namespaces: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	refused := func(url, to, why string) string {
		return fmt.Sprintf("Get %q: dial tcp: %s through the host: refused: 403 Forbidden %s", url, to, why)
	}
	want := []string{
		"ahoy " + host(granted.URL),
		refused(other.URL, host(other.URL), host(other.URL)+": the host itself listens there, and no adapter may reach it"),
		refused("http://169.254.169.254/latest/meta-data/", "169.254.169.254:80", "there is no connect grant for 169.254.169.254:80"),
		"ahoy " + host(granted.URL),
		"without it: dial tcp " + host(granted.URL) + ": connect: network is unreachable",
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("line %d of\n%s\nwant\n%s", i+1, out, strings.Join(want, "\n"))
			break
		}
	}
	if int(peer.Load()) != cmd.Process.Pid {
		t.Errorf("the peer was process %d, want %d", peer.Load(), cmd.Process.Pid)
	}
	if c := gate.Counts(); c.Opened != 2 || c.Refused != 2 {
		t.Errorf("%+v", c)
	}
}

func peerOf(conn *net.UnixConn) (pid int32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if failed := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); failed != nil {
		return 0, failed
	}
	if err != nil {
		return 0, err
	}
	return cred.Pid, nil
}
