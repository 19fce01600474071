// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runner is told from another by its name.
type runner struct{ name string }

func (*runner) Run(context.Context, *tool.Attempt) (tool.Outcome, error) {
	return nil, errors.New("the registry runs nothing")
}

// offers of one adapter, by public name.
func offers(adapter string, names ...string) []*registry.Offer {
	var out []*registry.Offer
	for _, n := range names {
		out = append(out, aliased(adapter, n, ""))
	}
	return out
}

func aliased(adapter, name, alias string) *registry.Offer {
	return &registry.Offer{Spec: tool.Spec{Name: name, Adapter: adapter}, Alias: alias}
}

// replace must succeed.
func replace(t testing.TB, r *registry.Registry, adapter string, by tool.Runner, what []*registry.Offer) <-chan struct{} {
	t.Helper()
	free, err := r.Replace(adapter, by, what)
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// names in a snapshot, in its order.
func names(s *registry.Snapshot) []string {
	out := []string{}
	for _, o := range s.Offers {
		out = append(out, o.Spec.Name)
	}
	return out
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
