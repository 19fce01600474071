// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
)

var launchChecks = []check{
	{"launch/by-hand", "started without a host it says so on stderr and exits, not with 0", (*suite).byHand},
	{"launch/wrong-cookie", "so it does when the host speaks another protocol", (*suite).wrongCookie},
	{"launch/no-certificate", "so it does when the host gives no certificate: it never serves in plain text", (*suite).noCertificate},
	{"launch/handshake", "one line on stdout within 10 s, with an empty stdin", (*suite).handshake},
	{"launch/socket", "it serves on a socket in PLUGIN_UNIX_SOCKET_DIR", (*suite).serves},
	{"launch/certificate", "TLS 1.3 and HTTP/2, by the handshake's certificate, which is for localhost", (*suite).certificate},
	{"launch/strangers", "nobody but the host is served: not in plain text, not without or with another certificate", (*suite).strangers},
	{"launch/health", "grpc.health.v1 says that \"plugin\" is SERVING", (*suite).healthy},
}

func (s *suite) byHand(context.Context) error {
	return s.gives(func(*plugin.Terms) []string { return nil })
}

func (s *suite) wrongCookie(context.Context) error {
	return s.gives(func(t *plugin.Terms) []string {
		name, value, _ := strings.Cut(t.Cookie, "=")
		return append(t.Rest, name+"=another-"+value, t.Certificate)
	})
}

func (s *suite) noCertificate(context.Context) error {
	return s.gives(func(t *plugin.Terms) []string { return append(t.Rest, t.Cookie) })
}

// gives starts the plugin in an environment in which it should give up.
func (s *suite) gives(handshake func(*plugin.Terms) []string) error {
	dir, err := os.MkdirTemp("", "tw-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	terms, err := plugin.NewTerms(dir)
	if err != nil {
		return err
	}
	env, err := s.environment(handshake(terms)...)
	if err != nil {
		return err
	}
	p, err := s.program.start(env)
	if err != nil {
		return err
	}
	defer p.kill()
	over := p.endsWithin(s.bounds.exit)
	first, _ := p.stdout.first()
	switch {
	case strings.HasPrefix(first, "1|"):
		return fmt.Errorf("it serves all the same: it printed the handshake %q", shown(first))
	case !over:
		return fmt.Errorf("it still runs after %s", s.bounds.exit)
	case !p.failed():
		return errors.New("it ended with status 0: a caller would take that for success")
	case len(strings.TrimSpace(string(p.stderr.bytes()))) == 0:
		return fmt.Errorf("it ended (%s) without a word on stderr: a person would not know why", p.exit())
	}
	return nil
}

func (s *suite) handshake(ctx context.Context) error {
	m, err := s.moor(ctx)
	if err == nil {
		s.bare = m
	}
	return err
}

func (s *suite) serves(ctx context.Context) error {
	if runtime.GOOS == "windows" {
		return unjudgedf("plugins serve on a loopback port here")
	}
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	return m.socket()
}

func (s *suite) certificate(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	raw, err := m.dial(ctx)
	if err != nil {
		return m.fault(fmt.Errorf("nobody serves at %s: %w", m.line.address, err))
	}
	defer func() { _ = raw.Close() }()
	config := m.tls.Clone()
	config.NextProtos = []string{"h2"}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return m.fault(fmt.Errorf("the TLS handshake failed: %w", err))
	}
	if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
		return fmt.Errorf("ALPN chose %q, not h2", p)
	}
	return nil
}

func (s *suite) strangers(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	other, err := plugin.NewTerms(m.dir)
	if err != nil {
		return err
	}
	other.TLS.RootCAs = m.tls.RootCAs
	none := m.tls.Clone()
	none.Certificates = nil
	var faults []error
	for _, stranger := range []struct {
		who   string
		creds credentials.TransportCredentials
	}{
		{"somebody in plain text", insecure.NewCredentials()},
		{"somebody without a certificate", credentials.NewTLS(none)},
		{"somebody with another certificate than PLUGIN_CLIENT_CERT", credentials.NewTLS(other.TLS)},
	} {
		served, err := s.serve(ctx, m, stranger.creds)
		if err != nil {
			return err
		}
		if served {
			faults = append(faults, fmt.Errorf("it serves %s", stranger.who))
		}
	}
	// Refusing strangers is nothing if nobody is served.
	if err := m.reached(ctx, s); err != nil {
		return unjudgedf("it does not serve its host either: %v", err)
	}
	return errors.Join(faults...)
}

// serve reports whether the plugin talks to whoever has those credentials.
func (s *suite) serve(ctx context.Context, m *mooring, creds credentials.TransportCredentials) (bool, error) {
	conn, err := m.connect(creds)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, s.bounds.heed)
	defer cancel()
	return spoken(healthOf(ctx, conn)), nil
}

// reached reports, as an error, that the plugin does not talk to its host.
func (m *mooring) reached(ctx context.Context, s *suite) error {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	if err := m.health(ctx); !spoken(err) {
		return m.fault(err)
	}
	return nil
}

func (s *suite) healthy(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	return m.fault(m.health(ctx))
}
