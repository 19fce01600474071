// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Traces send a span of each call, and one of the time at its adapter, to an
// OpenTelemetry collector. Names follow OpenTelemetry's conventions for MCP.
// Arguments, results, texts of errors and principals are never in one.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// TracesWanted reports whether the environment says where traces go, in
// OpenTelemetry's own variables; the error, why they cannot go there.
func TracesWanted(getenv func(string) string) (bool, error) {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return false, nil
	}
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return name, value
			}
		}
		return "", ""
	}
	const exporter = "OTEL_TRACES_EXPORTER"
	switch to := getenv(exporter); to {
	case "none":
		return false, nil
	case "":
		if name, _ := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"); name == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("%s is %q: only otlp and none are known here", exporter, to)
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); name != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("%s is %q: only http/protobuf is spoken here, mostly on port 4318", name, protocol)
	}
	return true, nil
}

// NewTraces begins to send traces to where the environment says. Close must be
// called.
func NewTraces(ctx context.Context, version string) (*Traces, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// The environment comes last: what it says holds.
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "toolwharf"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Traces{provider: p, tracer: p.Tracer("toolwharf", trace.WithInstrumentationVersion(version))}, nil
}

// TellFaults has OpenTelemetry say to log what it cannot send. It speaks for the
// whole process.
func TellFaults(say func(error)) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(say))
}

// Close sends what waits.
func (t *Traces) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	return nil
}

// w3c is how traces are told of from process to process (W3C Trace Context).
var w3c = propagation.TraceContext{}

// Begin begins the span of a call, below the client's. end must be called.
func (t *Traces) Begin(ctx context.Context, call *tool.Call) (_ context.Context, end func()) {
	ctx = w3c.Extract(ctx, propagation.MapCarrier{"traceparent": call.Trace.Parent, "tracestate": call.Trace.State})
	method := methodOf(call.Op)
	name, known := method, []attribute.KeyValue{attribute.String("mcp.method.name", method)}
	transport := "tcp"
	if call.Principal.Kind == tool.Stdio {
		transport = "pipe"
	}
	known = append(known, attribute.String("network.transport", transport))
	if call.Client.Protocol != "" {
		known = append(known, attribute.String("mcp.protocol.version", call.Client.Protocol))
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(known...))
	return ctx, func() { span.End() }
}

// Tell says what became of a call, in its span. What a client has named is named
// only once it has turned out to be a tool or a prompt.
func (t *Traces) Tell(ctx context.Context, row ledger.Row) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("toolwharf.call.id", row.Call), attribute.String("toolwharf.adapter", row.Adapter),
		attribute.String("toolwharf.outcome", string(row.Outcome)),
	)
	switch row.Op {
	case tool.OpTool:
		span.SetName(methodOf(row.Op) + " " + row.Tool)
		span.SetAttributes(attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", row.Tool))
	case tool.OpPrompt:
		name := strings.TrimPrefix(row.Tool, "prompts:")
		span.SetName(methodOf(row.Op) + " " + name)
		span.SetAttributes(attribute.String("gen_ai.prompt.name", name))
	case tool.OpResource, tool.OpCompletion, tool.OpBefore, tool.OpAfter: // a URI is the client's word
	}
	if row.Kind != "" {
		span.SetAttributes(attribute.String("error.type", string(row.Kind)))
	}
	if row.Outcome == ledger.Failed || row.Outcome == ledger.Refused || row.Outcome == ledger.Unknown {
		span.SetStatus(codes.Error, "")
	}
}

// Send begins the span of the time at an adapter, and returns the trace context
// that the adapter is told. end must be called.
func (t *Traces) Send(ctx context.Context, adapter string, told tool.Trace) (_ context.Context, _ tool.Trace, end func(*tool.Error)) {
	ctx, span := t.tracer.Start(ctx, "adapter "+adapter, //nolint:spancheck // it ends with end
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("toolwharf.adapter", adapter)))
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	told.Parent, told.State = carrier["traceparent"], carrier["tracestate"]
	return ctx, told, func(err *tool.Error) { //nolint:spancheck // as above
		if err != nil {
			span.SetAttributes(attribute.String("error.type", string(err.Kind)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// methodOf is MCP's name of an operation.
func methodOf(op tool.Op) string {
	switch op {
	case tool.OpTool:
		return "tools/call"
	case tool.OpResource:
		return "resources/read"
	case tool.OpPrompt:
		return "prompts/get"
	case tool.OpCompletion:
		return "completion/complete"
	case tool.OpBefore, tool.OpAfter:
	}
	return string(op)
}
