// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"sync"

	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// tap looks for secrets in whatever a plugin says over the wire.
type tap struct {
	mu      sync.Mutex
	secrets [][]byte        // in every form that is looked for
	found   map[string]bool // the methods whose answers had one
}

var _ stats.Handler = (*tap)(nil)

// minSecret is the length, in bytes, below which a secret is not looked for: it
// may occur by chance.
const minSecret = 6

// forms are the ways in which a secret may be written.
func forms(secret string) [][]byte {
	all := [][]byte{
		[]byte(secret), []byte(url.QueryEscape(secret)), []byte(url.PathEscape(secret)),
		[]byte(base64.StdEncoding.EncodeToString([]byte(secret))), []byte(base64.URLEncoding.EncodeToString([]byte(secret))),
	}
	if quoted, err := json.Marshal(secret); err == nil {
		all = append(all, quoted[1:len(quoted)-1])
	}
	return all
}

// guard adds values that must not be told.
func (t *tap) guard(secrets []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range secrets {
		if len(s) >= minSecret {
			t.secrets = append(t.secrets, forms(s)...)
		}
	}
}

// holds reports whether there is a secret in b.
func (t *tap) holds(b []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.secrets {
		if bytes.Contains(b, s) {
			return true
		}
	}
	return false
}

func (t *tap) note(method string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found == nil {
		t.found = map[string]bool{}
	}
	t.found[method] = true
}

type methodKey struct{}

// TagRPC remembers the method.
func (*tap) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, info.FullMethodName)
}

// HandleRPC looks at what comes in.
func (t *tap) HandleRPC(ctx context.Context, s stats.RPCStats) {
	method, _ := ctx.Value(methodKey{}).(string)
	switch s := s.(type) {
	case *stats.InPayload:
		if b, err := spokenBytes(s.Payload); err == nil && t.holds(b) {
			t.note(method)
		}
	case *stats.End:
		if s.Error != nil && t.holds([]byte(s.Error.Error())) {
			t.note(method)
		}
	}
}

// spokenBytes are a message as it is shown or recorded somewhere. Grants are not:
// the path of a database may well be a part of its secret DSN.
func spokenBytes(payload any) ([]byte, error) {
	switch m := payload.(type) {
	case *pluginv1.ConfigureResponse:
		return proto.Marshal(&pluginv1.ConfigureResponse{Diagnostics: m.GetDiagnostics()})
	case proto.Message:
		return proto.Marshal(m)
	}
	return nil, nil
}

// TagConn does nothing.
func (*tap) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (*tap) HandleConn(context.Context, stats.ConnStats) {}
