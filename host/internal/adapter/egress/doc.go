// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package egress is the way out of an adapter that has no network: a unix socket of
// the host that takes CONNECT requests (RFC 9110, 9.3.6), resolves names, judges
// addresses and carries the bytes. The adapter is taken to be hostile, and so is
// whoever answers for the names that it was granted.
//
// A connection is made only if all of this holds:
//
//   - The other end of the socket is a process of the adapter ([Config.Peer]).
//   - The request is one CONNECT in strict form, of at most 8 KiB, without a body.
//   - What it names is granted: the same name (in any case, with or without a dot at
//     its end, compared as punycode) or the same address (::ffff:192.0.2.1 is
//     192.0.2.1), and the same port. There are no wildcards. A granted name does not
//     grant its addresses, nor an address its names.
//   - The address may be reached. It is judged between its resolution and connect(2)
//     on that very address: a name that leads elsewhere a moment later changes nothing.
//
// Never reached, whatever is granted: link-local addresses and those where clouds keep
// the credentials of a machine; unspecified, multicast, broadcast and reserved
// addresses; and what the host itself listens on ([Config.Own]), on whatever address of
// this machine. The host would take its own connection for that of its own user.
//
// Addresses of this machine are reached only by a grant of that address, or of
// localhost, which leads to loopback and nowhere else. Names are somebody else's word:
// who answers for a granted name could otherwise send the adapter to any service that
// trusts whoever is on this machine.
//
// Private addresses (RFC 1918, RFC 6598, RFC 4193) are reached by a grant of that
// address. That names lead there, as in most networks of companies and clusters they
// do, the operator allows with [Config.Private]; the zero value is the safe one.
//
// An IPv6 address that stands for an IPv4 address (NAT64, 6to4, Teredo, ISATAP,
// translated, compatible) is judged as both. What cannot be seen from here: a NAT64
// prefix of the network's own, and address translation that leads back to this machine.
//
// TCP only. Each side's end is passed on (half-close); a reset by the remote arrives as
// an end, which a unix socket cannot tell from it.
package egress
