// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// What a route makes local is on no interface: so do clouds with the addresses of their
// load balancers. The test runs itself where it may make such a route.
func TestARangeThatARouteMakesLocalIsOfThisMachine(t *testing.T) {
	const inside = "EGRESS_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		for addr, want := range map[string]bool{"192.0.2.9": true, "127.0.0.1": true, "198.51.100.1": false} {
			if got := isLocal(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s is of this machine: %v", addr, got)
			}
		}
		return
	}
	cmd := exec.Command("sh", "-c", "ip link set lo up && ip route add local 192.0.2.0/24 dev lo && echo routed && exec \"$0\" -test.run='^"+t.Name()+"$'", os.Args[0])
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil || len(out) < 6 || string(out[:6]) != "routed" {
		t.Skipf("SKIPPED: this machine gives no network of one's own, or has no ip: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
