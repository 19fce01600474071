// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var endChecks = []check{
	{"end/shutdown", "it ends by itself within 2 s when plugin.GRPCController/Shutdown asks", (*suite).shutdown},
	{"end/host-dies", "it ends when its host has died", (*suite).hostDies},
	{"end/stdout", "nothing but the handshake was ever on stdout", (*suite).quiet},
	{"end/secrets", "no secret was in an answer, a diagnostic, a note or on stderr", (*suite).secretsKept},
}

func (s *suite) shutdown(ctx context.Context) error {
	m, err := s.configured(ctx, limits())
	if err != nil {
		if m, err = s.moor(ctx); err != nil {
			return unjudgedf("it could not be started: %v", err)
		}
	}
	if err := m.reached(ctx, s); err != nil {
		return unjudgedf("it does not serve: %v", err)
	}
	return m.leave(ctx, s.bounds.shutdown)
}

// quiet looks at every process that has shaken hands so far.
func (s *suite) quiet(ctx context.Context) error {
	if _, err := s.launched(ctx); err != nil {
		return err
	}
	for _, m := range s.moorings {
		if _, rest := m.stdout.first(); strings.TrimSpace(rest) != "" {
			return fmt.Errorf("after the handshake it printed %q; logs go to stderr", shown(rest))
		}
	}
	return nil
}

// secretsKept looks at all that was said so far.
func (s *suite) secretsKept(ctx context.Context) error {
	if _, err := s.described(ctx); err != nil {
		return err
	}
	if len(s.tap.secrets) == 0 {
		return unjudgedf("the configuration has no secret of %d bytes or more at a writeOnly place", minSecret)
	}
	faults := map[string]bool{}
	for _, m := range s.moorings {
		if s.tap.holds(m.stderr.bytes()) {
			faults["on stderr"] = true
		}
		if s.tap.holds(m.stdout.bytes()) {
			faults["on stdout"] = true
		}
	}
	s.tap.mu.Lock()
	for method := range s.tap.found {
		faults["in an answer of "+method[strings.LastIndex(method, "/")+1:]] = true
	}
	s.tap.mu.Unlock()
	if len(faults) == 0 {
		return nil
	}
	return errors.New("a secret is told " + strings.Join(slices.Sorted(maps.Keys(faults)), ", "))
}
