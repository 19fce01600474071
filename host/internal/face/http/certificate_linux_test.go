// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newPair writes a certificate of localhost with a serial number, and its key.
func newPair(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestACertificateIsReadAnewWhenItChangesAndABadOneChangesNothing(t *testing.T) {
	dir := t.TempDir()
	cert, key := newPair(t, dir, 1)
	var log bytes.Buffer
	c, err := OpenCertificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s := running(t, Config{Certificate: c})
	serial := func() int64 {
		t.Helper()
		c.mu.Lock()
		c.looked = time.Time{} // a second has gone by
		c.mu.Unlock()
		conn, err := tls.Dial("tcp", s.Address().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if p := conn.ConnectionState().NegotiatedProtocol; p == "h2" {
			t.Errorf("the protocol is %s", p)
		}
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("the first certificate is %d", got)
	}
	newPair(t, dir, 2)
	if got := serial(); got != 2 {
		t.Errorf("the next is %d", got)
	}
	for name, spoil := range map[string]func() error{
		"no certificate": func() error { return os.WriteFile(cert, []byte("none\n"), 0o600) },
		"no file":        func() error { return os.Remove(key) },
		"the key of another": func() error {
			newPair(t, dir, 3)
			pairOf := t.TempDir()
			_, other := newPair(t, pairOf, 4)
			return os.Rename(other, key)
		},
	} {
		said := func() string {
			c.mu.Lock() // which is held when it is said
			defer c.mu.Unlock()
			return log.String()
		}
		before := len(said())
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if got := serial(); got != 2 || !strings.Contains(said()[before:], "the old one serves on") {
			t.Errorf("%s: %d is served, and the log has %s", name, got, said())
		}
		serial()
		if n := strings.Count(said()[before:], "serves on"); n != 1 {
			t.Errorf("%s: it is said %d times", name, n)
		}
	}
	newPair(t, dir, 5)
	if got := serial(); got != 5 {
		t.Errorf("after that comes %d", got)
	}
}

func TestOldVersionsOfTLSAndClearTextAreNotSpoken(t *testing.T) {
	cert, key := newPair(t, t.TempDir(), 1)
	c, err := OpenCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := running(t, Config{Certificate: c})
	for version, spoken := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", s.Address().String(), &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
		if (err == nil) != spoken {
			t.Errorf("%x: %v", version, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	if !strings.HasPrefix(s.URL(), "https://") {
		t.Errorf("its URL is %s", s.URL())
	}
	resp, err := http.Get("http://" + s.Address().String() + "/healthz")
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode == http.StatusOK {
			t.Error("it serves in clear text")
		}
	}
	if _, err := OpenCertificate(cert, cert, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a certificate is its key")
	}
}
