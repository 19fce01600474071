// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// CookieKey is the variable by which a plugin knows that a host started it.
	CookieKey = "TOOLWHARF_PLUGIN"
	// CookieValue is its value; the protocol's name.
	CookieValue = "toolwharf.plugin.v1"
	// AppVersion is go-plugin's number for the protocol.
	AppVersion = 1
)

// Terms are what the host says in the environment.
type Terms struct {
	// Host is the only authority that may sign for a client: the host itself.
	Host *x509.CertPool
	// SocketDir is the host's directory for the socket; empty: a private one.
	SocketDir string
	// SocketGroup, if set, gets access to the socket: a name or a number.
	SocketGroup string
	// MinPort and MaxPort bound the port where unix sockets are not used.
	MinPort, MaxPort int
	// Multiplex: the host wants to know whether the broker multiplexes.
	Multiplex bool
}

// Hosted says whether a host, of whatever protocol, started this process.
func Hosted(getenv func(string) string) bool { return getenv(CookieKey) != "" }

// Read reads the host's terms. Its error is for a person.
func Read(getenv func(string) string) (Terms, error) {
	t := Terms{
		SocketDir:   getenv("PLUGIN_UNIX_SOCKET_DIR"),
		SocketGroup: getenv("PLUGIN_UNIX_SOCKET_GROUP"),
		Multiplex:   getenv("PLUGIN_MULTIPLEX_GRPC") != "",
	}
	if got := getenv(CookieKey); got != CookieValue {
		return t, fmt.Errorf("the host speaks %q, this plugin speaks %q: one of the two is of another version", got, CookieValue)
	}
	versions := strings.Split(getenv("PLUGIN_PROTOCOL_VERSIONS"), ",")
	if !slices.Contains(versions, strconv.Itoa(AppVersion)) {
		return t, fmt.Errorf("the host offers the protocol versions %q (PLUGIN_PROTOCOL_VERSIONS), this plugin speaks %d",
			getenv("PLUGIN_PROTOCOL_VERSIONS"), AppVersion)
	}
	cert := getenv("PLUGIN_CLIENT_CERT")
	if cert == "" {
		return t, errors.New("the host gave no certificate (PLUGIN_CLIENT_CERT): this plugin serves over mutual TLS only")
	}
	t.Host = x509.NewCertPool()
	if !t.Host.AppendCertsFromPEM([]byte(cert)) {
		return t, errors.New("the host's certificate (PLUGIN_CLIENT_CERT) is not a PEM certificate")
	}
	var err error
	if t.MinPort, err = port(getenv("PLUGIN_MIN_PORT"), 10000); err != nil {
		return t, fmt.Errorf("PLUGIN_MIN_PORT: %w", err)
	}
	if t.MaxPort, err = port(getenv("PLUGIN_MAX_PORT"), 25000); err != nil {
		return t, fmt.Errorf("PLUGIN_MAX_PORT: %w", err)
	}
	if t.MinPort > t.MaxPort {
		return t, fmt.Errorf("PLUGIN_MIN_PORT %d is above PLUGIN_MAX_PORT %d", t.MinPort, t.MaxPort)
	}
	return t, nil
}

func port(text string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not a port", text)
	}
	return int(n), nil
}
