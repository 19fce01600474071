// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func take(t *testing.T, b *Book, adapter string) *Account {
	t.Helper()
	a, err := b.Take(adapter)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnAdapterKeepsItsUserAndSharesItWithNobody(t *testing.T) {
	dir := t.TempDir()
	book := func() *Book { return &Book{File: filepath.Join(dir, "users.json"), Claims: dir, Owner: "one"} }
	b, seen, first := book(), map[int]string{}, map[string]int{}
	for n := range all {
		name := fmt.Sprintf("adapter%d", n)
		a, err := b.Take(name)
		if err != nil {
			if n < all-10 || !errors.Is(err, ErrNone) { // some numbers may be the machine's
				t.Fatal(n, err)
			}
			break
		}
		if other, two := seen[a.ID]; two || a.ID < First || a.ID > Last {
			t.Fatalf("%s and %q have %d", name, other, a.ID)
		}
		seen[a.ID], first[name] = name, a.ID
		t.Cleanup(a.Release)
	}
	if _, err := b.Take("one too many"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	b = book() // as of the next host
	for name, id := range first {
		if a := take(t, b, name); a.ID != id {
			t.Fatalf("%s had %d, has %d", name, id, a.ID)
		} else {
			a.Release()
		}
	}
}

func TestAnAdapterHasTheSameUserOnEveryMachineWhereItIsFree(t *testing.T) {
	one, two := &Book{Claims: t.TempDir(), Owner: "one"}, &Book{Claims: t.TempDir(), Owner: "two"}
	a, b := take(t, one, "orders"), take(t, two, "orders")
	defer a.Release()
	defer b.Release()
	if a.ID != b.ID {
		t.Errorf("%d and %d", a.ID, b.ID)
	}
}

func TestTwoHostsOfOneMachineShareAUserOnlyForTheSameAdapterOfTheSameState(t *testing.T) {
	claims := t.TempDir()
	a := take(t, &Book{Claims: claims, Owner: "/srv/one"}, "orders")
	same := take(t, &Book{Claims: claims, Owner: "/srv/one"}, "orders")
	other := take(t, &Book{Claims: claims, Owner: "/srv/two"}, "orders")
	if a.ID != same.ID || a.ID == other.ID {
		t.Errorf("%d, of the same state %d, of another %d", a.ID, same.ID, other.ID)
	}
	a.Release()
	same.Release()
	again := take(t, &Book{Claims: claims, Owner: "/srv/three"}, "orders")
	if again.ID != a.ID {
		t.Errorf("nobody had %d any more, and it is %d", a.ID, again.ID)
	}
	again.Release()
	other.Release()
}

func TestWhoCameLaterDoesNotGetAUserThatWasAnothers(t *testing.T) {
	dir := t.TempDir()
	b := &Book{File: filepath.Join(dir, "users.json"), Claims: dir}
	gone := take(t, b, "gone")
	gone.Release()
	for n := range 50 {
		a := take(t, b, fmt.Sprintf("later%d", n))
		if a.ID == gone.ID {
			t.Error("it has files of an adapter that is gone")
		}
		a.Release()
	}
	if a := take(t, b, "gone"); a.ID != gone.ID {
		t.Errorf("%d came back as %d", gone.ID, a.ID)
	} else {
		a.Release()
	}
}

func TestARecordThatCannotBeReadGivesNobodyAUser(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "nothing": "null", "root": `{"a":0}`, "a person": `{"a":1000}`, "two of one": `{"a":61000,"b":61000}`, "text": `{"a":"61000"}`,
	} {
		file := filepath.Join(t.TempDir(), "users.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b := &Book{File: file, Claims: t.TempDir()}
		if a, err := b.Take("a"); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
}

func FuzzARecordGivesAUserOfTheRangeToOneAdapter(f *testing.F) {
	f.Add([]byte(`{"a":61000,"b":61001}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		known, err := parse(text)
		seen := map[int]bool{}
		for name, id := range known {
			if err == nil && (seen[id] || id < First || id > Last) {
				t.Errorf("%q has %d", name, id)
			}
			seen[id] = true
		}
	})
}

func TestAMapOfUsersHoldsTheRangeOrNot(t *testing.T) {
	for text, want := range map[string]bool{
		"         0          0 4294967295\n": true, "0 100000 65536\n": true, "0 1000 1\n1 100000 65535\n": true,
		"0 1000 1\n": false, "": false, "0 1000 1\n1 100000 1000\n": false, "61000 1 100000\n": false, "x": false,
	} {
		if got := covers(text, First, Last); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// reachable makes files in a directory that anybody may enter, and returns an account
// that none of them is of.
func reachable(t *testing.T) (dir string, a *Account) {
	t.Helper()
	if err := Possible(); err != nil {
		t.Skip("no users can be given: ", err)
	}
	dir, err := os.MkdirTemp("", "account-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for path, mode := range map[string]os.FileMode{
		"open": 0o644, "writable": 0o666, "private": 0o600, "program": 0o755, "rooted": 0o700, "its": 0o600,
		"tree/a/open": 0o644, "tree/b": 0o644, "spoilt/a/private": 0o600, "closed/open": 0o644, "common/f": 0o644, "hall/f": 0o644,
	} {
		path = filepath.Join(dir, path)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err = errors.Join(err, os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	a = &Account{ID: Last}
	if err := errors.Join(
		os.Chmod(dir, 0o755), os.Chmod(at("closed"), 0o700), os.Chmod(at("hall"), 0o711), os.Chmod(at("common"), 0o1777), os.Chown(at("its"), a.ID, a.ID),
		os.Symlink(at("private"), at("link")), os.Symlink(at("private"), at("tree/link")), os.Symlink(at("nowhere"), at("dangling")),
		unix.Mkfifo(at("tree/fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return dir, a
}

func TestWhetherAUserReachesSomethingIsWhatTheKernelSays(t *testing.T) {
	dir, a := reachable(t)
	for _, tc := range []struct {
		need Need
		want string // of the error; "": it reaches it
	}{
		{Need{Path: "open"}, ""},
		{Need{Path: "open", Write: true}, "open may not be read and written by others: permission denied"},
		{Need{Path: "writable", Write: true}, ""},
		{Need{Path: "private"}, "private may not be read by others"},
		{Need{Path: "its", Write: true}, ""},
		{Need{Path: "program", Execute: true}, ""},
		{Need{Path: "open", Execute: true}, "open may not be read and executed by others"},
		{Need{Path: "rooted", Execute: true}, "rooted may not be"},
		{Need{Path: "closed/open"}, "closed/open: permission denied"},
		{Need{Path: "link"}, "link may not be read"},
		{Need{Path: "dangling"}, ""},
		{Need{Path: "absent"}, ""},
		{Need{Path: "open/absent"}, ""},
		{Need{Path: "tree", Beneath: true}, ""},
		{Need{Path: "tree", Write: true}, "tree may not be read and written"},
		{Need{Path: "common", Write: true}, ""},
		{Need{Path: "common", Enter: true}, ""},
		{Need{Path: "hall", Enter: true}, ""},
		{Need{Path: "hall"}, "hall may not be read by others"},
		{Need{Path: "hall/f"}, ""},
		{Need{Path: "closed", Enter: true}, "closed may not be entered by others"},
		{Need{Path: "common", Write: true, Beneath: true}, "common/f may not be read and written"},
		{Need{Path: "spoilt"}, ""},
		{Need{Path: "spoilt", Beneath: true}, "spoilt/a/private may not be read"},
		{Need{Path: "closed", Beneath: true}, "closed may not be read"},
	} {
		need := tc.need
		need.Path = filepath.Join(dir, need.Path)
		err := a.Reach([]Need{{Path: filepath.Join(dir, "open")}, need})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), dir+"/"+tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.need, err, tc.want)
		}
	}
}

func TestATreeThatIsTooLargeToLookAtIsNotReached(t *testing.T) {
	dir, a := reachable(t)
	for n := range maxLooked {
		if err := os.WriteFile(filepath.Join(dir, "tree", strconv.Itoa(n)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Reach([]Need{{Path: filepath.Join(dir, "tree"), Beneath: true}}); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

func TestLookingAsAUserLeavesTheProcessWhoItWas(t *testing.T) {
	dir, a := reachable(t)
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := a.Reach([]Need{{Path: filepath.Join(dir, "private")}}); err == nil {
			t.Error("it is reached")
		}
		if _, err := os.ReadFile(filepath.Join(dir, "private")); err != nil {
			t.Error(err)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile(filepath.Join("/proc/self/task", task.Name(), "status"))
		if err == nil && !strings.Contains(string(status), "Uid:\t0\t0\t0\t") {
			t.Errorf("a thread is somebody else:\n%.300s", status)
		}
	}
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || now != dumpable {
		t.Errorf("it was dumpable %d, is %d: %v", dumpable, now, err)
	}
}
