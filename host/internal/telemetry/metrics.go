// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// mostSeries are those of one metric. Further ones are counted together, as
// otel_metric_overflow="true".
const mostSeries = 10_000

// Buckets of durations, in seconds.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Metrics count what happens and show it to Prometheus. Nothing is set up before
// the first of it: an idle host pays nothing. No principal, argument, URI or text
// of a client is ever a label.
type Metrics struct {
	version string
	look    func(context.Context) State
	begun   func() *instruments
}

// NewMetrics returns metrics of a host of that version. look is asked how the host
// fares whenever somebody asks for the metrics.
func NewMetrics(version string, look func(context.Context) State) *Metrics {
	m := &Metrics{version: version, look: look}
	m.begun = sync.OnceValue(m.begin)
	return m
}

// Call counts a call that has ended.
func (m *Metrics) Call(ctx context.Context, row ledger.Row) {
	k := callKey{op: row.Op, adapter: row.Adapter, outcome: row.Outcome}
	i := m.begun()
	i.took.Record(ctx, row.Ended.Sub(row.Started).Seconds(), i.ofTook(k)...)
	k.kind = row.Kind
	if row.Op == tool.OpTool { // other names are URIs, and so a client's words
		k.tool = row.Tool
	}
	i.calls.Add(ctx, 1, i.ofCalls(k)...)
}

// Request counts a request over HTTP.
func (m *Metrics) Request(ctx context.Context, method, route string, status int, took time.Duration) {
	i := m.begun()
	i.requests.Record(ctx, took.Seconds(), metric.WithAttributeSet(attribute.NewSet(
		attribute.String("http.request.method", method), attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status),
	)))
}

// Refused counts a request that was refused over HTTP. Reasons are the host's own
// codes.
func (m *Metrics) Refused(ctx context.Context, reason string) {
	m.begun().refused.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// ServeHTTP answers Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.begun().pages.ServeHTTP(w, r) }

// callKey is what calls are told apart by.
type callKey struct {
	op            tool.Op
	tool, adapter string
	outcome       ledger.Outcome
	kind          tool.Kind
}

type instruments struct {
	pages          http.Handler
	calls, refused metric.Int64Counter
	took, requests metric.Float64Histogram

	known knownSets
}

// knownSets are the labels of calls that were there before: making them costs more
// than all else of counting.
type knownSets struct {
	calls, took sync.Map // callKey -> []metric.AddOption, []metric.RecordOption
	size        atomic.Int64
}

func (i *instruments) ofCalls(k callKey) []metric.AddOption {
	if known, ok := i.known.calls.Load(k); ok {
		options, _ := known.([]metric.AddOption)
		return options
	}
	options := []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(
		attribute.String("op", string(k.op)), attribute.String("tool", k.tool), attribute.String("adapter", k.adapter),
		attribute.String("outcome", string(k.outcome)), attribute.String("kind", string(k.kind)),
	))}
	if i.known.size.Add(1) <= mostSeries {
		i.known.calls.Store(k, options)
	}
	return options
}

func (i *instruments) ofTook(k callKey) []metric.RecordOption {
	if known, ok := i.known.took.Load(k); ok {
		options, _ := known.([]metric.RecordOption)
		return options
	}
	options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
		attribute.String("op", string(k.op)), attribute.String("adapter", k.adapter), attribute.String("outcome", string(k.outcome)),
	))}
	if i.known.size.Add(1) <= mostSeries {
		i.known.took.Store(k, options)
	}
	return options
}

// begin sets everything up. Names and units follow OpenTelemetry; the exporter
// makes Prometheus' of them.
func (m *Metrics) begin() *instruments {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		panic(err) // it is the same every time
	}
	meter := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(exporter), sdkmetric.WithCardinalityLimit(mostSeries),
		sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "toolwharf"), attribute.String("service.version", m.version))),
	).Meter("toolwharf")
	b := builder{meter: meter}
	i := &instruments{
		pages: promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2}),
		calls: b.counter("toolwharf.calls", "{call}", "Calls that have ended, refused ones too."),
		took: b.histogram("toolwharf.call.duration",
			"How long calls took, from their arrival to their record in the ledger.", metric.WithExplicitBucketBoundaries(seconds...)),
		refused: b.counter("toolwharf.http.refusals", "{request}", "Requests that were refused over HTTP, by the code that the client was told."),
		requests: b.histogram("http.server.request.duration",
			"How long requests over HTTP took. Streams count as long as they are open.", metric.WithExplicitBucketBoundaries(seconds...)),
	}
	b.observe(m.look)
	if b.err != nil {
		panic(b.err) // as above
	}
	return i
}

// builder makes instruments, and keeps the first error.
type builder struct {
	meter metric.Meter
	err   error
	shown []metric.Observable
}

func (b *builder) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) counter(name, unit, text string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.keep(err)
	return c
}

func (b *builder) histogram(name, text string, o ...metric.Float64HistogramOption) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, append(o, metric.WithUnit("s"), metric.WithDescription(text))...)
	b.keep(err)
	return h
}

func (b *builder) gauge(name, unit, text string) metric.Int64Observable {
	g, err := b.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.keep(err)
	b.shown = append(b.shown, g)
	return g
}

func (b *builder) total(name, unit, text string) metric.Int64Observable {
	c, err := b.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.keep(err)
	b.shown = append(b.shown, c)
	return c
}

// boolean is 1 or 0.
func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
