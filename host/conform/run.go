// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// check is one thing that is asked of a plugin.
type check struct {
	id, title string
	judge     func(*suite, context.Context) error // nil, *unjudged, or what is wrong
}

// checks are all checks, in the order in which they are run.
var checks = slices.Concat(
	launchChecks, describeChecks, configureChecks, catalogueChecks, callChecks, endChecks,
)

// unjudged is a check that cannot be judged, and why.
type unjudged struct{ reason string }

func (u *unjudged) Error() string { return u.reason }

func unjudgedf(format string, args ...any) error { return &unjudged{fmt.Sprintf(format, args...)} }

// noted is a check that was passed, with a remark.
type noted struct{ remark string }

func (n *noted) Error() string { return n.remark }

// suite is one run of the kit.
type suite struct {
	o       Options
	bounds  bounds
	program *program
	tap     tap

	moorings []*mooring // all there were
	bare     *mooring   // not configured
	moored   *mooring   // configured

	about   *pluginv1.DescribeResponse // nil: not known yet
	config  json.RawMessage            // nil: not known yet
	catalog *pluginv1.Catalog
	tools   []*tool
	echoes  []*echo
	sought  bool // echoes were
}

// Run judges a plugin. An error is about what was asked, not about the plugin:
// there is no such file, no such check, the configuration is no object.
func Run(ctx context.Context, o Options) (*Report, error) {
	s := &suite{o: o, bounds: usual}
	if o.bounds != nil {
		s.bounds = *o.bounds
	}
	var err error
	if s.program, err = find(o.Path, o.Dir); err != nil {
		return nil, err
	}
	if o.Config != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(o.Config, &object); err != nil || object == nil {
			return nil, errors.New("the configuration is not a JSON object")
		}
	}
	if _, err := s.environment(); err != nil {
		return nil, err
	}
	asked, err := chosen(o.Only)
	if err != nil {
		return nil, err
	}
	s.tap.guard(o.Secrets)
	defer s.close()

	report := &Report{Path: o.Path, Findings: []Finding{}}
	for _, c := range asked {
		report.Findings = append(report.Findings, s.judge(ctx, c))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	report.Name, report.Version = s.about.GetName(), s.about.GetVersion()
	return report, nil
}

// chosen are the checks that are asked for.
func chosen(only []string) ([]check, error) {
	if len(only) == 0 {
		return checks, nil
	}
	var out []check
	for _, c := range checks {
		group, _, _ := strings.Cut(c.id, "/")
		if slices.Contains(only, c.id) || slices.Contains(only, group) {
			out = append(out, c)
		}
	}
	for _, name := range only {
		if !slices.ContainsFunc(out, func(c check) bool { return c.id == name || strings.HasPrefix(c.id, name+"/") }) {
			return nil, fmt.Errorf("there is no check %q; without --only all are run and listed", name)
		}
	}
	return out, nil
}

func (s *suite) judge(ctx context.Context, c check) Finding {
	f := Finding{Check: c.id, Title: c.title, Status: OK}
	err := c.judge(s, ctx)
	_, not := errors.AsType[*unjudged](err)
	_, passed := errors.AsType[*noted](err)
	switch {
	case err == nil:
	case passed:
		f.Reason = shown(err.Error())
	case not:
		f.Status, f.Reason = NotRun, s.withoutSecrets(shown(err.Error()))
	default:
		f.Status, f.Reason = Failed, s.withoutSecrets(shown(err.Error()))
	}
	return f
}

// withoutSecrets is what is told of a plugin that tells them.
func (s *suite) withoutSecrets(text string) string {
	for _, secret := range s.tap.secrets {
		text = strings.ReplaceAll(text, string(secret), "[secret]")
	}
	return text
}

func (s *suite) close() {
	for _, m := range s.moorings {
		m.end()
	}
}

// launched is a plugin that was started and not configured.
func (s *suite) launched(ctx context.Context) (*mooring, error) {
	if s.bare != nil && !s.bare.ended() {
		return s.bare, nil
	}
	m, err := s.moor(ctx)
	if err != nil {
		return nil, unjudgedf("it could not be started: %v", err)
	}
	s.bare = m
	return m, nil
}

// described is what the plugin says of itself.
func (s *suite) described(ctx context.Context) (*pluginv1.DescribeResponse, error) {
	if s.about != nil {
		return s.about, nil
	}
	m, err := s.launched(ctx)
	if err != nil {
		return nil, err
	}
	rpc, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	about, err := m.plugin.Describe(rpc, &pluginv1.DescribeRequest{})
	if err != nil {
		return nil, unjudgedf("Describe failed: %v", err)
	}
	if err := s.settle(about); err != nil {
		return nil, unjudgedf("%v", err)
	}
	s.about = about
	return about, nil
}

// ready is a plugin that was started and configured, with its catalogue.
func (s *suite) ready(ctx context.Context) (*mooring, error) {
	if s.moored != nil && !s.moored.ended() {
		return s.moored, nil
	}
	m, err := s.configured(ctx, limits())
	if err != nil {
		return nil, err
	}
	catalog, _, err := s.watch(ctx, m)
	if err != nil {
		return nil, unjudgedf("Watch gave no catalogue: %v", err)
	}
	if s.catalog == nil {
		s.catalog, s.tools = catalog, s.toolsOf(catalog)
	}
	s.moored = m
	return m, nil
}

// configured is a plugin of its own that was started and configured.
func (s *suite) configured(ctx context.Context, l *pluginv1.Limits) (*mooring, error) {
	if err := s.configurable(ctx); err != nil {
		return nil, err
	}
	m, err := s.moor(ctx)
	if err != nil {
		return nil, unjudgedf("it could not be started: %v", err)
	}
	if err := s.accepted(ctx, m, l); err != nil {
		return nil, unjudgedf("it could not be configured: %v", err)
	}
	return m, nil
}
