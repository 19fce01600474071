// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"testing"
)

// renewing is an API whose adapter orders is restarted as a test says.
func renewing(t *testing.T, renew func() error) *Service {
	t.Helper()
	s := service(t, &fake{})
	s.Renew = func(_ context.Context, name string) (bool, error) {
		if name != "orders" {
			return false, nil
		}
		return true, renew()
	}
	return s
}

func TestARestartGivesTheAdapterOrWhyItIsAsItWas(t *testing.T) {
	for _, over := range []string{"in the process", "over a socket"} {
		t.Run(over, func(t *testing.T) {
			var failure error
			s := renewing(t, func() error { return failure })
			api := API(s)
			if over == "over a socket" {
				dir := state(t)
				serve(t, dir, s)
				api = dial(t, dir)
			}
			a, err := api.Restart(t.Context(), "orders")
			if err != nil || a.Name != "orders" || a.State != "ready" {
				t.Errorf("%+v, %v", a, err)
			}
			failure = errors.New("launch: cannot be executed")
			if _, err := api.Restart(t.Context(), "orders"); err == nil || err.Error() != "adapter orders was not restarted: launch: cannot be executed" {
				t.Errorf("%v", err)
			}
			for _, name := range []string{"shop", "", ".", "..", "orders/restart", "a b"} {
				want := NotFoundError{What: "adapter", Name: name}
				var got *NotFoundError
				if _, err := api.Restart(t.Context(), name); !errors.As(err, &got) || *got != want {
					t.Errorf("%q: %v", name, err)
				}
			}
		})
	}
}
