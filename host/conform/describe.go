// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

var describeChecks = []check{
	{"describe/answer", "Describe needs no configuration; the name is [a-z][a-z0-9_-]{0,62}", (*suite).describes},
	{"describe/config-schema", "the configuration's schema is JSON Schema 2020-12 of an object, within bounds", (*suite).configSchema},
	{"describe/same-twice", "Describe answers the same in every process", (*suite).sameTwice},
	{"describe/unknown-fields", "fields of a later version in a request are ignored", (*suite).unknownInDescribe},
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// spoken reports whether somebody answered, with an error or not, rather than
// the connection failing.
func spoken(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return false
	default:
		return true
	}
}

func (s *suite) describe(ctx context.Context, m *mooring, req *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	about, err := m.plugin.Describe(ctx, req)
	if err != nil {
		return nil, m.fault(fmt.Errorf("Describe: %w", err))
	}
	return about, nil
}

func (s *suite) describes(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	about, err := s.describe(ctx, m, &pluginv1.DescribeRequest{})
	if err != nil {
		return err
	}
	if !pluginName.MatchString(about.GetName()) {
		return fmt.Errorf("its name is %q", about.GetName())
	}
	return nil
}

func (s *suite) configSchema(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	about, err := s.describe(ctx, m, &pluginv1.DescribeRequest{})
	switch {
	case err != nil:
		return unjudgedf("%v", err)
	case len(about.GetConfigSchema()) == 0:
		return nil // it takes none
	}
	compiled, err := schema.Compile(about.GetConfigSchema(), schema.Config)
	if err != nil {
		return err
	}
	for _, value := range []string{`[]`, `"x"`, `7`, `true`, `null`} {
		if compiled.ValidateValue([]byte(value)) == nil {
			return fmt.Errorf("the schema accepts %s; a configuration is an object: say \"type\": \"object\"", value)
		}
	}
	return nil
}

// sameTwice asks twice in one process and once in another.
func (s *suite) sameTwice(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	other, err := s.moor(ctx)
	if err != nil {
		return unjudgedf("it could not be started: %v", err)
	}
	defer other.end()
	first, err := s.describe(ctx, m, &pluginv1.DescribeRequest{})
	if err != nil {
		return unjudgedf("%v", err)
	}
	for _, asked := range []*mooring{m, other} {
		again, err := s.describe(ctx, asked, &pluginv1.DescribeRequest{})
		if err != nil {
			return err
		}
		if !proto.Equal(first, again) {
			return errors.New("the answers differ: " + difference(first, again))
		}
	}
	return nil
}

// difference names what differs.
func difference(a, b *pluginv1.DescribeResponse) string {
	switch {
	case a.GetName() != b.GetName():
		return fmt.Sprintf("name %q and %q", a.GetName(), b.GetName())
	case a.GetVersion() != b.GetVersion():
		return fmt.Sprintf("version %q and %q", a.GetVersion(), b.GetVersion())
	case string(a.GetConfigSchema()) != string(b.GetConfigSchema()):
		return "config_schema (its bytes; a map in random order?)"
	default:
		return "title, description or features"
	}
}

// later adds a field that no version has yet.
func later[M proto.Message](m M) M {
	b := protowire.AppendTag(nil, 15_000, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(b, "of a later version"))
	return m
}

func (s *suite) unknownInDescribe(ctx context.Context) error {
	m, err := s.launched(ctx)
	if err != nil {
		return err
	}
	_, err = s.describe(ctx, m, later(&pluginv1.DescribeRequest{}))
	return err
}
