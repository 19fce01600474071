// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/toolwharf/toolwharf/host/internal/registry"
)

func TestOnlyTheOwnersUpdatesOfWhatIsWantedAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New()
		replace(t, r, "notes", &runner{"notes"}, readables("notes", "note://1", "note://2", "log://{id}"))
		replace(t, r, "other", &runner{"other"}, readables("other", "other://1"))
		var told [][]string
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		hold := make(chan struct{})
		go func() {
			for uris := range r.Updates(ctx) {
				told = append(told, uris)
				<-hold
			}
		}()
		synctest.Wait()
		release := r.Subscribe("note://1")
		defer r.Subscribe("log://7")()
		r.Updated("other", "note://1") // not its own
		r.Updated("notes", "note://2") // nobody asked
		r.Updated("notes", "note://9") // not there
		synctest.Wait()
		r.Updated("notes", "note://1")
		synctest.Wait()
		for range 1000 { // while the first is being told
			r.Updated("notes", "log://7")
			r.Updated("notes", "note://1")
		}
		hold <- struct{}{}
		synctest.Wait()
		release()
		r.Updated("notes", "note://1")
		hold <- struct{}{}
		synctest.Wait()
		if len(told) != 2 || !slices.Equal(told[0], []string{"note://1"}) || !slices.Equal(told[1], []string{"log://7", "note://1"}) {
			t.Errorf("told %v", told)
		}
	})
}

func TestAnAdapterIsToldWhatIsWantedOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New()
		var told [][]string
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for uris := range r.Wanted(ctx, "notes") {
				told = append(told, uris)
			}
		}()
		expect := func(what string, want ...[]string) {
			t.Helper()
			synctest.Wait()
			if !slices.EqualFunc(told, want, slices.Equal) {
				t.Errorf("%s: told %v, want %v", what, told, want)
			}
			told = nil
		}
		first := r.Subscribe("note://1")
		second := r.Subscribe("note://1")
		expect("before it is there")
		replace(t, r, "notes", &runner{"notes"}, readables("notes", "note://{id}"))
		expect("it comes", []string{"note://1"})
		replace(t, r, "other", &runner{"other"}, readables("other", "other://1"))
		defer r.Subscribe("other://1")()
		expect("what is another's")
		third := r.Subscribe("note://2")
		expect("one more", []string{"note://1", "note://2"})
		first()
		expect("somebody still wants it")
		second()
		expect("nobody does", []string{"note://2"})
		third()
		expect("nobody wants anything", []string{})
	})
}
