// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"slices"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestWhateverServesIsToldOfWhichResourcesSomebodyWantsToHear(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		reading := func() *instance {
			in := silent()
			in.catalogs <- adapter.Catalog{Resources: []tool.Resource{{URI: "note://1", Name: "one"}}}
			return in
		}
		f.launcher.will(gives(reading()))
		first := f.starts("1")
		release := f.registry.Subscribe("note://1")
		pass(0)
		if got := first.heeds(); !slices.Equal(got, []string{"note://1"}) {
			t.Errorf("the first heeds %v", got)
		}
		f.launcher.will(gives(reading()))
		f.wants("2")
		pass(0)
		all := f.launcher.instances()
		if got := all[len(all)-1].heeds(); len(all) != 2 || !slices.Equal(got, []string{"note://1"}) {
			t.Errorf("its successor, of %d, heeds %v", len(all), got)
		}
		release()
		pass(0)
		if got := all[1].heeds(); len(got) != 0 {
			t.Errorf("then it heeds %v", got)
		}
	})
}
