// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// Identity makes the plugin's certificate for this one launch and the TLS that
// it serves with: version 1.3, and no client but one with a certificate that
// the host's terms name. P-256 is quick to make, and every TLS library has it.
func Identity(host *x509.CertPool) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		// The host dials the name localhost, whatever the address.
		Subject:  pkix.Name{CommonName: "localhost", Organization: []string{"Toolwharf"}},
		DNSNames: []string{"localhost"},
		// It is its own authority: the host trusts exactly this certificate.
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment |
			x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		// A process may live long, and clocks may step back.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.AddDate(30, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    host,
	}, nil
}
