// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func exportLines(t interface {
	Helper()
	Fatal(...any)
}, src ledger.Source, q ledger.Query,
) [][]byte {
	t.Helper()
	var out bytes.Buffer
	n, err := ledger.ExportJSONL(context.Background(), &out, src, q)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(out.Bytes(), []byte("\n"))
	lines = lines[:len(lines)-1]
	if int64(len(lines)) != n {
		t.Fatal("lines are not rows")
	}
	return lines
}

func (b *book) verifyExport(t interface {
	Helper()
	Fatal(...any)
}, lines [][]byte, expect ...ledger.Head,
) *ledger.Report {
	t.Helper()
	r, err := ledger.VerifyExport(context.Background(), bytes.NewReader(bytes.Join(lines, nil)),
		ledger.Trust{Keys: ledger.NewVerifier(b.signer.Public()), Expect: expect})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnExportIsVerifiedWithoutTheStore(t *testing.T) {
	b := sample(t)
	b.at(7).Detail = "not UTF-8: \xff\xfe" // and so never well linked again
	lines := exportLines(t, b, ledger.Query{})
	if got := briefs(b.verifyExport(t, lines)); !slices.Equal(got, []string{"changed host_C n=2 seq=7"}) {
		t.Errorf("a row that was changed before: %q", got)
	}

	b = sample(t)
	lines = exportLines(t, b, ledger.Query{})
	r := b.verifyExport(t, lines, b.verify(t).Heads...)
	if !r.OK() || r.Rows != 12 || r.Signed != 12 || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	for name, tc := range map[string]struct {
		do   func([][]byte) [][]byte
		want []string
	}{
		"a row removed": {
			func(l [][]byte) [][]byte { return slices.Delete(l, 5, 6) },
			[]string{"removed host_B n=2 seq=6"},
		},
		"the last row removed": {
			func(l [][]byte) [][]byte { return l[:11] },
			// Its signature was in it, so what is left is unsigned.
			[]string{"foreign host_A n=1-5 seq=1-10"},
		},
		"a value changed": {
			func(l [][]byte) [][]byte {
				l[5] = bytes.Replace(l[5], []byte(`"attempt":1006`), []byte(`"attempt":1007`), 1)
				return l
			},
			[]string{"changed host_B n=2 seq=6"},
		},
		"two rows swapped": {
			func(l [][]byte) [][]byte {
				l[4], l[5] = l[5], l[4]
				return l
			},
			[]string{"reordered host_A n=3 seq=5", "removed host_A n=3 seq=5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, briefs(b.verifyExport(t, tc.do(slices.Clone(lines))))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestAnExportKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBook()
		b.write("host_A")
		row := fullRow()
		row.Seq, row.Host = 2, "host_A"
		texts := []*string{&row.Tool, &row.Detail, &row.Client, &row.Principal, &row.Cost, (*string)(&row.Kind), &row.Protocol}
		for _, s := range texts {
			*s = string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		}
		head := ledger.Link(b.heads["host_A"].Head, &row)
		b.rows = append(b.rows, ledger.LinkedRow{Row: row, N: head.N, Hash: head.Hash})
		b.heads["host_A"] = b.signer.Sign(head, nil, b.clock)
		lines := exportLines(t, b, ledger.Query{})
		if r := b.verifyExport(t, lines); !r.OK() {
			t.Fatalf("%q: %s", briefs(r), lines[1])
		}
	})
}

func TestAnExcerptSaysWhatItDoesNotProve(t *testing.T) {
	b := sample(t)
	lines := exportLines(t, b, ledger.Query{Host: "host_B"})
	r := b.verifyExport(t, lines)
	if !r.OK() || r.Rows != 4 || r.Signed != 4 || len(r.Notes) != 1 {
		t.Errorf("%+v", r)
	}
	lines = exportLines(t, b, ledger.Query{Until: b.at(8).Ended})
	r = b.verifyExport(t, lines, b.verify(t).Heads...)
	if !r.OK() || r.Rows != 7 || r.Signed != 7 || len(r.Notes) != 3 {
		t.Errorf("%+v", r)
	}
	lines[3] = bytes.Replace(lines[3], []byte(`"attempt":1006`), []byte(`"attempt":1007`), 1)
	if got := briefs(b.verifyExport(t, lines)); !slices.Equal(got, []string{"changed host_A n=2 seq=4"}) {
		t.Errorf("%q", got)
	}
	both := append(exportLines(t, b, ledger.Query{}), lines...)
	if _, err := ledger.VerifyExport(t.Context(), bytes.NewReader(bytes.Join(both, nil)), ledger.Trust{}); err == nil {
		t.Error("an excerpt and a whole ledger are one file")
	}
}

func TestAnExportEndsWithSignedHeadsThoughAHostWrites(t *testing.T) {
	for _, at := range []string{"cuts", "heads", "links"} {
		t.Run("before "+at, func(t *testing.T) {
			b := sample(t)
			b.during = func(read string) {
				if read == at {
					b.write("host_A")
					b.write("host_D")
					b.write("host_B")
				}
			}
			lines := exportLines(t, b, ledger.Query{})
			if r := b.verifyExport(t, lines); !r.OK() || r.Signed != r.Rows {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestALineThatCanBeReadInTwoWaysIsRefused(t *testing.T) {
	b := sample(t)
	line := string(exportLines(t, b, ledger.Query{})[11])
	if !strings.Contains(line, `"checkpoint":{`) {
		t.Fatal(line)
	}
	for name, bad := range map[string]string{
		"a name in capitals":  strings.Replace(line, `{"seq"`, `{"Tool":"x","seq"`, 1),
		"a name twice":        strings.Replace(line, `{"seq"`, `{"tool":"x","seq"`, 1),
		"a name not known":    strings.Replace(line, `{"seq"`, `{"colour":"x","seq"`, 1),
		"inside a checkpoint": strings.Replace(line, `"checkpoint":{`, `"checkpoint":{"colour":1,`, 1),
		"a number as text":    strings.Replace(line, `"attempt":1006`, `"attempt":"1006"`, 1),
		"a fraction":          strings.Replace(line, `"attempt":1006`, `"attempt":1006.0`, 1),
		"a text as number":    strings.Replace(line, `"tool":"`, `"tool":5,"x":"`, 1),
		"another zone":        strings.Replace(line, `Z","ended"`, `+00:00","ended"`, 1),
		"no object":           "[]",
		"null":                "null",
		"nothing":             " ",
		"half":                line[:len(line)/2],
	} {
		t.Run(name, func(t *testing.T) {
			if bad == line {
				t.Fatal("nothing was changed")
			}
			_, err := ledger.VerifyExport(t.Context(), strings.NewReader(bad), ledger.Trust{})
			if err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCSVIsReadAsItWasWrittenAndRunsNothing(t *testing.T) {
	b := newBook()
	row := fullRow()
	row.Seq, row.Host = 1, "host_A"
	row.Tool, row.Detail, row.Client = "=cmd|'/C calc'!A1", "two\r\nlines, \"quoted\"", "@SUM(1)"
	row.Principal, row.Code, row.Gate, row.Cost = "+1", "-1", "\tx", "1-1"
	b.rows = []ledger.LinkedRow{{Row: row, N: 1, Hash: digest("x")}}
	var out bytes.Buffer
	if n, err := ledger.ExportCSV(t.Context(), &out, b, ledger.Query{}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if !strings.HasSuffix(out.String(), "\r\n") {
		t.Error("a line that does not end")
	}
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(records) != 2 {
		t.Fatal(records, err)
	}
	var object map[string]any
	if err := json.Unmarshal(ledger.JSON(row), &object); err != nil {
		t.Fatal(err)
	}
	object["chain_n"], object["hash"] = nil, nil
	got := map[string]string{}
	for i, name := range records[0] {
		got[name] = records[1][i]
		delete(object, name)
	}
	if len(object) > 0 {
		t.Errorf("CSV does not have %v", object)
	}
	for name, want := range map[string]string{
		"tool": "'=cmd|'/C calc'!A1", "detail": "two\nlines, \"quoted\"", "client": "'@SUM(1)", "principal": "'+1",
		"error_code": "'-1", "gate": "'\tx", "cost": "1-1", "seq": "1", "late": "true", "chain_n": "1",
	} {
		if got[name] != want { // encoding/csv reads \r\n in a cell as \n
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestAnExportThatCannotBeWrittenIsReported(t *testing.T) {
	b := sample(t)
	for range 500 {
		b.write("host_A")
	}
	if _, err := ledger.ExportJSONL(t.Context(), full{}, b, ledger.Query{}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if _, err := ledger.ExportCSV(t.Context(), full{}, b, ledger.Query{}); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

func FuzzVerifyExport(f *testing.F) {
	b := newBook()
	for _, host := range []string{"A", "B", "A"} {
		b.write("host_" + host)
	}
	for _, q := range []ledger.Query{{}, {Host: "host_A"}} {
		var out bytes.Buffer
		if _, err := ledger.ExportJSONL(f.Context(), &out, b, q); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte("{\"seq\":1,\"chain_n\":9223372036854775807,\"hash\":\"sha256:" + strings.Repeat("0a", 32) + "\"}\n"))
	trust := ledger.Trust{Keys: ledger.NewVerifier(b.signer.Public())}
	var whole bytes.Buffer
	_, _ = ledger.ExportJSONL(f.Context(), &whole, b, ledger.Query{})
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := ledger.VerifyExport(t.Context(), bytes.NewReader(file), trust)
		if err != nil {
			return
		}
		if r.OK() && r.Rows > 0 && len(r.Notes) == 0 && !sameRows(t, file, whole.Bytes()) {
			t.Errorf("not what was exported, and nothing is found: %s", file)
		}
	})
}

// sameRows reports whether two exports say the same: they may be spelled in
// other ways.
func sameRows(t *testing.T, a, b []byte) bool {
	read := func(file []byte) (all []map[string]any) {
		d := json.NewDecoder(bytes.NewReader(file))
		d.UseNumber()
		for {
			var row map[string]any
			if err := d.Decode(&row); errors.Is(err, io.EOF) {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			for name, v := range row { // empty is as if it were not there
				if v == nil || v == "" || v == false {
					delete(row, name)
				}
			}
			delete(row, "prev") // of an excerpt
			all = append(all, row)
		}
	}
	return cmp.Equal(read(a), read(b))
}
