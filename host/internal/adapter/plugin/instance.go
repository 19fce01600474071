// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// instance is one running plugin.
type instance struct {
	name    string
	process *process.Process
	client  *goplugin.Client
	conn    *grpc.ClientConn
	about   adapter.About
	config  []byte // until it is handed over
	// cacheDir is its own; "": it has none.
	cacheDir string
	log      hclog.Logger
	redact   func(adapter, text string) string
	// updated is Launcher.Updated.
	updated       func(adapter, uri string)
	passPrincipal bool
	// subscribes: the plugin tells of resources by request.
	subscribes bool
	heeded     map[string]bool // of Heed, which is called from one goroutine
}

var _ adapter.Instance = (*instance)(nil)

// About says what it is.
func (in *instance) About() adapter.About { return in.about }

// Done is closed once the process has ended.
func (in *instance) Done() <-chan struct{} { return in.process.Done() }

// Ended says how the process ended and what it said last.
func (in *instance) Ended() error {
	exit := in.process.Exit()
	if exit == "" {
		return nil
	}
	settled, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	in.process.Settled(settled)
	if words := lastWords(in.process); words != "" {
		exit += "; its last words: " + in.redact(in.name, words)
	}
	return errors.New(exit)
}

// Health asks by grpc.health.v1 whether the plugin serves.
func (in *instance) Health(ctx context.Context) error {
	r, err := grpc_health_v1.NewHealthClient(in.conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	if status.Code(err) == codes.Unimplemented {
		return nil // it has no such service, and says so
	}
	if err != nil {
		return fmt.Errorf("health of %s: %w", in.name, err)
	}
	if r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health of %s: %s", in.name, r.GetStatus())
	}
	return nil
}

// Drain asks the plugin to end, and ends it by force when ctx does.
func (in *instance) Drain(ctx context.Context) error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		in.client.Kill() // graceful, then by force after 2 s; removes the socket directory
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		err := in.process.Kill(context.WithoutCancel(ctx))
		<-gone
		return err
	}
}

// abandon ends what did not come to serve.
func (in *instance) abandon(ctx context.Context) {
	end, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer done()
	_ = in.Drain(end)
}

// Catalogs follows the plugin's Watch stream.
func (in *instance) Catalogs(ctx context.Context) iter.Seq2[adapter.Catalog, error] {
	return func(yield func(adapter.Catalog, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := pluginv1.NewPluginServiceClient(in.conn).Watch(ctx, &pluginv1.WatchRequest{})
		if err != nil {
			yield(adapter.Catalog{}, fmt.Errorf("watch of %s: %w", in.name, err))
			return
		}
		notes := &notebook{pace: rate.NewLimiter(rate.Every(noteEvery), notesAtOnce)}
		for {
			event, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF): // a static catalogue
				return
			case status.Code(err) == codes.Canceled && ctx.Err() != nil:
				return
			case err != nil:
				in.settle(ctx, err)
				yield(adapter.Catalog{}, fmt.Errorf("watch of %s: %w", in.name, err))
				return
			}
			switch e := event.GetEvent().(type) {
			case *pluginv1.WatchResponse_Catalog:
				if !yield(catalog(e.Catalog), nil) {
					return
				}
			case *pluginv1.WatchResponse_Note:
				in.note(e.Note, notes)
			case *pluginv1.WatchResponse_ResourceUpdated:
				if in.updated != nil {
					in.updated(in.name, e.ResourceUpdated.GetUri())
				}
			default: // an event of a later version, or of a feature that is not used
			}
		}
	}
}

// settle waits for the end of the process where the connection has ended: it is
// known a moment later.
func (in *instance) settle(ctx context.Context, err error) {
	if status.Code(err) != codes.Unavailable {
		return
	}
	moment := time.NewTimer(time.Second)
	defer moment.Stop()
	select {
	case <-in.process.Done():
	case <-moment.C:
	case <-ctx.Done():
	}
}

// A plugin may say so many notes at once, and then one in so long: each is a line
// of the host's log.
const (
	notesAtOnce = 50
	noteEvery   = time.Second
)

// notebook paces a plugin's notes.
type notebook struct {
	pace    *rate.Limiter
	leftOut int // since the last one
}

func (in *instance) note(n *pluginv1.Note, b *notebook) {
	if !b.pace.Allow() {
		b.leftOut++
		return
	}
	level := hclog.Warn
	if n.GetSeverity() == pluginv1.Severity_SEVERITY_ERROR {
		level = hclog.Error
	}
	args := []any{"text", bounded(n.GetText())}
	if b.leftOut > 0 {
		args = append(args, "left_out_before", b.leftOut)
	}
	b.leftOut = 0
	in.log.Log(level, "note of the plugin", args...)
}
