// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// certify writes a certificate of this machine into a directory, and returns who
// trusts it.
func certify(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return pool
}

func TestAHostSpeaksTLSAndChangesItsCertificateWhileItServes(t *testing.T) {
	t.Parallel()
	desk := newToken(t, "--client-id", "desk")
	_, port, _ := strings.Cut(freePort(t), ":")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: \"0.0.0.0:%s\", allowed_hosts: [127.0.0.1], tls: {cert: cert.pem, key: key.pem}, auth: {tokens: [%s]}}\n", port, desk.entry()))
	install(t, "echo", plugins)
	if _, stderr, code := run(t, dir, "validate"); code != 2 || !strings.Contains(stderr, "http.tls.cert: no such file") {
		t.Errorf("without a certificate: exit %d: %s", code, stderr)
	}
	trusted := certify(t, dir)
	h := launch(t, toolwharf, filepath.Join(dir, "toolwharf.yaml"), nil)
	url := "https://127.0.0.1:" + port
	with := func(pool *x509.CertPool) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	}
	answers := func(pool *x509.CertPool) func() error {
		return func() error {
			resp, err := with(pool).Get(url + "/readyz")
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusOK {
				return errors.New(resp.Status)
			}
			return nil
		}
	}
	eventually(t, "it is ready over TLS", answers(trusted))
	client := with(trusted)
	client.Transport = over{client.Transport, desk.header()}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: client}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	lists(t, s, "echo_echo", true)
	if log := h.stderr.String(); strings.Contains(log, "NO TLS") || !strings.Contains(log, `"url":"https://`) {
		t.Errorf("the log says %s", log)
	}
	renewed := certify(t, dir)
	eventually(t, "the new certificate serves", answers(renewed))
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a bad pair is told of", func() error {
		if err := answers(renewed)(); err != nil {
			return err
		}
		if !strings.Contains(h.stderr.String(), "the new certificate cannot be used; the old one serves on") {
			return errors.New("not yet")
		}
		return nil
	})
}

// over adds headers to what goes over another transport.
type over struct {
	http.RoundTripper

	with headers
}

func (o over) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range o.with {
		r.Header.Set(k, v)
	}
	return o.RoundTripper.RoundTrip(r)
}

func TestAHostForEverybodyServesOtherMachinesAndSaysSoLoudly(t *testing.T) {
	t.Parallel()
	_, port, _ := strings.Cut(freePort(t), ":")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: \"0.0.0.0:%s\", allowed_hosts: [0.0.0.0], allow_anonymous: true}\n", port))
	install(t, "echo", plugins)
	h := serve(t, dir)
	if !strings.Contains(h.stderr.String(), "anyone who can reach this address can call every tool") {
		t.Error("nothing is said of it")
	}
	// A proxy stands for another machine here.
	if status, _, code, _ := h.refusal(t, h.url, headers{"X-Forwarded-For": "203.0.113.7"}); status != http.StatusOK {
		t.Errorf("from elsewhere: %d %s", status, code)
	}
	if status, _, code, _ := h.refusal(t, h.url, headers{"Origin": "https://evil.example"}); status != http.StatusForbidden || code != "origin-not-allowed" {
		t.Errorf("from a page: %d %s", status, code)
	}
	resp, err := http.Get(h.base + "/v1/approvals")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("approvals: %s", resp.Status)
	}
}
