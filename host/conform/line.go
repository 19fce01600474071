// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// line is a handshake line:
// CORE|APP|NETWORK|ADDRESS|grpc|CERTIFICATE[|MULTIPLEX].
type line struct {
	network, address string
	certificate      *x509.Certificate
}

// parseLine reads a handshake line, and says what is wrong with it.
func parseLine(text string) (*line, error) {
	fields := strings.Split(strings.TrimSuffix(text, "\r"), "|")
	if len(fields) < 6 || len(fields) > 7 {
		return nil, fmt.Errorf("the first line on stdout is %q; it should be 1|1|unix|SOCKET|grpc|CERTIFICATE", shown(text))
	}
	switch {
	case fields[0] != "1":
		return nil, fmt.Errorf("the handshake begins with %q, not with go-plugin's 1", shown(fields[0]))
	case fields[1] != "1":
		return nil, fmt.Errorf("the handshake's protocol version is %q; PLUGIN_PROTOCOL_VERSIONS offers 1", shown(fields[1]))
	case fields[4] != "grpc":
		return nil, fmt.Errorf("the handshake's protocol is %q, not grpc", shown(fields[4]))
	case fields[5] == "":
		return nil, errors.New("the handshake has no certificate; mutual TLS is obligatory")
	}
	if strings.HasSuffix(fields[5], "=") {
		return nil, errors.New("the handshake's certificate ends with =; it is base64 without padding")
	}
	der, err := base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil {
		return nil, fmt.Errorf("the handshake's certificate is not base64 of the standard alphabet: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("the handshake's certificate is not DER of one: %w", err)
	}
	return &line{network: fields[2], address: fields[3], certificate: certificate}, nil
}
