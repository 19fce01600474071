// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net"
	"net/netip"
	"testing"
)

func TestFromWhereAnAddressIsReached(t *testing.T) {
	for want, addresses := range map[reach][]string{
		public: {
			"1.1.1.1", "8.8.8.8", "192.0.2.1", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "169.253.255.255", "169.255.0.0",
			"11.0.0.0", "126.255.255.255", "128.0.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
			"2606:4700::1111", "2001:db8::1", "2001:4860::8888",
			"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2001:0:808:808::f7f7:f7f7", "2001:db8::5efe:808:808",
		},
		private: {
			"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.1", "100.64.0.0", "100.127.255.255", "198.18.0.1", "198.19.255.255",
			"fc00::1", "fd12:3456::1", "fd00:ec1::254", "fec0::1",
			"::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "2002:c0a8:1::", "::10.0.0.1", "::ffff:0:10.0.0.1",
			"2001:db8::5efe:a00:1", "2001:db8::200:5efe:a00:1", "2001:0:808:808::f5ff:fffe", "2001:0:a00:1::f7f7:f7f7",
		},
		machine: {
			"127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1", "::ffff:0:127.0.0.1",
			"2001:0:808:808::80ff:fffe", "fd00::5efe:7f00:1",
		},
		never: {
			"0.0.0.0", "0.1.2.3", "::", "169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%eth0",
			"100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.0.1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe",
			"fd00:42::42", "fd00:a9fe:a9fe::1",
			"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1", "240.0.0.1", "255.255.255.255", "100::1",
			"::ffff:169.254.169.254", "::ffff:0.0.0.0", "::169.254.169.254", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "64:ff9b:1:a9fe:a9:fe00::",
			"2002:a9fe:a9fe::1", "2001:0:808:808::5601:5601", "2001:0:a9fe:a9fe::f7f7:f7f7", "::ffff:0:169.254.169.254", "2001:db8::5efe:a9fe:a9fe",
			"2001:db8::200:5efe:6464:64c8", "64:ff9b::224.0.0.1", "2002::1",
		},
	} {
		for _, a := range addresses {
			if got, what := reachOf(netip.MustParseAddr(a)); got != want {
				t.Errorf("%s is %s (%d), want %d", a, what, got, want)
			}
		}
	}
}

// The rules of doc.go. Addresses of this machine beyond loopback are in
// TestAddressesOfThisMachineCountAsThisMachine.
func TestWhichAddressesAConnectionMayGoTo(t *testing.T) {
	granted, err := parseGrants([]string{
		"db.example:5432", "localhost:80", "10.1.1.1:5432", "127.0.0.1:81", "[::1]:81", "192.0.2.7:443", "127.0.0.1:8000", "10.9.9.9:8001", "localhost:8000",
		"db.example:8001",
	})
	if err != nil {
		t.Fatal(err)
	}
	own := func() []netip.AddrPort {
		return []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:8000"), netip.MustParseAddrPort("[::ffff:10.9.9.9]:8001")}
	}
	const yes, privately = "yes", "if names may lead to private addresses"
	for _, tc := range []struct{ to, at, want string }{
		{"db.example:5432", "8.8.8.8:5432", yes},
		{"db.example:5432", "[2606:4700::1111]:5432", yes},
		{"db.example:5432", "10.0.0.1:5432", privately},
		{"db.example:5432", "[::ffff:10.0.0.1]:5432", privately},
		{"db.example:5432", "[64:ff9b::10.0.0.1]:5432", privately},
		{"db.example:5432", "[fd12::1]:5432", privately},
		{"db.example:5432", "10.1.1.1:5432", yes}, // granted itself
		{"db.example:8001", "10.1.1.1:8001", privately},
		{"db.example:5432", "127.0.0.1:5432", "no"},
		{"db.example:5432", "127.9.9.9:5432", "no"},
		{"db.example:5432", "[::1]:5432", "no"},
		{"db.example:5432", "[64:ff9b::127.0.0.1]:5432", "no"},
		{"db.example:5432", "169.254.169.254:5432", "no"},
		{"db.example:5432", "[fe80::1%lo]:5432", "no"},
		{"db.example:5432", "0.0.0.0:5432", "no"},
		{"db.example:5432", "[::]:5432", "no"},
		{"db.example:8001", "10.9.9.9:8001", "no"},
		{"db.example:8001", "[64:ff9b::10.9.9.9]:8001", "no"},
		{"10.1.1.1:5432", "10.1.1.1:5432", yes},
		{"10.9.9.9:8001", "10.9.9.9:8001", "no"},
		{"192.0.2.7:443", "192.0.2.7:443", yes},
		{"127.0.0.1:81", "127.0.0.1:81", yes},
		{"[::1]:81", "[::1]:81", yes},
		{"127.0.0.1:8000", "127.0.0.1:8000", "no"},
		{"localhost:80", "127.0.0.1:80", yes},
		{"localhost:80", "[::1]:80", yes},
		{"localhost:80", "8.8.8.8:80", "no"},
		{"localhost:80", "10.1.1.1:80", "no"},
		{"localhost:8000", "127.0.0.1:8000", "no"},
		{"localhost:8000", "[::1]:8000", "no"},
	} {
		to, err := parseTarget(tc.to)
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []bool{false, true} {
			j := &judge{granted: granted, own: own, private: private}
			why := j.why(to, netip.MustParseAddrPort(tc.at))
			if may := tc.want == yes || tc.want == privately && private; may != (why == "") {
				t.Errorf("%s at %s (private: %v): %q, want %s", tc.to, tc.at, private, why, tc.want)
			}
		}
	}
}

func TestAddressesOfThisMachineCountAsThisMachine(t *testing.T) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	own := func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("[::]:8000")} }
	to, err := parseTarget("db.example:5432")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range interfaces {
		addr := netip.MustParsePrefix(a.String()).Addr().Unmap()
		if !isLocal(addr) {
			t.Errorf("%s is on an interface, and not of this machine", addr)
		}
		granted := grants{to: true, target{addr: addr, port: 8000}: true, target{addr: addr, port: 8001}: true}
		j := &judge{granted: granted, own: own, private: true}
		if j.why(to, netip.AddrPortFrom(addr, 5432)) == "" {
			t.Errorf("a name may lead to %s", addr)
		}
		for port, may := range map[uint16]bool{8000: false, 8001: !addr.IsLinkLocalUnicast()} {
			literal := target{addr: addr, port: port}
			if why := j.why(literal, netip.AddrPortFrom(addr, port)); may != (why == "") {
				t.Errorf("%s: %q", literal, why)
			}
		}
	}
	for addr, want := range map[string]bool{"127.3.2.1": true, "::1": true, "8.8.8.8": false, "2606:4700::1111": false} {
		if got := isLocal(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is of this machine: %v", addr, got)
		}
	}
}
