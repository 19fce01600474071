// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"

	httpface "github.com/toolwharf/toolwharf/host/internal/face/http"
	"github.com/toolwharf/toolwharf/host/internal/face/mcp"
)

// Embed returns the faces of a host that another program serves: MCP over HTTP, for
// that program's own server and behind the same guard as over this host's own, and
// the face of clients in the same process. The face is to be closed before the host.
func (h *Host) Embed() (http.Handler, *mcp.Face, error) {
	h.embedded = true
	var err error
	if h.entrance, err = h.newEntrance(); err != nil {
		return nil, nil, err
	}
	face := h.face(h.config.HTTP.AllowAnonymous)
	return httpface.Guarded(h.site(face)), face, nil
}

// Faults are what /readyz tells.
func (h *Host) Faults() []string { return h.readiness().Faults }
