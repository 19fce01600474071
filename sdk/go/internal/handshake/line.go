// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
)

// Line is what the host reads from stdout, with its newline:
//
//	1|1|unix|/run/x/plugin.sock|grpc|MIIB...
//
// go-plugin's own version, the app version, network, address, protocol and
// the server's certificate (DER, standard base64 without padding). A seventh
// field is added for a host that asked about multiplexing.
func Line(l net.Addr, identity *tls.Config, t Terms) string {
	line := fmt.Sprintf("1|%d|%s|%s|grpc|%s", AppVersion, l.Network(), l.String(),
		base64.RawStdEncoding.EncodeToString(identity.Certificates[0].Certificate[0]))
	if t.Multiplex {
		line += "|false"
	}
	return line + "\n"
}
