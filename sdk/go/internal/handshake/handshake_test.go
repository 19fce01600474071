// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environment(t *testing.T) map[string]string {
	t.Helper()
	id, err := Identity(nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"TOOLWHARF_PLUGIN":         "toolwharf.plugin.v1",
		"PLUGIN_PROTOCOL_VERSIONS": "1,2",
		"PLUGIN_CLIENT_CERT":       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.Certificates[0].Certificate[0]})),
	}
}

func TestTermsAreReadFromTheEnvironment(t *testing.T) {
	env := environment(t)
	getenv := func(name string) string { return env[name] }
	got, err := Read(getenv)
	if err != nil {
		t.Fatal(err)
	}
	got.Host = nil
	if diff := cmp.Diff(Terms{MinPort: 10000, MaxPort: 25000}, got); diff != "" {
		t.Error(diff)
	}
	maps.Copy(env, map[string]string{
		"PLUGIN_UNIX_SOCKET_DIR": "/d", "PLUGIN_UNIX_SOCKET_GROUP": "g", "PLUGIN_MIN_PORT": "1", "PLUGIN_MAX_PORT": "2", "PLUGIN_MULTIPLEX_GRPC": "1",
	})
	if got, err = Read(getenv); err != nil {
		t.Fatal(err)
	}
	got.Host = nil
	if diff := cmp.Diff(Terms{SocketDir: "/d", SocketGroup: "g", MinPort: 1, MaxPort: 2, Multiplex: true}, got); diff != "" {
		t.Error(diff)
	}
	if !Hosted(getenv) || Hosted(func(string) string { return "" }) {
		t.Error("Hosted does not know a host")
	}
}

func TestTheIdentityIsWhatHostsOfEveryLanguageAccept(t *testing.T) {
	id, err := Identity(x509.NewCertPool())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(id.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	key, ok := cert.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		t.Errorf("the key is a %T", cert.PublicKey)
	}
	if !slices.Equal(cert.DNSNames, []string{"localhost"}) || !cert.IsCA || !cert.BasicConstraintsValid ||
		!slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}) {
		t.Errorf("got %v %v %v", cert.DNSNames, cert.IsCA, cert.ExtKeyUsage)
	}
	if id.MinVersion != tls.VersionTLS13 || id.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Errorf("got %x %v", id.MinVersion, id.ClientAuth)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: roots}); err != nil {
		t.Error(err)
	}
}

func TestTheLine(t *testing.T) {
	id, err := Identity(nil)
	if err != nil {
		t.Fatal(err)
	}
	line := Line(&net.UnixAddr{Name: "/d/s", Net: "unix"}, id, Terms{})
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
	if !slices.Equal(fields[:5], []string{"1", "1", "unix", "/d/s", "grpc"}) || len(fields) != 6 || !strings.HasSuffix(line, "\n") {
		t.Errorf("got %q", line)
	}
	der, err := base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil || string(der) != string(id.Certificates[0].Certificate[0]) || strings.Contains(fields[5], "=") {
		t.Errorf("got %q, %v", fields[5], err)
	}
	if line := Line(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7}, id, Terms{Multiplex: true}); !strings.HasPrefix(line, "1|1|tcp|127.0.0.1:7|grpc|") || !strings.HasSuffix(line, "|false\n") {
		t.Errorf("got %q", line)
	}
}
