// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"

// GrantKind is a kind of access to something outside the plugin's process.
type GrantKind string

const (
	// GrantRead: read a file, or everything beneath a directory.
	GrantRead GrantKind = "read"
	// GrantWrite: read and write a file, or everything beneath a directory.
	GrantWrite GrantKind = "write"
	// GrantConnect: open connections to host:port.
	GrantConnect GrantKind = "connect"
)

// Grant is one thing that the plugin needs under a configuration. The host
// builds the sandbox of it; what is not granted is refused by the kernel. The
// host accepts values that occur in the configuration; others must be allowed
// by the operator.
type Grant struct {
	Kind GrantKind
	// Value is an absolute path, or host:port for GrantConnect.
	Value string
}

// Read asks to read the file at path, or everything beneath it. The path is
// absolute.
func Read(path string) Grant { return Grant{Kind: GrantRead, Value: path} }

// Write asks to read and write the file at path, or everything beneath it. The
// path is absolute.
func Write(path string) Grant { return Grant{Kind: GrantWrite, Value: path} }

// Connect asks to open connections to host:port.
func Connect(hostport string) Grant { return Grant{Kind: GrantConnect, Value: hostport} }

func (g Grant) wire() *pluginv1.Grant {
	out := &pluginv1.Grant{Value: g.Value}
	switch g.Kind {
	case GrantRead:
		out.Kind = pluginv1.GrantKind_GRANT_KIND_READ
	case GrantWrite:
		out.Kind = pluginv1.GrantKind_GRANT_KIND_WRITE
	case GrantConnect:
		out.Kind = pluginv1.GrantKind_GRANT_KIND_CONNECT
	}
	return out
}
