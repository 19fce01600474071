// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/registry"
)

func TestChangesBeginsWithTheCatalogueOfNow(t *testing.T) {
	r := registry.New()
	replace(t, r, "a", &runner{"a"}, offers("a", "a_get"))
	for s := range r.Changes(t.Context()) {
		if diff := cmp.Diff([]string{"a_get"}, names(s)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		break // and a reader may stop whenever it likes
	}
}

func TestChangesShowsEachChangeToAReaderThatKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New()
		ctx, cancel := context.WithCancel(t.Context())
		var seen [][]string
		go func() {
			for s := range r.Changes(ctx) {
				seen = append(seen, names(s))
			}
		}()
		synctest.Wait()
		replace(t, r, "a", &runner{"a"}, offers("a", "a_get"))
		synctest.Wait()
		replace(t, r, "b", &runner{"b"}, offers("b", "b_get"))
		synctest.Wait()
		replace(t, r, "a", nil, nil)
		synctest.Wait()
		cancel() // synctest fails if the reader does not end
		want := [][]string{{}, {"a_get"}, {"a_get", "b_get"}, {"b_get"}}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestChangesShowsASlowReaderOnlyTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New()
		ctx, cancel := context.WithCancel(t.Context())
		busy := make(chan struct{})
		var versions []uint64
		go func() {
			for s := range r.Changes(ctx) {
				versions = append(versions, s.Version)
				<-busy
			}
		}()
		synctest.Wait()
		for i := range 100 {
			replace(t, r, "a", &runner{"a"}, offers("a", fmt.Sprintf("a_%d", i)))
		}
		busy <- struct{}{}
		synctest.Wait()
		if want := []uint64{0, 100}; !slices.Equal(versions, want) {
			t.Errorf("saw versions %v, want %v", versions, want)
		}
		busy <- struct{}{}
		synctest.Wait()
		if len(versions) != 2 {
			t.Errorf("without a change it saw %v", versions[2:])
		}
		cancel()
	})
}

func TestARefusedReplacementIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New()
		replace(t, r, "a", &runner{"a"}, offers("a", "get"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := 0
		go func() {
			for range r.Changes(ctx) {
				seen++
			}
		}()
		synctest.Wait()
		if _, err := r.Replace("b", &runner{"b"}, offers("b", "get")); err == nil {
			t.Fatal("no collision")
		}
		synctest.Wait()
		if seen != 1 {
			t.Errorf("seen %d times, want once", seen)
		}
	})
}

// The newest is never missed, whatever the reader and the writers do meanwhile.
func TestChangesEndsUpAtTheNewest(t *testing.T) {
	const adapters, changes = 3, 200
	r := registry.New()
	for a := range adapters {
		go func() {
			for i := range changes {
				name := fmt.Sprintf("a%d", a)
				replace(t, r, name, &runner{name}, offers(name, fmt.Sprintf("%s_%d", name, i)))
			}
		}()
	}
	var last uint64
	for s := range r.Changes(t.Context()) {
		if s.Version < last {
			t.Fatalf("version %d after %d", s.Version, last)
		}
		if last = s.Version; last == adapters*changes {
			return
		}
	}
	t.Fatalf("ended at version %d", last)
}
