// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"time"

	httpface "github.com/toolwharf/toolwharf/host/internal/face/http"
)

// logAccess writes the line of a request. There is nothing in it that the client
// sent but what an Exchange has.
func (h *Host) logAccess(x httpface.Exchange) {
	fields := []any{
		"id", x.ID, "method", x.Method, "route", x.Route, "status", x.Status, "bytes", x.Bytes,
		"took_ms", float64(x.Took.Round(10*time.Microsecond)) / float64(time.Millisecond), "peer", x.Peer,
	}
	if x.Principal != "" {
		fields = append(fields, "principal", x.Principal)
	}
	if x.Refused != "" {
		fields = append(fields, "refused", x.Refused)
	}
	h.access.Info("request", fields...)
}
