// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Registry is the live catalogue, as far as this face reads it.
type Registry interface {
	Snapshot() *registry.Snapshot
	Changes(context.Context) iter.Seq[*registry.Snapshot]
	// Subscribe says that somebody wants to hear of a resource, Updates yields
	// the URIs of those that have changed.
	Subscribe(uri string) (release func())
	Updates(context.Context) iter.Seq[[]string]
}

// Executor runs calls. An error is an *executor.UnknownError,
// executor.ErrInvalidState or an *tool.Error.
type Executor interface {
	Do(context.Context, *tool.Call) (tool.Outcome, error)
	// Reject records a call whose arguments are not JSON and returns what the
	// client is to be told.
	Reject(context.Context, *tool.Call, *tool.Error) error
	// Subscribe judges whether a caller may hear of a resource's changes.
	Subscribe(context.Context, *tool.Call) error
}

// Defaults of Config.
const (
	DefaultPageSize   = 1000
	DefaultMaxBody    = 1 << 20
	DefaultMaxListens = 8
)

// Config is what a face is made of. Registry and Executor are required; a
// number that is not positive stands for its default.
type Config struct {
	// Name, Version and Instructions are what the host says of itself.
	Name, Version, Instructions string
	Registry                    Registry
	Executor                    Executor
	// Policy returns what says now who may know of what; nil: everybody may of
	// all. Recheck is to be called when it returns another.
	Policy func() *executor.Policy
	// PageSize is the most tools in one page of tools/list.
	PageSize int
	// MaxBody is the largest HTTP request, in bytes.
	MaxBody int64
	// MaxListens is how many listen streams one principal may hold open.
	MaxListens int
	// AllowAnonymous says whose run and call keys count: nil, those of stdio
	// callers and of callers that a token names; false, the latter only; true,
	// everybody's (callers without a name can then share runs).
	AllowAnonymous *bool
	// StepUp answers an HTTP request for something that its caller could have with some
	// scopes more; nil: it is answered like one for a tool that is not there.
	StepUp func(w http.ResponseWriter, r *http.Request, who tool.Principal, scopes []string)
	// HostChecked says that the Host header is judged before a request
	// arrives here. Otherwise the SDK refuses, on a loopback connection,
	// every Host that is not a loopback name.
	HostChecked bool
	// Log is for the operator; nil discards.
	Log *slog.Logger
}

// Face is the host's MCP face. It is safe for concurrent use.
type Face struct {
	config  Config
	log     *slog.Logger
	server  *mcpsdk.Server
	bare    *mcpsdk.Server // is the same without maps, see serverOf
	single  http.Handler   // answers in one JSON body
	events  http.Handler   // answers in server-sent events
	listed  shelf
	hearers hearers
	recheck chan struct{} // holds one
	listens listens
	clients acquaintances
	// instructions may change while sessions are open.
	instructions atomic.Pointer[string]
	// info is what the host says of itself in results.
	info json.RawMessage
	// processRun is the run of stdio calls that name none.
	processRun string
	// keyless is done once somebody has sent keys that do not count.
	keyless sync.Once
	// grace is how long calls may go on after the end of stdin, beat how
	// often an idle listen stream says that it lives.
	grace, beat time.Duration

	open  context.Context //nolint:containedctx // ends with Close
	close context.CancelFunc
	tasks sync.WaitGroup
}

// New returns a face whose tools are those of the registry from now on. Close
// must be called.
func New(c Config) *Face {
	if c.PageSize <= 0 {
		c.PageSize = DefaultPageSize
	}
	if c.MaxBody <= 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxListens <= 0 {
		c.MaxListens = DefaultMaxListens
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Policy == nil {
		all := &executor.Policy{}
		c.Policy = func() *executor.Policy { return all }
	}
	f := &Face{
		config: c, log: c.Log,
		listed:     shelf{registry: c.Registry, policy: c.Policy, log: c.Log},
		recheck:    make(chan struct{}, 1),
		listens:    listens{max: c.MaxListens},
		processRun: tool.NewID(tool.PrefixRun),
		grace:      5 * time.Second,
		beat:       25 * time.Second,
	}
	f.Instruct(c.Instructions)
	f.open, f.close = context.WithCancel(context.Background())
	self := &mcpsdk.Implementation{Name: c.Name, Version: c.Version}
	f.info, _ = marshal(self) // strings always marshal
	f.server, f.bare = f.newServer(self), f.newServer(self)
	f.server.AddSendingMiddleware(f.notify)
	f.single, f.events = f.sdkHandler(true), f.sdkHandler(false)
	m := &mirror{server: f.server, shelf: &f.listed, log: c.Log}
	m.update() // so that headers are held against it from the first request on
	f.tasks.Go(func() { m.follow(f.open) })
	f.tasks.Go(func() { m.check(f.open, f.recheck) })
	f.tasks.Go(func() { f.tellNews(f.open) })
	return f
}

// Instruct changes the instructions that clients are given from now on.
func (f *Face) Instruct(text string) { f.instructions.Store(&text) }

// Recheck tells clients whose lists are others under the policy of now.
func (f *Face) Recheck() {
	select {
	case f.recheck <- struct{}{}:
	default: // it is going to be done
	}
}

// Close ends every listen stream and stdio connection, each with a proper end,
// and stops following the registry. Calls that run go on.
func (f *Face) Close() {
	f.close()
	f.tasks.Wait()
}

func (f *Face) newServer(self *mcpsdk.Implementation) *mcpsdk.Server {
	s := mcpsdk.NewServer(
		self,
		&mcpsdk.ServerOptions{
			Logger: sdkLog(f.log),
			Capabilities: &mcpsdk.ServerCapabilities{
				Tools:       &mcpsdk.ToolCapabilities{ListChanged: true},
				Resources:   &mcpsdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
				Prompts:     &mcpsdk.PromptCapabilities{ListChanged: true},
				Completions: &mcpsdk.CompletionCapabilities{},
				Logging:     &mcpsdk.LoggingCapabilities{},
			},
			SetCacheable: cacheable,
			// Judged before they arrive here; without them the SDK has none.
			SubscribeHandler:   func(context.Context, *mcpsdk.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcpsdk.UnsubscribeRequest) error { return nil },
		},
	)
	s.AddReceivingMiddleware(f.receive)
	return s
}

// serverOf returns the SDK's server for a request: the one that has maps only
// where they are needed, for listen streams and for calls whose headers are to be
// held against a tool. The maps are of what everybody sees together, and what the
// SDK would say of something that the caller may not know of is not for it.
func (f *Face) serverOf(r *http.Request) *mcpsdk.Server {
	o := originOf(r.Context())
	e := o.envelope
	if e != nil && e.whole && e.doubled == "" && (e.asks(methodListen) || o.called != nil && o.called.headers) {
		return f.server
	}
	return f.bare
}

func (f *Face) sdkHandler(single bool) http.Handler {
	return mcpsdk.NewStreamableHTTPHandler(
		f.serverOf,
		&mcpsdk.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 single,
			Logger:                       sdkLog(f.log),
			MaxRequestBodyBytes:          -1, // bounded before
			PropagateRequestCancellation: true,
			DisableLocalhostProtection:   f.config.HostChecked,
		},
	)
}

// sdkLog is where the SDK logs: its messages are about single connections and
// clients' faults, at levels meant for a program that does nothing else.
func sdkLog(log *slog.Logger) *slog.Logger { return slog.New(quiet{log.Handler()}) }

// quiet drops what is below warning and turns the rest into debug.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	r.Message = "mcp sdk: " + r.Message
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(n string) slog.Handler      { return quiet{q.Handler.WithGroup(n)} }
