// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/cgroup"
	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// The handshake. The cookie keeps a plugin that is started by hand from waiting
// for a host; it is no secret.
const (
	cookieKey   = "TOOLWHARF_PLUGIN"
	cookieValue = "toolwharf.plugin.v1"
	version     = 1
	name        = "toolwharf"
)

// FolderVariable is in the environment of a folder's command: an interpreter that
// wrote into its folder would change the plugin.
const FolderVariable = "PYTHONDONTWRITEBYTECODE=1"

// MaxMessage is the largest gRPC message, in both directions.
const MaxMessage = 16 << 20

// maxHeaders bounds the headers and trailers of a plugin's answer, in bytes: a
// status, which ends up in the log, is one of them.
const maxHeaders = 16 << 10

// shutdownGrace is how long a plugin may take to answer Shutdown.
const shutdownGrace = 2 * time.Second

// Launcher starts plugins.
type Launcher struct {
	// RunDir holds the socket directory of each launch. A socket's path has
	// at most some 100 bytes, so it should be short.
	RunDir string
	// MaxResult is what plugins are told of the largest result, in bytes.
	MaxResult int64
	// CacheDir holds a directory for each adapter, which it may use as a cache;
	// empty: there are none.
	CacheDir string
	// Updated hears of each resource whose content has changed; nil: nobody
	// does. It must not block.
	Updated func(adapter, uri string)
	// Shelf has the copies of pinned programs.
	Shelf *pin.Shelf
	// Logs take what plugins write to stderr; nil: nobody does.
	Logs Logs
	// Confinement confines what is started; nil: nothing does.
	Confinement *Confinement
	// Cgroups is the host's part of cgroup v2, or why it has none; nil: it has none.
	Cgroups func() (*cgroup.Tree, error)
	// Own are the addresses on which the host listens, which no adapter reaches; nil:
	// there are none.
	Own func() []netip.AddrPort
	// Redact takes an adapter's secrets out of what is said of it; may be nil.
	Redact func(adapter, text string) string
	Log    hclog.Logger

	hashes  singleflight.Group // that are being taken
	traffic traffic
}

var _ adapter.Launcher = (*Launcher)(nil)

// Start launches d's program, configures it and returns the instance. On error
// nothing of it is left.
func (l *Launcher) Start(ctx context.Context, d *adapter.Desired) (adapter.Instance, error) {
	in, err := l.start(ctx, d)
	if e, ok := errors.AsType[*adapter.StartError](err); ok {
		e.Reason = l.redacted(d.Name, e.Reason)
	}
	return in, err
}

func (l *Launcher) start(ctx context.Context, d *adapter.Desired) (adapter.Instance, error) {
	timeout := d.Limits.StartTimeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	at, program, err := l.take(&d.Program)
	if mismatch, ok := errors.AsType[*pin.MismatchError](err); ok {
		return nil, &adapter.UnpinnedError{Reason: mismatch.Error()}
	}
	if err != nil {
		return nil, &adapter.StartError{Phase: adapter.PhaseLaunch, Reason: "cannot be executed: " + cause(err), Err: err}
	}
	in, err := l.ready(ctx, d, at, program)
	if err != nil {
		if in != nil {
			in.abandon(ctx)
		}
		return nil, err
	}
	in.about.Program = program
	if in.cacheDir != "" {
		go l.keepTrim(in)
	}
	return in, nil
}

// take returns where the program lies that is executed, and its hash: a private
// copy of what is pinned, else the program itself.
func (l *Launcher) take(p *adapter.Program) (at string, hash tool.Digest, err error) {
	folder := p.Command != nil
	if p.Pin.IsZero() {
		// Adapters of one program start together: it is read once for all of them.
		taken, err, _ := l.hashes.Do(p.Path+"\x00"+p.Stamp, func() (any, error) { return pin.Hash(p.Path, folder) })
		hash, _ = taken.(tool.Digest)
		return p.Path, hash, err
	}
	at, err = l.Shelf.Take(p.Plugin, p.Path, folder, p.Pin)
	return at, p.Pin, err
}

// launch executes the program, in a cage unless that is nil and with so much memory,
// and shakes hands with it.
func (l *Launcher) launch(ctx context.Context, d *adapter.Desired, argv []string, c *cage, m *memory) (_ *process.Process, _ *goplugin.Client, _ *grpc.ClientConn, err error) {
	var proc *process.Process
	over := func() {
		m.end(l, d.Name)
		if c != nil {
			c.remove()
		}
	}
	defer func() {
		if err != nil {
			over()
			return
		}
		go func() {
			<-proc.Done()
			over()
		}()
	}()
	keys, err := newPair()
	if err != nil {
		return nil, nil, nil, startError(adapter.PhaseLaunch, err)
	}
	handshake := []string{"PLUGIN_CLIENT_CERT=" + keys.pem}
	if d.Program.Command != nil {
		handshake = append(handshake, FolderVariable)
	}
	if c != nil {
		handshake = append(handshake, c.environment(d, argv[0])...)
	}
	started := make(chan struct{})
	config := &goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: version, MagicCookieKey: cookieKey, MagicCookieValue: cookieValue,
		},
		VersionedPlugins: map[int]goplugin.PluginSet{version: {name: connector{}}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		TLSConfig:        keys.config,
		SkipHostEnv:      true,
		StartTimeout:     d.Limits.StartTimeout,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: l.RunDir},
		Logger:           l.Log.Named(d.Name),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			spec, err := execution(d, argv, append(cmd.Env, handshake...), socketDir, c)
			if err != nil {
				_ = os.Remove(socketDir) // go-plugin removes it only once there is a runner
				return nil, err
			}
			m.limit(&spec)
			proc = process.New(spec)
			if c != nil && c.outlet != nil {
				c.outlet.process.Store(proc)
			}
			close(started)
			return &quiet{proc, func(r io.Reader) { l.read(d.Name, r) }}, nil
		},
	}
	config.GRPCDialOptions = dialOptions(func(ctx context.Context, _ string) (net.Conn, error) { return proc.Dial(ctx) })
	client := goplugin.NewClient(config)
	type dialled struct {
		conn *grpc.ClientConn
		err  error
	}
	result := make(chan dialled, 1)
	go func() {
		conn, err := connect(client)
		result <- dialled{conn, err}
	}()
	var r dialled
	select {
	case r = <-result:
	case <-ctx.Done():
		// go-plugin holds its lock while it waits for the handshake, so the
		// process itself is ended.
		select {
		case <-started:
			_ = proc.Kill(context.WithoutCancel(ctx))
			<-result
		case <-result:
		}
		r.err = ctx.Err()
	}
	if r.err == nil && certified(proc.FirstLine()) {
		return proc, client, r.conn, nil
	}
	if proc != nil {
		_ = proc.Kill(context.WithoutCancel(ctx))
	}
	failure := explain(ctx, proc, r.err)
	if _, unconfined := errors.AsType[*process.ConfinementError](r.err); unconfined {
		failure.Refused = d.Sandbox.Strict // it will not be otherwise the next time
	}
	client.Kill() // also removes the socket directory
	return nil, nil, nil, failure
}

// execution is what is to be executed, in a cage unless that is nil.
func execution(d *adapter.Desired, argv, env []string, socketDir string, c *cage) (process.Spec, error) {
	env, err := process.Environment(env, d.Env, d.Limits.Memory)
	if err != nil {
		return process.Spec{}, err
	}
	spec := process.Spec{Path: argv[0], Args: argv[1:], Env: env, Dir: d.Dir, SocketDir: socketDir}
	if !d.Program.Pin.IsZero() && d.Program.Command == nil {
		spec.Program = hex.EncodeToString(d.Program.Pin[:])
	}
	if c != nil {
		err = c.own(socketDir)
		spec.Sandbox = c.policy
	}
	return spec, err
}

// certified reports whether a handshake line has a certificate. go-plugin takes
// one without.
func certified(line string) bool {
	fields := strings.Split(line, "|")
	return len(fields) > 5 && fields[5] != ""
}

func connect(client *goplugin.Client) (*grpc.ClientConn, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(name)
	if err != nil {
		return nil, err
	}
	return raw.(*grpc.ClientConn), nil //nolint:forcetypeassert // connector returns nothing else
}

// connector is the plugin type: the connection itself.
type connector struct {
	goplugin.NetRPCUnsupportedPlugin
}

var _ goplugin.GRPCPlugin = connector{}

func (connector) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the host serves no plugin")
}

func (connector) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// dialOptions bound the connection, and hold it to who may serve it.
func dialOptions(dial func(context.Context, string) (net.Conn, error)) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage), grpc.ForceCodecV2(newCodec())),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithChainStreamInterceptor(refuseSideChannels),
		grpc.WithChainUnaryInterceptor(boundShutdown),
	}
}

// refuseSideChannels keeps go-plugin from opening its broker (services of the
// host for the plugin: there are none) and its stdio stream (a plugin's logs
// come by stderr).
func refuseSideChannels(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if strings.HasPrefix(method, "/plugin.") {
		return nil, status.Error(codes.Unimplemented, "not used by this host")
	}
	return streamer(ctx, desc, cc, method, opts...)
}

// boundShutdown: go-plugin asks for a shutdown without a deadline.
func boundShutdown(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if strings.HasPrefix(method, "/plugin.") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shutdownGrace)
		defer cancel()
	}
	return invoker(ctx, method, req, reply, cc, opts...)
}

func startError(phase adapter.Phase, err error) *adapter.StartError {
	return &adapter.StartError{Phase: phase, Reason: err.Error(), Err: err}
}

// explain turns what go-plugin says of a failed start into what an operator can
// act on.
func explain(ctx context.Context, proc *process.Process, err error) *adapter.StartError {
	e := &adapter.StartError{Phase: adapter.PhaseHandshake, Err: err}
	var address *process.AddressError
	var unconfined *process.ConfinementError
	switch {
	case errors.As(err, &unconfined):
		e.Phase, e.Reason = adapter.PhaseLaunch, unconfined.Error()
	case proc == nil || proc.PID() == 0:
		e.Phase = adapter.PhaseLaunch
		e.Reason = "cannot be executed: " + cause(err)
	case errors.As(err, &address):
		e.Reason = address.Error()
	case ctx.Err() != nil:
		e.Reason = "no handshake in time; a plugin prints one line to stdout as soon as it serves"
		if line := proc.FirstLine(); line != "" {
			e.Reason = fmt.Sprintf("no connection in time after the handshake line %q", line)
		}
	case strings.HasPrefix(proc.FirstLine(), "1|") && !certified(proc.FirstLine()):
		e.Reason = "the handshake line has no certificate; mutual TLS is obligatory"
	case strings.HasPrefix(proc.FirstLine(), "1|"):
		e.Reason = "the handshake line is refused: " + cause(err)
	case proc.FirstLine() != "":
		e.Reason = fmt.Sprintf("the first line on stdout is %q, not the handshake; is it a Toolwharf plugin?", proc.FirstLine())
	default:
		e.Reason, e.Ended = "it ended before the handshake", true
	}
	// It is ended by now; its last words may still be on their way.
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if proc != nil && proc.PID() != 0 {
		proc.Settled(settled)
		if exit := proc.Exit(); proc.FirstLine() == "" && ctx.Err() == nil {
			e.Reason += " (" + exit + ")"
		}
		if words := lastWords(proc); words != "" {
			e.Reason += "; its last words: " + words
		}
	}
	return e
}

// cause is the first line of an error, without what go-plugin adds.
func cause(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "permission denied"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
