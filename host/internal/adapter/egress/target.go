// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// target is where a connection is to go, in the one form in which it is compared.
type target struct {
	name string     // lower case, punycode, no dot at the end; empty: addr
	addr netip.Addr // never IPv4 within IPv6
	port uint16
}

// localhost is the one name that leads to this machine.
const localhost = "localhost"

func (t target) String() string {
	host := t.name
	if host == "" {
		host = t.addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(t.port)))
}

// parseTarget reads host:port; an IPv6 address stands in brackets.
func parseTarget(s string) (target, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return target{}, errors.New("not host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, errors.New("its port is not a number from 1 to 65535")
	}
	t := target{port: uint16(n)}
	bracketed := strings.HasPrefix(s, "[")
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil && addr.Zone() != "":
		return target{}, errors.New("an address with a zone is on one link only")
	case err == nil && addr.Is6() == bracketed:
		t.addr = addr.Unmap()
	case err == nil || bracketed:
		return target{}, errors.New("brackets are for IPv6 addresses")
	default:
		if t.name, err = canonical(host); err != nil {
			return target{}, err
		}
	}
	return t, nil
}

// canonical is a DNS name in the form in which it is compared. Underscores are let
// pass: no host name has them (RFC 952), many services of containers do.
func canonical(name string) (string, error) {
	if strings.ContainsFunc(name, func(r rune) bool { return r > '~' }) {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil || !utf8.ValidString(name) {
			return "", errors.New("neither a name nor an address")
		}
		name = ascii
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if len(name) > 253 {
		return "", errors.New("a name has at most 253 characters")
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" ||
			label[0] == '-' || label[len(label)-1] == '-' {
			return "", errors.New("neither a name nor an address")
		}
		last = label
	}
	// 127.1, 2130706433 and 0x7f.1 are addresses to some resolvers.
	if digits := strings.TrimPrefix(last, "0x"); digits != last || strings.Trim(last, "0123456789") == "" {
		return "", errors.New("a name does not end in a number; an address has four numbers, or colons")
	}
	return name, nil
}
