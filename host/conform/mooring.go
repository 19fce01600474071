// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	adapterprocess "github.com/toolwharf/toolwharf/host/internal/adapter/process"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// mooring is one start of the plugin that has shaken hands.
type mooring struct {
	*process

	line   *line
	tls    *tls.Config // of the host, which trusts the line's certificate
	conn   *grpc.ClientConn
	dir    string // of the socket
	plugin pluginv1.PluginServiceClient
	tool   pluginv1.ToolServiceClient
}

// environment is that of a launch: the handshake's variables and the plugin's own.
func (s *suite) environment(handshake ...string) ([]string, error) {
	if s.program.folder {
		handshake = append(handshake, plugin.FolderVariable)
	}
	return adapterprocess.Environment(handshake, s.o.Env, 0)
}

// moor starts the plugin and shakes hands with it.
func (s *suite) moor(ctx context.Context) (*mooring, error) {
	return s.moorBy(ctx, s.program.start)
}

// moorBy does, with another way to start it.
func (s *suite) moorBy(ctx context.Context, start func(env []string) (*process, error)) (_ *mooring, err error) {
	dir, err := os.MkdirTemp("", "tw-") // short: a socket's path has at most some 100 bytes
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	terms, err := plugin.NewTerms(dir)
	if err != nil {
		return nil, err
	}
	env, err := s.environment(append(terms.Rest, terms.Cookie, terms.Certificate)...)
	if err != nil {
		return nil, err
	}
	proc, err := start(env)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			proc.kill()
		}
	}()
	l, err := s.shake(ctx, proc)
	if err != nil {
		return nil, err
	}
	m := &mooring{process: proc, line: l, tls: terms.TLS, dir: dir}
	m.tls.RootCAs = x509.NewCertPool()
	m.tls.RootCAs.AddCert(l.certificate)
	if m.conn, err = m.connect(credentials.NewTLS(m.tls), grpc.WithStatsHandler(&s.tap)); err != nil {
		return nil, err
	}
	m.plugin, m.tool = pluginv1.NewPluginServiceClient(m.conn), pluginv1.NewToolServiceClient(m.conn)
	s.moorings = append(s.moorings, m)
	return m, nil
}

// shake waits for the handshake.
func (s *suite) shake(ctx context.Context, p *process) (*line, error) {
	timer := time.NewTimer(s.bounds.start)
	defer timer.Stop()
	select {
	case <-p.stdout.line:
	case <-p.done:
		select {
		case <-p.stdout.line: // it has said something all the same
		default:
			return nil, fmt.Errorf("it ended before the handshake%s", p.words())
		}
	case <-timer.C:
		return nil, fmt.Errorf("no line on stdout within %s; a plugin prints one as soon as it serves", s.bounds.start)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	text, _ := p.stdout.first()
	return parseLine(text)
}

// connect makes a connection of its own; nothing is dialled yet.
func (m *mooring) connect(creds credentials.TransportCredentials, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:plugin", append(options,
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return m.dial(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(plugin.MaxMessage), grpc.MaxCallSendMsgSize(plugin.MaxMessage)),
	)...)
}

func (m *mooring) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, m.line.network, m.line.address)
}

// socket says what is wrong with where it serves.
func (m *mooring) socket() error {
	if m.line.network != "unix" {
		return fmt.Errorf("it serves on %s %s; only a unix socket is accepted", m.line.network, m.line.address)
	}
	if filepath.Dir(m.line.address) != m.dir {
		return fmt.Errorf("it serves on %s; the socket must lie in the directory that PLUGIN_UNIX_SOCKET_DIR names (%s)", m.line.address, m.dir)
	}
	info, err := os.Lstat(m.line.address)
	if err != nil {
		return fmt.Errorf("there is no such socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s is not a socket", m.line.address)
	}
	return nil
}

// health asks whether it serves.
func (m *mooring) health(ctx context.Context) error { return healthOf(ctx, m.conn) }

func healthOf(ctx context.Context, conn *grpc.ClientConn) error {
	r, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "plugin"})
	if err != nil {
		return err
	}
	if r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("the health of \"plugin\" is %s, not SERVING", r.GetStatus())
	}
	return nil
}

// leave asks it to end, as go-plugin does, and kills it if it has not within
// that time.
func (m *mooring) leave(ctx context.Context, within time.Duration) error {
	begin := time.Now()
	rpc, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := m.conn.Invoke(rpc, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	if err == nil && !m.endsWithin(within-time.Since(begin)) {
		err = fmt.Errorf("it still runs %s after Shutdown; a host kills it then", within)
	}
	m.end()
	return err
}

// end ends it by force, if it has not ended, and cleans up.
func (m *mooring) end() {
	if m.conn != nil {
		_ = m.conn.Close()
	}
	m.kill()
	_ = os.RemoveAll(m.dir)
}

// fault adds to an error what the process said, if that may be why.
func (m *mooring) fault(err error) error {
	if err == nil {
		return nil
	}
	m.endsWithin(settle) // an end is known a moment after the connection's
	if m.ended() {
		return errors.New(err.Error() + m.words())
	}
	return err
}

const settle = 200 * time.Millisecond
