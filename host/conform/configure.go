// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

var configureChecks = []check{
	{"configure/watch-first", "Watch before Configure is FAILED_PRECONDITION", (*suite).watchFirst},
	{"configure/bad-input", "a bad configuration is refused by diagnostics with JSON pointers, never by a status", (*suite).badConfig},
	{"configure/check-only", "check_only opens nothing and changes nothing", (*suite).checkOnly},
	{"configure/grants", "grants are absolute paths, and host:port", (*suite).grants},
	{"configure/accepted", "the configuration is accepted", (*suite).accepts},
}

// limits are what the plugin is told in most checks: room for 5 MiB.
func limits() *pluginv1.Limits {
	return &pluginv1.Limits{
		MaxMessageBytes: plugin.MaxMessage, MaxResultBytes: 8 << 20, MaxInFlight: parallel,
		CallTimeout: durationpb.New(time.Minute), MaxTools: adapter.MaxTools,
	}
}

// settle finds the configuration that is used: the given one, or the empty one
// if the plugin takes it.
func (s *suite) settle(about *pluginv1.DescribeResponse) error {
	raw := about.GetConfigSchema()
	if len(raw) == 0 {
		raw = []byte(`{"type":"object","maxProperties":0}`)
	}
	compiled, err := schema.Compile(raw, schema.Config)
	if err != nil {
		return fmt.Errorf("the configuration's schema: %w", err)
	}
	s.tap.guard(secretsIn(raw, s.o.Config))
	s.config = s.o.Config
	if s.config == nil && compiled.ValidateValue([]byte(`{}`)) == nil {
		s.config = json.RawMessage(`{}`)
	}
	return nil
}

// configurable reports, as an error, that there is no configuration to use.
func (s *suite) configurable(ctx context.Context) error {
	about, err := s.described(ctx)
	switch {
	case err != nil:
		return err
	case s.config == nil:
		return unjudgedf("the plugin needs a configuration: give one by --config FILE")
	case len(about.GetConfigSchema()) == 0 && s.o.Config != nil && !empty(s.o.Config):
		return unjudgedf("a configuration was given, and the plugin takes none")
	case len(about.GetConfigSchema()) > 0:
		compiled, err := schema.Compile(about.GetConfigSchema(), schema.Config)
		if err == nil {
			err = compiled.ValidateValue(s.config)
		}
		if err != nil {
			return unjudgedf("the configuration that was given is not valid by the plugin's schema: %v", err)
		}
	}
	return nil
}

func empty(object json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(object, &fields) == nil && len(fields) == 0
}

func (s *suite) configure(ctx context.Context, m *mooring, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.start)
	defer cancel()
	if req.Limits == nil { //nolint:protogetter // presence matters
		req.Limits = limits()
	}
	req.Adapter = "conform"
	r, err := m.plugin.Configure(ctx, req)
	if err != nil {
		return nil, m.fault(fmt.Errorf("the answer is a gRPC status, not diagnostics: %w", err))
	}
	return r, nil
}

// accepted configures the plugin with the configuration that is used.
func (s *suite) accepted(ctx context.Context, m *mooring, l *pluginv1.Limits) error {
	r, err := s.configure(ctx, m, &pluginv1.ConfigureRequest{Config: s.config, Limits: l})
	if err != nil {
		return err
	}
	if err := wellformed(r.GetDiagnostics()); err != nil {
		return err
	}
	if faults := refusals(r); len(faults) > 0 {
		return fmt.Errorf("it is refused: %s", strings.Join(faults, "; "))
	}
	return nil
}

// refusals are the diagnostics that refuse a configuration.
func refusals(r *pluginv1.ConfigureResponse) []string {
	var out []string
	for _, d := range r.GetDiagnostics() {
		if d.GetSeverity() != pluginv1.Severity_SEVERITY_WARNING {
			out = append(out, strings.TrimPrefix(d.GetPointer()+": "+d.GetSummary(), ": "))
		}
	}
	return out
}

// pointerForm is RFC 6901.
var pointerForm = regexp.MustCompile(`^(/([^~]|~[01])*)?$`)

// wellformed reports, as an error, what is wrong with diagnostics themselves.
func wellformed(diagnostics []*pluginv1.Diagnostic) error {
	for _, d := range diagnostics {
		if !pointerForm.MatchString(d.GetPointer()) {
			return fmt.Errorf("the pointer of a diagnostic is %q; it is empty or an RFC 6901 pointer such as /dsn", d.GetPointer())
		}
		if strings.TrimSpace(d.GetSummary()) == "" || !utf8.ValidString(d.GetSummary()) {
			return fmt.Errorf("a diagnostic at %q has no summary", d.GetPointer())
		}
	}
	return nil
}

// unready reports, as an error, that Watch works before Configure has succeeded.
func (s *suite) unready(ctx context.Context, m *mooring) error {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	stream, err := m.plugin.Watch(ctx, &pluginv1.WatchRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	switch {
	case status.Code(err) == codes.FailedPrecondition:
		return nil
	case err == nil:
		return errors.New("it gave a message")
	case errors.Is(err, io.EOF):
		return errors.New("the stream ended without an error")
	default:
		return m.fault(fmt.Errorf("it is %w", err))
	}
}

func (s *suite) watchFirst(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	return s.unready(ctx, m)
}

// badConfig gives configurations that cannot be right. A host would have held
// them to the schema; what the schema does not say looks just the same.
func (s *suite) badConfig(ctx context.Context) error {
	about, err := s.described(ctx)
	if err != nil {
		return err
	}
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	for _, c := range badConfigs(about.GetConfigSchema(), s.config) {
		r, err := s.configure(ctx, m, &pluginv1.ConfigureRequest{Config: c.config})
		if err == nil {
			err = wellformed(r.GetDiagnostics())
		}
		if err == nil && len(refusals(r)) == 0 && c.refused {
			err = errors.New("it is accepted")
		}
		if err == nil && c.refused {
			if err = s.unready(ctx, m); err != nil {
				err = fmt.Errorf("it is refused, but Watch takes it for configured: %w", err)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return nil
}

// badConfig is one configuration that cannot be right.
type badConfig struct {
	what    string
	config  json.RawMessage
	refused bool // a plugin has to refuse it
}

// maxBad is how many keys of a configuration are tried with a wrong value.
const maxBad = 16

func badConfigs(raw, good json.RawMessage) []badConfig {
	takes := len(raw) > 0
	out := []badConfig{
		{"text that is not JSON", json.RawMessage(`{"`), takes},
		{"an array", json.RawMessage(`[]`), takes},
	}
	compiled, err := schema.Compile(raw, schema.Config)
	if !takes || err != nil {
		return out
	}
	var declared struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	base := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &declared)
	_ = json.Unmarshal(good, &base)
	for i, key := range slices.Sorted(maps.Keys(declared.Properties)) {
		if i == maxBad {
			break
		}
		// The value itself is kept inside: whoever quotes what is wrong tells it.
		wrong := []json.RawMessage{json.RawMessage(`[[{"conform":true}]]`), json.RawMessage(`{"conform":[true]}`), json.RawMessage(`true`)}
		if v, ok := base[key]; ok {
			wrong = slices.Insert(wrong, 0, json.RawMessage("["+string(v)+"]"))
		}
		for _, w := range wrong {
			c := maps.Clone(base)
			c[key] = w
			config, err := json.Marshal(c)
			if err == nil && compiled.ValidateValue(config) != nil {
				out = append(out, badConfig{fmt.Sprintf("%q with a value of a wrong type", key), config, true})
				break
			}
		}
	}
	return out
}

// checkOnly looks at the process from outside, before and after.
func (s *suite) checkOnly(ctx context.Context) error {
	if err := s.configurable(ctx); err != nil {
		return err
	}
	m, err := s.moor(ctx) // one that nobody else has connected to
	if err != nil {
		return unjudgedf("it could not be started: %v", err)
	}
	defer m.end()
	if err := m.reached(ctx, s); err != nil {
		return unjudgedf("it does not serve: %v", err)
	}
	cache := filepath.Join(m.dir, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		return err
	}
	before, err := holdings(m.pid)
	if err != nil {
		return err
	}
	r, err := s.configure(ctx, m, &pluginv1.ConfigureRequest{Config: s.config, CheckOnly: true, CacheDir: cache})
	if err != nil {
		return err
	}
	if err := wellformed(r.GetDiagnostics()); err != nil {
		return err
	}
	if err := s.holdsNoMore(ctx, m.pid, before); err != nil {
		return err
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) > 0 {
		return errors.New("it has written to cache_dir")
	}
	if err := s.unready(ctx, m); err != nil {
		return fmt.Errorf("Watch after check_only takes it for configured: %w", err)
	}
	return nil
}

// holdsNoMore waits until the process holds nothing that it did not hold before.
func (s *suite) holdsNoMore(ctx context.Context, pid int, before map[string]int) error {
	for deadline := time.Now().Add(s.bounds.heed); ; {
		after, err := holdings(pid)
		if err != nil {
			return err
		}
		more := ""
		for _, what := range slices.Sorted(maps.Keys(after)) {
			if after[what] > before[what] {
				more = what
			}
		}
		switch {
		case more == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("after it the plugin holds what it did not before: %s", more)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *suite) grants(ctx context.Context) error {
	if err := s.configurable(ctx); err != nil {
		return err
	}
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	r, err := s.configure(ctx, m, &pluginv1.ConfigureRequest{Config: s.config, CheckOnly: true})
	if err != nil {
		return err
	}
	for _, g := range r.GetGrants() {
		switch v := g.GetValue(); g.GetKind() {
		case pluginv1.GrantKind_GRANT_KIND_READ, pluginv1.GrantKind_GRANT_KIND_WRITE:
			if !filepath.IsAbs(v) {
				return fmt.Errorf("a grant names the path %q, which is not absolute", v)
			}
		case pluginv1.GrantKind_GRANT_KIND_CONNECT:
			if !hostPort(v) {
				return fmt.Errorf("a grant names %q, which is not host:port", v)
			}
		default:
			return fmt.Errorf("a grant is of the kind %d, which is none", g.GetKind())
		}
	}
	return nil
}

func hostPort(v string) bool {
	host, port, err := net.SplitHostPort(v)
	n, number := strconv.ParseUint(port, 10, 16)
	return err == nil && host != "" && number == nil && n > 0
}

func (s *suite) accepts(ctx context.Context) error {
	if err := s.configurable(ctx); err != nil {
		return err
	}
	m, err := s.moor(ctx)
	if err != nil {
		return unjudgedf("it could not be started: %v", err)
	}
	defer m.end()
	if err := s.accepted(ctx, m, limits()); err != nil {
		return err
	}
	other, err := s.moor(ctx)
	if err != nil {
		return unjudgedf("it could not be started: %v", err)
	}
	defer other.end()
	r, err := s.configure(ctx, other, later(&pluginv1.ConfigureRequest{Config: s.config}))
	if err == nil && len(refusals(r)) > 0 {
		err = errors.New("it is refused")
	}
	if err != nil {
		return fmt.Errorf("with a field of a later version in the request: %w", err)
	}
	return nil
}
