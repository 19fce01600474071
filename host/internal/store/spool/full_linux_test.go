// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/store/spool"
)

func TestAFullDiskLosesNoRow(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("needs a small disk of its own:", err)
	}
	t.Cleanup(func() { check(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	for name, dir := range map[string]string{"spool on another disk": t.TempDir(), "spool on the same disk": filepath.Join(disk, "spool")} {
		t.Run(name, func(t *testing.T) {
			f := open(t, "host_A", dir, filepath.Join(disk, strings.ReplaceAll(name, " ", "_")))
			ballast := filepath.Join(disk, "ballast")
			_ = os.WriteFile(ballast, make([]byte, 4<<20), 0o600) // as much as there is room for
			spooled, n := 0, 0
			for ; spooled < 20; n++ {
				rec := ended(fmt.Sprint("call_", n))
				rec.Detail = strings.Repeat("x", 20_000)
				if err := f.End(t.Context(), rec); err != nil {
					spooled++
					if dir != filepath.Join(disk, "spool") && !errors.Is(err, spool.ErrSpooled) {
						t.Fatal(err)
					}
				}
			}
			if err := f.Begin(t.Context(), begun("early")); !errors.Is(err, spool.ErrWaiting) {
				t.Errorf("a call with effects began: %v", err)
			}
			check(t, os.Remove(ballast))
			check(t, f.Begin(t.Context(), begun("next")))
			f.exactly(t, n)
			check(t, f.Stop(t.Context()))
		})
	}
}
