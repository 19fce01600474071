// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestEveryColumnIsUnderTheHash(t *testing.T) {
	prev := ledger.Head{Host: "host_A", N: 6, Hash: tool.DigestOf([]byte("before"))}
	full := fullRow()
	want := ledger.Link(prev, &full)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ledger.Row]()) {
		t.Run(field.Name, func(t *testing.T) {
			for _, other := range others(reflect.ValueOf(full).FieldByIndex(field.Index)) {
				row := full
				reflect.ValueOf(&row).Elem().FieldByIndex(field.Index).Set(other)
				if got := ledger.Link(prev, &row); got.Hash == want.Hash {
					t.Errorf("%v in place of %v changes nothing: the column is not hashed", other,
						reflect.ValueOf(full).FieldByIndex(field.Index))
				}
			}
		})
	}
	for name, prev := range map[string]ledger.Head{
		"the hash before": {Host: "host_A", N: 6}, "the number": {Host: "host_A", N: 5, Hash: prev.Hash},
	} {
		if got := ledger.Link(prev, &full); got.Hash == want.Hash {
			t.Errorf("another one of %s changes nothing", name)
		}
	}
	if want.N != 7 || want.Host != "host_A" {
		t.Errorf("head %+v", want)
	}
}

// fullRow is a row with something in every column; a column that this does not
// know fails TestEveryColumnIsUnderTheHash by way of others.
func fullRow() ledger.Row {
	var row ledger.Row
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.UnixMicro(1_760_000_000_123_456 + int64(i)).UTC()))
		case tool.Digest:
			f.Set(reflect.ValueOf(tool.DigestOf(fmt.Append(nil, i))))
		default:
			switch f.Kind() {
			case reflect.String:
				f.SetString(fmt.Sprintf("column %d", i))
			case reflect.Int, reflect.Int64:
				f.SetInt(int64(1000 + i))
			case reflect.Bool:
				f.SetBool(true)
			default:
				panic("a column of a type that is not known: " + f.Type().String())
			}
		}
	}
	row.Host = "host_A"
	return row
}

// others are values of the same column that are not this one: the empty one,
// and each that differs in one byte.
func others(v reflect.Value) []reflect.Value {
	all := []reflect.Value{reflect.Zero(v.Type())}
	add := func(x any) { all = append(all, reflect.ValueOf(x).Convert(v.Type())) }
	switch x := v.Interface().(type) {
	case time.Time:
		for bit := range 56 {
			add(time.UnixMicro(x.UnixMicro() ^ 1<<bit).UTC())
		}
		return all
	case tool.Digest:
		for i := range x {
			d := x
			d[i] ^= 0x20
			add(d)
		}
		return all
	}
	switch v.Kind() {
	case reflect.String:
		for i := range v.Len() {
			b := []byte(v.String())
			b[i] ^= 1
			add(string(b))
		}
		add(v.String() + "\x00")
	case reflect.Int, reflect.Int64:
		for bit := range 64 {
			add(v.Int() ^ 1<<bit)
		}
	case reflect.Bool:
	default:
		panic("a column of a type that is not known: " + v.Type().String())
	}
	return all
}

func TestWhatMovesFromOneColumnToTheNextIsSeen(t *testing.T) {
	a := ledger.Link(ledger.Head{}, &ledger.Row{Call: "ab", Run: "c"})
	for _, row := range []ledger.Row{{Call: "a", Run: "bc"}, {Call: "abc"}, {Run: "abc"}, {Run: "ab", Call: "c"}} {
		if ledger.Link(ledger.Head{}, &row) == a {
			t.Errorf("%+v has the same hash", row)
		}
	}
}

func TestAHashIsOfWhatAStoreKeeps(t *testing.T) {
	zone := time.FixedZone("", 7200)
	at := time.Date(2026, 10, 3, 14, 34, 56, 123456789, zone)
	a := ledger.Link(ledger.Head{}, &ledger.Row{Started: at, Ended: at})
	kept := time.UnixMicro(at.UnixMicro()).UTC()
	if b := ledger.Link(ledger.Head{}, &ledger.Row{Started: kept, Ended: kept}); a != b {
		t.Error("a time that was stored and read again has another hash")
	}
	epoch := time.Unix(0, 0)
	if ledger.Link(ledger.Head{}, &ledger.Row{Started: epoch}) == ledger.Link(ledger.Head{}, &ledger.Row{}) {
		t.Error("1970 is no time")
	}
}

// The form is for ever: rows that were written years ago are verified by it.
func TestTheFormOfALinkIsAsDocumented(t *testing.T) {
	var b []byte
	frame := func(s string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	before := tool.DigestOf([]byte("before"))
	frame("toolwharf/ledger/link/v1")
	b = append(b, before[:]...)
	frame("host_A")
	b = binary.BigEndian.AppendUint64(b, 3)
	for _, c := range [][2]string{
		{"seq", "\x00\x00\x00\x00\x00\x00\x00\x09"},
		{"host", "host_A"},
		{"tool", "shop_query"},
		{"late", "\x00\x00\x00\x00\x00\x00\x00\x01"},
		{"outcome", "ok"},
	} {
		frame(c[0])
		frame(c[1])
	}
	got := ledger.Link(ledger.Head{Host: "host_A", N: 2, Hash: before},
		&ledger.Row{Seq: 9, Host: "host_A", Tool: "shop_query", Late: true, Outcome: ledger.OK})
	if want := tool.Digest(sha256.Sum256(b)); got.Hash != want {
		t.Errorf("got %v, want %v", got.Hash, want)
	}
}

func TestTwoRowsNeverShareAHash(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) ledger.Row {
		s := rapid.StringMatching(`[a-c]{0,3}`)
		return ledger.Row{
			Seq: int64(rapid.IntRange(0, 2).Draw(t, "seq")), Call: s.Draw(t, "call"), Run: s.Draw(t, "run"),
			Tool: s.Draw(t, "tool"), Detail: s.Draw(t, "detail"), Attempt: rapid.IntRange(0, 2).Draw(t, "attempt"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		same := ledger.Link(ledger.Head{}, &a) == ledger.Link(ledger.Head{}, &b)
		if same != reflect.DeepEqual(a, b) {
			t.Fatalf("%+v and %+v: equal %v", a, b, same)
		}
	})
}

func TestALinkAllocatesNothing(t *testing.T) {
	row := fullRow()
	row.Detail = strings.Repeat("x", 200)
	head := ledger.Head{Host: "host_A"}
	if n := testing.AllocsPerRun(100, func() { head = ledger.Link(head, &row) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLink(b *testing.B) {
	row := fullRow()
	head := ledger.Head{Host: "host_A"}
	b.ReportAllocs()
	for b.Loop() {
		head = ledger.Link(head, &row)
	}
}
