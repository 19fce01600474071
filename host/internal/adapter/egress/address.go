// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
)

// reach is from where an address can be reached, in the order of harm.
type reach int

const (
	public reach = iota
	private
	machine // this one
	never
)

// ranges are the addresses that are not everybody's. The first that has an address
// decides. From the registries of special addresses of IANA, and what clouds document.
var ranges = []struct {
	prefix netip.Prefix
	reach  reach
	what   string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), never, linkLocal},
	{netip.MustParsePrefix("fe80::/10"), never, linkLocal},
	{netip.MustParsePrefix("100.100.100.200/32"), never, metadata},      // Alibaba
	{netip.MustParsePrefix("168.63.129.16/32"), never, metadata},        // Azure: public, but the machine's own
	{netip.MustParsePrefix("fd00:ec2::/32"), never, metadata},           // AWS
	{netip.MustParsePrefix("fd20:ce::254/128"), never, metadata},        // Google
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), never, metadata},  // Oracle
	{netip.MustParsePrefix("fd00:42::42/128"), never, metadata},         // Scaleway
	{netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"), never, metadata},   // Linode
	{netip.MustParsePrefix("0.0.0.0/8"), never, "unspecified"},          // connect(2) takes it for loopback
	{netip.MustParsePrefix("::/128"), never, "unspecified"},             //
	{netip.MustParsePrefix("192.0.0.0/24"), never, "reserved"},          // RFC 6890; Oracle's metadata too
	{netip.MustParsePrefix("224.0.0.0/4"), never, "multicast"},          //
	{netip.MustParsePrefix("ff00::/8"), never, "multicast"},             //
	{netip.MustParsePrefix("255.255.255.255/32"), never, "broadcast"},   //
	{netip.MustParsePrefix("240.0.0.0/4"), never, "reserved"},           //
	{netip.MustParsePrefix("100::/64"), never, "reserved"},              // RFC 6666
	{netip.MustParsePrefix("64:ff9b:1::/48"), never, "a local NAT64"},   // RFC 8215: where IPv4 stands in it is not known
	{netip.MustParsePrefix("127.0.0.0/8"), machine, "this machine"},     //
	{netip.MustParsePrefix("::1/128"), machine, "this machine"},         //
	{netip.MustParsePrefix("10.0.0.0/8"), private, "a private address"}, // RFC 1918
	{netip.MustParsePrefix("172.16.0.0/12"), private, "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), private, "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), private, "a private address"}, // RFC 6598
	{netip.MustParsePrefix("198.18.0.0/15"), private, "a private address"}, // RFC 2544
	{netip.MustParsePrefix("fc00::/7"), private, "a private address"},      // RFC 4193
	{netip.MustParsePrefix("fec0::/10"), private, "a private address"},     // RFC 3879
}

const (
	linkLocal = "link-local"
	metadata  = "where a cloud keeps the credentials of this machine"
)

// reachOf judges an address by its number, and says what it is. One that stands for
// another is the more harmful of both.
func reachOf(a netip.Addr) (reach, string) {
	worst, what := public, "public"
	for _, face := range faces(a) {
		for _, r := range ranges {
			if !r.prefix.Contains(face) {
				continue
			}
			if r.reach > worst {
				worst, what = r.reach, r.what
			}
			break
		}
	}
	return worst, what
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291; :: and ::1 are not meant
)

// faces are an address and the IPv4 addresses for which it stands: whoever forwards
// it, reaches those.
func faces(a netip.Addr) []netip.Addr {
	a = a.Unmap().WithZone("")
	all := []netip.Addr{a}
	if a.Is4() || a.IsUnspecified() || a.IsLoopback() {
		return all
	}
	b := a.As16()
	inner := func(at int) { all = append(all, netip.AddrFrom4([4]byte(b[at:at+4]))) }
	switch {
	case nat64.Contains(a), translated.Contains(a), compatible.Contains(a):
		inner(12)
	case sixToFour.Contains(a):
		inner(2)
	case teredo.Contains(a):
		inner(4) // the server
		for i := 12; i < 16; i++ {
			b[i] ^= 0xff
		}
		inner(12) // the client, hidden from translators
	case b[8]&^2 == 0 && slices.Equal(b[9:12], []byte{0, 0x5e, 0xfe}): // ISATAP, RFC 5214
		inner(12)
	}
	return all
}
