// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/grant"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// describe asks the plugin what it is, and holds the configuration to that.
func (in *instance) describe(ctx context.Context, d *adapter.Desired) error {
	described, err := pluginv1.NewPluginServiceClient(in.conn).Describe(ctx, &pluginv1.DescribeRequest{})
	if err != nil {
		return in.rpcError(ctx, adapter.PhaseDescribe, err)
	}
	in.about = adapter.About{
		Version: bounded(described.GetVersion()), Title: bounded(described.GetTitle()), PID: in.process.PID(),
	}
	in.subscribes, in.heeded = slices.Contains(described.GetFeatures(), featureSubscriptions), map[string]bool{}
	in.config, err = checkConfig(described.GetConfigSchema(), d)
	return err
}

// asks is what the plugin needs outside of its process under the configuration.
// One that does not know the question asks for nothing, and is asked again the next
// time.
func (in *instance) asks(ctx context.Context, d *adapter.Desired, maxResult int64) (asked []adapter.Grant, sound bool) {
	request := in.configuration(d, maxResult)
	request.CheckOnly = true
	answer, err := pluginv1.NewPluginServiceClient(in.conn).Configure(ctx, request)
	if err != nil {
		in.settle(ctx, err)
		return nil, false
	}
	sound = !slices.ContainsFunc(answer.GetDiagnostics(), func(g *pluginv1.Diagnostic) bool {
		return g.GetSeverity() != pluginv1.Severity_SEVERITY_WARNING
	})
	kinds := map[pluginv1.GrantKind]adapter.GrantKind{
		pluginv1.GrantKind_GRANT_KIND_READ: adapter.GrantRead, pluginv1.GrantKind_GRANT_KIND_WRITE: adapter.GrantWrite,
		pluginv1.GrantKind_GRANT_KIND_CONNECT: adapter.GrantConnect,
	}
	for _, g := range answer.GetGrants()[:min(len(answer.GetGrants()), grant.MaxAsked)] {
		asked = append(asked, adapter.Grant{Kind: kinds[g.GetKind()], Value: bounded(g.GetValue())})
	}
	return asked, sound
}

func (in *instance) configuration(d *adapter.Desired, maxResult int64) *pluginv1.ConfigureRequest {
	return &pluginv1.ConfigureRequest{
		Config: in.config, Adapter: d.Name, CacheDir: in.cacheDir,
		Limits: &pluginv1.Limits{
			MaxMessageBytes: MaxMessage, MaxResultBytes: maxResult,
			MaxInFlight: int32(d.Limits.MaxInFlight), //nolint:gosec // bounded by the config's schema
			CallTimeout: durationpb.New(d.Limits.Timeout), MaxTools: adapter.MaxTools,
		},
	}
}

// configured configures the plugin.
func (in *instance) configured(ctx context.Context, d *adapter.Desired, maxResult int64) error {
	answer, err := pluginv1.NewPluginServiceClient(in.conn).Configure(ctx, in.configuration(d, maxResult))
	in.config = nil // it holds secrets
	if err != nil {
		return in.rpcError(ctx, adapter.PhaseConfigure, err)
	}
	return in.diagnose(d, answer.GetDiagnostics())
}

// checkConfig holds the configuration to the plugin's own schema, so that the
// plugin meets only what it has declared.
func checkConfig(raw []byte, d *adapter.Desired) ([]byte, error) {
	config := d.Config
	if config == nil {
		config = []byte("{}")
	}
	if len(raw) == 0 {
		raw = []byte(`{"type":"object","maxProperties":0}`)
	}
	declared, err := schema.Compile(raw, schema.Config)
	if err != nil {
		return nil, &adapter.StartError{Phase: adapter.PhaseDescribe, Reason: "the plugin's config schema: " + err.Error(), Err: err}
	}
	value, err := tool.ParseJSON(config)
	if err == nil {
		err = declared.Validate(value)
	}
	switch {
	case err == nil:
		return config, nil
	case !d.Configured:
		return nil, &adapter.NeedsConfigError{Plugin: d.Program.Plugin}
	}
	reason := err.Error()
	if said := (*tool.Error)(nil); errors.As(err, &said) {
		reason = said.Text
	}
	return nil, &adapter.StartError{Phase: adapter.PhaseConfigure, Refused: true, Reason: "config: " + reason}
}

// diagnose keeps warnings and makes an error of the rest.
func (in *instance) diagnose(d *adapter.Desired, diagnostics []*pluginv1.Diagnostic) error {
	var faults []string
	for _, g := range diagnostics {
		text := bounded(g.GetSummary())
		if d.Locate != nil {
			text = d.Locate(bounded(g.GetPointer())) + ": " + text
		}
		if g.GetDetail() != "" {
			text += " (" + bounded(g.GetDetail()) + ")"
		}
		if g.GetSeverity() == pluginv1.Severity_SEVERITY_WARNING {
			in.about.Notes = append(in.about.Notes, text)
			continue
		}
		faults = append(faults, text)
	}
	in.about.Notes = adapter.Few(in.about.Notes)
	if len(faults) == 0 {
		return nil
	}
	return &adapter.StartError{Phase: adapter.PhaseConfigure, Refused: true, Reason: strings.Join(adapter.Few(faults), "; ")}
}

// rpcError words a gRPC status of the start.
func (in *instance) rpcError(ctx context.Context, phase adapter.Phase, err error) error {
	if status.Code(err) == codes.Unavailable { // most likely it has ended, which is known a moment later
		settled, cancel := context.WithTimeout(ctx, time.Second)
		in.process.Settled(settled)
		cancel()
	}
	awaitDeadline(ctx)
	reason := fmt.Sprintf("%s: %s", status.Code(err), bounded(status.Convert(err).Message()))
	if ctx.Err() != nil {
		reason = "no answer in time"
	}
	exit := in.process.Exit()
	if exit != "" {
		reason = "the plugin ended (" + exit + ")"
	}
	if words := lastWords(in.process); words != "" {
		reason += "; its last words: " + words
	}
	return &adapter.StartError{Phase: phase, Reason: reason, Ended: exit != "", Err: err}
}

// bounded keeps what a plugin says within what a log line should hold.
func bounded(s string) string { return clipped(s, 1024) }

// clipped returns at most max bytes of s, and a mark where there were more.
func clipped(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "..."
	}
	return s
}
