// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAllWhoLoadAKeyAtOnceGetTheSame(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		const procs = 8
		ids, keys := make([]string, procs), make([][]byte, procs)
		var wg sync.WaitGroup
		for i := range procs {
			wg.Go(func() {
				s, err := ledger.LoadOrCreateSigner(filepath.Join(dir, "ledger.key"))
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = s.Key()
				if keys[i], err = ledger.LoadOrCreateKey(filepath.Join(dir, "digest.key")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range procs {
			if ids[i] != ids[0] || !bytes.Equal(keys[i], keys[0]) || len(keys[i]) != 32 {
				t.Fatal("they differ")
			}
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 3 {
			t.Fatalf("%v, %v", left, err)
		}
		for _, e := range left {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			want := fs.FileMode(0o600)
			if strings.HasSuffix(e.Name(), ".pub") {
				want = 0o644
			}
			if runtime.GOOS != "windows" && info.Mode() != want {
				t.Errorf("%s has mode %v", e.Name(), info.Mode())
			}
		}
	}
}

func TestASignatureIsJudgedByThePublicKeyAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.key")
	s, err := ledger.LoadOrCreateSigner(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMicro(1_760_000_000_000_001)
	head := ledger.Head{Host: "host_A", N: 3, Hash: digest("x")}
	c := s.Sign(head, []ledger.Head{
		{Host: "host_C", N: 1, Hash: digest("c")}, {Host: "host_B", N: 1, Hash: digest("b")}, head, {Host: "host_D"},
	}, at)
	if len(c.Anchors) != 2 || c.Anchors[0].Host != "host_B" || c.Time != at.UnixMicro() || c.Key != ledger.KeyID(s.Public()) {
		t.Errorf("%+v", c)
	}
	for _, file := range []string{path, path + ".pub"} {
		v, err := ledger.LoadVerifier(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Checkpoint(&c); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for name, change := range map[string]func(*ledger.Checkpoint){
			"host": func(c *ledger.Checkpoint) { c.Host = "host_B" }, "n": func(c *ledger.Checkpoint) { c.N++ },
			"hash": func(c *ledger.Checkpoint) { c.Hash[0] ^= 1 }, "time": func(c *ledger.Checkpoint) { c.Time++ },
			"anchors":        func(c *ledger.Checkpoint) { c.Anchors = c.Anchors[:1] },
			"the signature":  func(c *ledger.Checkpoint) { c.Signature = append([]byte{1}, c.Signature[1:]...) },
			"half signature": func(c *ledger.Checkpoint) { c.Signature = c.Signature[:10] },
		} {
			bad := c
			change(&bad)
			if err := v.Checkpoint(&bad); err != ledger.ErrBadSignature { //nolint:errorlint // as it is
				t.Errorf("another %s: %v", name, err)
			}
		}
	}
	if err := ledger.NewVerifier(signer(9).Public()).Checkpoint(&c); err != ledger.ErrUnknownKey { //nolint:errorlint // as it is
		t.Errorf("another key: %v", err)
	}
	cut := s.SignCut(ledger.Cut{Seq: 1, By: "a", Heads: []ledger.Head{head}})
	v := ledger.NewVerifier(s.Public())
	if err := v.Cut(&cut); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*ledger.Cut){
		func(c *ledger.Cut) { c.Seq++ }, func(c *ledger.Cut) { c.By = "b" }, func(c *ledger.Cut) { c.Time++ },
		func(c *ledger.Cut) { c.Heads = nil }, func(c *ledger.Cut) { c.Heads, c.Anchors = nil, c.Heads },
	} {
		bad := cut
		change(&bad)
		if v.Cut(&bad) == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not access lists")
	}
	path := filepath.Join(t.TempDir(), "ledger.key")
	if _, err := ledger.LoadOrCreateSigner(path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o601, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.LoadOrCreateSigner(path); err == nil || !strings.Contains(err.Error(), "others may have read it") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, mode := range []fs.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.LoadOrCreateSigner(path); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.LoadOrCreateSigner(path); err == nil || !strings.Contains(err.Error(), "belongs to uid 12345") {
		t.Errorf("another's: %v", err)
	}
}

func TestFilesThatAreNoKeys(t *testing.T) {
	dir := t.TempDir()
	signerFile, digestFile := filepath.Join(dir, "s"), filepath.Join(dir, "d")
	if _, err := ledger.LoadOrCreateSigner(signerFile); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.LoadOrCreateKey(digestFile); err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKCS8PrivateKey(other)
	good, _ := os.ReadFile(signerFile)
	for name, content := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "half": good[:len(good)/2], "twice": append(bytes.Clone(good), good...),
		"words before": append([]byte("hello\n"), good...),
		"another kind": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		"not DER":      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"short":        pem.EncodeToMemory(&pem.Block{Type: "TOOLWHARF DIGEST KEY", Bytes: []byte("x")}),
		"huge":         bytes.Repeat([]byte("x"), 1<<20),
	} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.LoadOrCreateSigner(path); err == nil {
			t.Errorf("%s is a signing key", name)
		}
		if _, err := ledger.LoadOrCreateKey(path); err == nil {
			t.Errorf("%s is a digest key", name)
		}
		if is, _ := os.ReadFile(path); !bytes.Equal(is, content) {
			t.Errorf("%s was replaced", name)
		}
	}
	if _, err := ledger.LoadOrCreateSigner(digestFile); err == nil {
		t.Error("a digest key signs")
	}
	if _, err := ledger.LoadVerifier(digestFile); err == nil {
		t.Error("a digest key verifies")
	}
	if _, err := ledger.LoadOrCreateSigner(filepath.Join(dir, "none", "ledger.key")); err == nil {
		t.Error("a directory was made")
	}
	if err := os.WriteFile(signerFile+".pub", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.LoadOrCreateSigner(signerFile); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("a public key of another: %v", err)
	}
}

func TestAKeyedDigestNeedsTheKey(t *testing.T) {
	d := tool.DigestOf([]byte("{}"))
	key := ledger.NewKeyer([]byte("a"))
	a, b := key.Digest(d), ledger.NewKeyer([]byte("b")).Digest(d)
	if a == b || a == d || a != key.Digest(d) || a != ledger.NewKeyer([]byte("a")).Digest(d) {
		t.Error("it does not depend on the key, or on nothing else")
	}
	if !key.Digest(tool.Digest{}).IsZero() {
		t.Error("nothing has a digest")
	}
}

func FuzzParsePublicKeys(f *testing.F) {
	path := filepath.Join(f.TempDir(), "k")
	if _, err := ledger.LoadOrCreateSigner(path); err != nil {
		f.Fatal(err)
	}
	for _, p := range []string{path, path + ".pub"} {
		content, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		keys, err := ledger.ParsePublicKeys(content)
		if (err == nil) != (len(keys) > 0) {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			if len(ledger.NewVerifier(k).Keys()) != 1 {
				t.Fatal("a key of another size")
			}
		}
	})
}
