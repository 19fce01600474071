// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/doctor"
)

// expect judges a check: what is not ok says what to do.
func expect(t *testing.T, c doctor.Check, want doctor.State, text string) {
	t.Helper()
	if c.State != want || !strings.Contains(c.Text, text) || (c.Do == "") != (want == doctor.OK) || c.Name == "" {
		t.Errorf("%+v, want %s and %q", c, want, text)
	}
}

func TestTheClockIsHeldAgainstTheProgramAndTheLedger(t *testing.T) {
	now := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	expect(t, doctor.Clock(now, time.Time{}), doctor.OK, "2026-10-03T12:00:00Z")
	expect(t, doctor.Clock(now, now.Add(30*time.Second)), doctor.OK, "")
	expect(t, doctor.Clock(now, now.Add(time.Hour)), doctor.Fail, "2026-10-03T13:00:00Z")
	expect(t, doctor.Clock(time.Unix(0, 0), time.Time{}), doctor.Fail, "1970")
}

func TestTheDiskOfADirectoryThatIsNotThereYetIsThatAboveIt(t *testing.T) {
	dir := t.TempDir()
	for left, want := range map[uint64]doctor.State{63 << 20: doctor.Fail, 64 << 20: doctor.Warn, 512 << 20: doctor.OK} {
		free := func(asked string) (uint64, bool) {
			if asked != dir {
				t.Errorf("asked of %s", asked)
			}
			return left, true
		}
		expect(t, doctor.Disk(filepath.Join(dir, "a", "b"), free, 64<<20), want, "MiB")
	}
	unknown := func(string) (uint64, bool) { return 0, false }
	expect(t, doctor.Disk(dir, unknown, 64<<20), doctor.Warn, "cannot be told")
}

func TestAStateDirectoryThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, doctor.StateDirectory(file), doctor.Fail, "is not a directory")
	expect(t, doctor.StateDirectory(filepath.Join(file, "x")), doctor.Fail, "not a directory")
	expect(t, doctor.Private("key", filepath.Join(file, "x")), doctor.Fail, "not a directory")
}
