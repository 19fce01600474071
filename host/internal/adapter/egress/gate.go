// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
)

// Config is what one adapter may reach, and how it is known.
type Config struct {
	// Path of the socket, in a directory that only the host and this adapter can
	// enter. It must not be there. An adapter with a user id of its own needs the
	// socket to be given to it.
	Path string
	// Grants are the adapter's connect grants, host:port.
	Grants []string
	// Peer reports, as an error, that the other end is no process of the adapter.
	Peer func(*net.UnixConn) error
	// Own are the addresses on which the host listens at the moment; one that is
	// unspecified is every address of this machine. nil: it listens nowhere.
	Own func() []netip.AddrPort
	// Private lets granted names lead to private addresses.
	Private bool
	// Resolver of names; nil: that of the system.
	Resolver *net.Resolver
	// Log is told what is refused and what fails, not more often than it can be read.
	Log hclog.Logger

	Limits Limits
}

// Limits bound what one adapter holds. What is zero has its default.
type Limits struct {
	Conns int           // connections at a time; 64
	Head  time.Duration // until a request is there; 10s
	Dial  time.Duration // to resolve and connect; 10s
	Idle  time.Duration // nothing goes either way; 1h. Closed before twice that.
	Ended time.Duration // the same once one side has ended; 1m
	Life  time.Duration // of a connection; 24h
}

func (l Limits) filled() Limits {
	for d, value := range map[*time.Duration]time.Duration{
		&l.Head: 10 * time.Second, &l.Dial: 10 * time.Second, &l.Idle: time.Hour, &l.Ended: time.Minute, &l.Life: 24 * time.Hour,
	} {
		if *d <= 0 {
			*d = value
		}
	}
	if l.Conns <= 0 {
		l.Conns = 64
	}
	return l
}

// waiting is how many beyond the connections may be there to be answered. Further ones
// wait in the kernel.
const waiting = 8

// Gate is the way out of one adapter. It is safe for concurrent use.
type Gate struct {
	config   Config
	limits   Limits
	judge    *judge
	listener *net.UnixListener
	end      context.CancelFunc // of everything that goes through
	all      sync.WaitGroup
	door     chan struct{} // whoever has come in
	slots    chan struct{} // of these, who has been let through or is being connected
	buffers  sync.Pool
	counts   counts
	says     *says
}

// Listen opens the gate. Whoever opens it closes it when the adapter has ended.
func Listen(config Config) (*Gate, error) {
	granted, err := parseGrants(config.Grants)
	if err != nil {
		return nil, err
	}
	if config.Peer == nil {
		return nil, errors.New("egress: nothing tells the adapter's processes from others")
	}
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: config.Path})
	if err != nil {
		return nil, fmt.Errorf("egress socket: %w", err)
	}
	if err := os.Chmod(config.Path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("egress socket: %w", err), l.Close())
	}
	limits := config.Limits.filled()
	g := &Gate{
		config: config, limits: limits, listener: l,
		judge: &judge{granted: granted, own: config.Own, private: config.Private},
		door:  make(chan struct{}, limits.Conns+waiting), slots: make(chan struct{}, limits.Conns),
		says: &says{log: config.Log, pace: rate.NewLimiter(rate.Every(time.Second), 10)},
	}
	g.buffers.New = func() any { return new([copySize]byte) }
	ctx, end := context.WithCancel(context.Background())
	g.end = end
	g.all.Go(func() { g.accept(ctx) })
	return g, nil
}

// Path is that of the socket: the adapter's TOOLWHARF_EGRESS.
func (g *Gate) Path() string { return g.config.Path }

// Close ends every connection and returns when none is left. A name that is being
// looked up can occupy the resolver until that gives up; each name does so once.
func (g *Gate) Close() error {
	g.end()
	err := g.listener.Close()
	g.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// accept lets in as many as there is room for.
func (g *Gate) accept(ctx context.Context) {
	const shortest, longest = 5 * time.Millisecond, time.Second
	for pause := shortest; ; {
		select {
		case g.door <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := g.listener.AcceptUnix()
		if err == nil {
			pause = shortest
			g.all.Go(func() {
				defer func() { <-g.door }()
				g.serve(ctx, conn)
			})
			continue
		}
		<-g.door
		if errors.Is(err, net.ErrClosed) {
			return
		}
		g.says.warn("connections through the host wait", "error", err) // no file descriptors left
		select {
		case <-time.After(pause):
			pause = min(2*pause, longest)
		case <-ctx.Done():
			return
		}
	}
}

// serve answers one request, and carries what follows.
func (g *Gate) serve(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := g.config.Peer(conn); err != nil {
		g.counts.refused.Add(1)
		g.says.warn("a stranger is not let through", "error", err)
		return
	}
	_ = conn.SetDeadline(time.Now().Add(g.limits.Head))
	head, early, err := readHead(conn)
	if errors.Is(err, errLongHead) {
		g.turnAway(ctx, conn, target{}, refuse(http.StatusRequestHeaderFieldsTooLarge, "%s", err))
		return
	}
	if err != nil {
		return // whoever it was has gone, or never said anything
	}
	to, refused := parseHead(head)
	if refused != nil {
		g.turnAway(ctx, conn, to, refused)
		return
	}
	if !g.judge.granted[to] {
		g.turnAway(ctx, conn, to, refuse(http.StatusForbidden, "there is no connect grant for %s", to))
		return
	}
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	default:
		g.turnAway(ctx, conn, to, refuse(http.StatusServiceUnavailable, "%d connections are open, which is all that this adapter may have", g.limits.Conns))
		return
	}
	remote, refused := g.connect(ctx, to)
	if refused != nil {
		g.turnAway(ctx, conn, to, refused)
		return
	}
	defer remote.Close()
	g.counts.opened.Add(1)
	_ = conn.SetDeadline(time.Now().Add(g.limits.Head))
	if _, err := conn.Write([]byte(accepted)); err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	g.carry(ctx, conn, remote, early)
}

// turnAway answers that there is no connection.
func (g *Gate) turnAway(ctx context.Context, conn *net.UnixConn, to target, r *refusal) {
	if ctx.Err() != nil {
		return // it is the end of the gate, which is nobody's fault
	}
	counter, message := &g.counts.refused, "a connection of the adapter is refused"
	if r.status == http.StatusBadGateway || r.status == http.StatusGatewayTimeout {
		counter, message = &g.counts.failed, "a connection of the adapter has failed"
	}
	counter.Add(1)
	args := []any{"why", r.why}
	if to.port != 0 {
		args = append(args, "to", to.String())
	}
	if r.detail != "" {
		args = append(args, "detail", r.detail)
	}
	g.says.warn(message, args...)
	_ = conn.SetDeadline(time.Now().Add(g.limits.Head))
	_, _ = conn.Write([]byte(r.answer()))
}
