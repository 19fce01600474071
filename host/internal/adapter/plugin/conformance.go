// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/tls"
	"strconv"

	"google.golang.org/grpc"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// What stands here is for the conformance kit, which starts plugins on the
// terms of this package, without go-plugin in between, and judges what they
// say as this package does.

// Terms are the terms of one launch.
type Terms struct {
	// Cookie and Certificate are variables of the environment, Rest the others.
	Cookie, Certificate string
	Rest                []string
	// TLS is the host's side. RootCAs is empty: the plugin's certificate comes
	// with the handshake.
	TLS *tls.Config
}

// NewTerms makes the terms of a launch that serves in socketDir.
func NewTerms(socketDir string) (*Terms, error) {
	keys, err := newPair()
	if err != nil {
		return nil, err
	}
	return &Terms{
		Cookie:      cookieKey + "=" + cookieValue,
		Certificate: "PLUGIN_CLIENT_CERT=" + keys.pem,
		Rest: []string{
			"PLUGIN_PROTOCOL_VERSIONS=" + strconv.Itoa(version),
			"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", // go-plugin's own
			"PLUGIN_UNIX_SOCKET_DIR=" + socketDir,
		},
		TLS: keys.config,
	}, nil
}

// Receive reads the stream of one call up to its one end, as the host does. An
// answer of the plugin that is an error is a *tool.Error; code
// "protocol_violation" is that of one that no host takes. Any other error is the
// stream's.
func Receive(stream grpc.ServerStreamingClient[pluginv1.CallToolResponse]) (tool.Outcome, error) {
	return receive(stream, &tool.Attempt{Call: &tool.Call{}}, new(assembly))
}

// Catalog is a plugin's catalogue in the host's words, not judged yet.
func Catalog(c *pluginv1.Catalog) adapter.Catalog { return catalog(c) }
