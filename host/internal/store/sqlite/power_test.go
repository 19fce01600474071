// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func TestADurableRowSurvivesALossOfPower(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	disk := newDisk(t)
	path := filepath.Join(t.TempDir(), "x.db")
	s := openOnDisk(t, path)
	durable := map[string]bool{}
	begun := map[string]bool{}
	for i := range 600 {
		rec := benchRecord(rng.IntN(3) == 0)
		rec.Call = fmt.Sprintf("call_%d", i)
		if rng.IntN(2) == 0 {
			check(t, s.Begin(t.Context(), executor.Intent{Row: rec.Row, Durable: true}))
			begun[rec.Call] = true
		}
		if i%50 == 3 {
			disk.lose(t, rng, path, durable, begun)
		}
		check(t, s.End(t.Context(), rec))
		if !rec.Behind {
			durable[rec.Call] = true
		}
		if i%10 == 0 {
			disk.lose(t, rng, path, durable, begun)
		}
	}
	if disk.checkpoints() == 0 {
		t.Error("no checkpoint was made: the test is too short")
	}
	check(t, s.Close(t.Context()))
	for call := range begun {
		durable[call] = true // flushed by Close
	}
	disk.lose(t, rng, path, durable, nil)
}

func TestRowsBehindAreNotSyncedOneByOne(t *testing.T) {
	disk := newDisk(t)
	s := openOnDisk(t, filepath.Join(t.TempDir(), "x.db"))
	check(t, s.End(t.Context(), benchRecord(false)))
	synced := disk.syncs()
	for i := range int64(20) {
		check(t, s.End(t.Context(), benchRecord(true)))
		for s.Health().Rows < i+2 {
			time.Sleep(time.Millisecond)
		}
	}
	if n := disk.syncs() - synced; n != 0 {
		t.Errorf("synced %d times", n)
	}
	check(t, s.End(t.Context(), benchRecord(false)))
	if n := disk.syncs() - synced; n != 1 {
		t.Errorf("synced %d times for a durable row", n)
	}
}

// openOnDisk is Open with the file system of newDisk.
func openOnDisk(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	check(t, err)
	check(t, s.Close(t.Context()))
	conn, err := sqlite3.OpenFlags("file:"+path+"?vfs=disk", sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	check(t, err)
	check(t, conn.Exec(setup))
	s, err = newStore(t.Context(), conn, path, s.ID(), Options{Queue: 100, Batch: 10, Behind: time.Millisecond}.withDefaults())
	check(t, err)
	t.Cleanup(func() { check(t, s.Close(context.Background())) })
	return s
}

// disk is a file system that knows what of its files has been synced.
type disk struct {
	vfs.VFSFilename

	mu    sync.Mutex
	files map[string]*platter
}

// platter is what a disk has of one file.
type platter struct {
	synced  []byte
	pending []func([]byte) []byte // what may or may not have reached it
	syncs   int
	main    bool
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{VFSFilename: vfs.Find("").(vfs.VFSFilename), files: map[string]*platter{}}
	vfs.Register("disk", d)
	t.Cleanup(func() { vfs.Unregister("disk") })
	return d
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil || flags&(vfs.OPEN_MAIN_DB|vfs.OPEN_WAL) == 0 {
		return f, out, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.files[name.String()]
	if p == nil {
		was, err := os.ReadFile(name.String())
		if err != nil {
			return nil, 0, err
		}
		p = &platter{synced: was, main: flags&vfs.OPEN_MAIN_DB != 0}
		d.files[name.String()] = p
	}
	return &diskFile{File: f, disk: d, platter: p}, out, nil
}

func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	delete(d.files, name)
	d.mu.Unlock()
	return d.VFSFilename.Delete(name, syncDir)
}

func (d *disk) count(of func(*platter) int) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.files {
		n += of(p)
	}
	return n
}

func (d *disk) syncs() int { return d.count(func(p *platter) int { return p.syncs }) }

func (d *disk) checkpoints() int {
	return d.count(func(p *platter) int {
		if p.main {
			return p.syncs
		}
		return 0
	})
}

// lose cuts the power, and fails unless a store that is opened on what the disk
// has then has every row and intent that it must have, and no half of one.
func (d *disk) lose(t *testing.T, rng *rand.Rand, path string, durable, begun map[string]bool) {
	t.Helper()
	after := filepath.Join(t.TempDir(), "x.db")
	d.mu.Lock()
	for name, p := range d.files {
		image := slices.Clone(p.synced)
		for _, write := range p.pending {
			if rng.IntN(2) == 0 {
				image = write(image)
			}
		}
		check(t, os.WriteFile(after+name[len(path):], image, 0o600))
	}
	if len(d.files) == 0 { // closed
		image, err := os.ReadFile(path)
		check(t, err)
		check(t, os.WriteFile(after, image, 0o600))
	}
	d.mu.Unlock()
	r, err := OpenReader(t.Context(), after)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	rows := map[string]bool{}
	next := int64(1)
	for row, err := range r.Rows(t.Context(), ledger.Query{}) {
		check(t, err)
		if row.Seq != next {
			t.Fatalf("row %d comes after %d", row.Seq, next-1)
		}
		next++
		rows[row.Call] = true
	}
	for call := range durable {
		if !rows[call] {
			t.Fatalf("the row of %s is lost", call)
		}
	}
	open := map[string]bool{}
	for row, err := range r.Intents(t.Context()) {
		check(t, err)
		open[row.Call] = true
	}
	for call := range begun {
		if open[call] == rows[call] {
			t.Fatalf("%s: has a row %t, an open intent %t", call, rows[call], open[call])
		}
	}
	if got, err := readText(r.conn, "PRAGMA integrity_check"); got != "ok" || err != nil {
		t.Fatalf("integrity: %s, %v", got, err)
	}
}

// diskFile is a file whose writes are noted.
type diskFile struct {
	vfs.File
	disk    *disk
	platter *platter
}

func (f *diskFile) Unwrap() vfs.File { return f.File }

func (f *diskFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *diskFile) note(write func([]byte) []byte) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.platter.pending = append(f.platter.pending, write)
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	data := slices.Clone(p)
	f.note(func(b []byte) []byte {
		if end := int(off) + len(data); end > len(b) {
			b = append(b, make([]byte, end-len(b))...)
		}
		copy(b[off:], data)
		return b
	})
	return f.File.WriteAt(p, off)
}

func (f *diskFile) Truncate(size int64) error {
	f.note(func(b []byte) []byte { return b[:min(int(size), len(b))] })
	return f.File.Truncate(size)
}

func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	f.disk.mu.Lock()
	for _, write := range f.platter.pending {
		f.platter.synced = write(f.platter.synced)
	}
	f.platter.pending = nil
	f.platter.syncs++
	f.disk.mu.Unlock()
	return f.File.Sync(flags)
}
