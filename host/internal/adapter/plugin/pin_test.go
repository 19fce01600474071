// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// pinned is an adapter of a program that must be as it is now.
func pinned(t *testing.T, h *harness, d *adapter.Desired) *adapter.Desired {
	t.Helper()
	h.Shelf = &pin.Shelf{Dir: t.TempDir()}
	t.Cleanup(func() { _ = pin.Remove(h.Shelf.Dir) })
	var err error
	if d.Program.Pin, err = pin.Hash(d.Program.Path, d.Program.Command != nil); err != nil {
		t.Fatal(err)
	}
	return d
}

const saysWhoItIs = `echo "I am $0 with $*, in $(pwd), PYTHONDONTWRITEBYTECODE=$PYTHONDONTWRITEBYTECODE" >&2; exit 1`

func TestOfAPinnedProgramACopyIsExecuted(t *testing.T) {
	h := newHarness(t)
	d := pinned(t, h, desired(script(t, saysWhoItIs)))
	e := h.fails(d)
	expectWords(t, e.Error(), "I am "+h.Shelf.Dir+"/pinned/orders-", "/orders with ,")

	in := h.started(pinned(t, h, acting(t, "with warnings")))
	if in.About().Program.IsZero() {
		t.Error("nobody knows its hash")
	}
}

func TestAProgramThatIsNotAsPinnedIsNotExecuted(t *testing.T) {
	h := newHarness(t)
	d := pinned(t, h, desired(script(t, saysWhoItIs)))
	d.Program.Pin = tool.DigestOf([]byte("another"))
	_, err := h.Start(t.Context(), d)
	unpinned, ok := errors.AsType[*adapter.UnpinnedError](err)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	expectWords(t, unpinned.Reason, "plugin orders is not as it was pinned", d.Program.Pin.String(), "run `toolwharf plugins pin orders`")
	h.expectNothingLeft()
}

func TestTheWordsOfAFolderAreItsFilesWhereverItLies(t *testing.T) {
	for name, copied := range map[string]bool{"where it was found": false, "in a copy": true} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			path := script(t, saysWhoItIs)
			d := desired(filepath.Dir(path))
			d.Program.Command = []string{"plugin", "./data/x", "data/y", "--flag=./z"}
			at := d.Program.Path
			if copied {
				d = pinned(t, h, d)
				at = filepath.Join(h.Shelf.Dir, "pinned", "orders-"+strings.TrimPrefix(d.Program.Pin.String(), "sha256:"), "orders")
			}
			expectWords(t, h.fails(d).Error(),
				"I am "+at+"/plugin with "+at+"/data/x data/y --flag=./z, in "+os.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
		})
	}
	t.Run("an interpreter lies elsewhere", func(t *testing.T) {
		h := newHarness(t)
		path := script(t, saysWhoItIs)
		d := desired(filepath.Dir(path))
		d.Program.Command = []string{"/bin/sh", "./plugin"}
		d = pinned(t, h, d)
		expectWords(t, h.fails(d).Error(), "I am "+h.Shelf.Dir+"/pinned/orders-", "/orders/plugin with ,")
	})
}
