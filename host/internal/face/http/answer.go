// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"encoding/json"
	"net/http"
	"time"
)

// Exchange is one request and what became of it. It has nothing of what the
// client sent but the method, and an id that is harmless.
type Exchange struct {
	// ID is the request's, empty unless Config.Numbered.
	ID    string
	Began time.Time
	Took  time.Duration
	// Method is the client's, or "_OTHER" if it is none of HTTP's.
	Method string
	// Route is the pattern of the path, empty if no handler had the request.
	Route string
	Peer  string
	// Principal is who was told to have sent it, empty if nobody was asked.
	Principal string
	Status    int
	Bytes     int64 // of the answer's body
	// Refused is why it was, as the client was told; empty if it was not.
	Refused string
}

// answering is what an answer is written to: it counts, and gives each write its
// own deadline.
type answering struct {
	http.ResponseWriter

	control  *http.ResponseController
	exchange Exchange
}

// WriteHeader sends the status. Informational ones come before it.
func (a *answering) WriteHeader(status int) {
	if a.exchange.Status == 0 && status >= http.StatusOK {
		a.exchange.Status = status
	}
	a.pace()
	a.ResponseWriter.WriteHeader(status)
}

// Write writes within writeTime.
func (a *answering) Write(b []byte) (int, error) {
	if a.exchange.Status == 0 {
		a.exchange.Status = http.StatusOK
	}
	a.pace()
	n, err := a.ResponseWriter.Write(b)
	a.exchange.Bytes += int64(n)
	return n, err
}

// pace is best effort: what is no network connection has no deadline.
func (a *answering) pace() { _ = a.control.SetWriteDeadline(time.Now().Add(writeTime)) }

// Unwrap is for http.ResponseController.
func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the client may have gone; what is encoded always can be
}

// refusal is the body of every refusal.
type refusal struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	if a, ok := w.(*answering); ok {
		a.exchange.Refused = code
	}
	answer(w, status, refusal{code, message})
}
