// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"

	"github.com/toolwharf/toolwharf/host/internal/auth"
)

// retryAfter is when to try again what could not be told, in seconds.
const retryAfter = "10"

// site is what a server serves, and to whom.
type site struct {
	Config

	guard  *guard
	shares shares
	local  bool // only this machine can reach it
}

func newSite(c Config, local bool) *site {
	return &site{Config: c, guard: newGuard(c, local), shares: shares{most: c.Bounds.InFlight}, local: local}
}

// admits serves to those who have access.
func (s *site) admits(a Access, next http.Handler) http.Handler {
	switch a {
	case Anyone:
		return next
	case Callers:
		return s.identified(next)
	case Watchers:
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.watches(r) {
			refuse(w, http.StatusForbidden, "operators-only",
				"this is for operators, and for the host's own user on this machine; send an operator's token as Authorization: Bearer <token>")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// watches reports whether a request is of somebody who may know how the host
// fares. Behind an address that other machines can reach, a near peer may be a
// proxy for a far one.
func (s *site) watches(r *http.Request) bool {
	if s.Operator != nil && s.Operator(r) {
		return true
	}
	far, _ := judgePeer(r)
	return s.local && far == ""
}

// identified serves those who say who they are, each no more than its share.
func (s *site) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var who auth.Caller
		if s.Identify != nil {
			var ok bool
			if who, r, ok = s.identify(w, r); !ok {
				return
			}
		}
		if a, ok := w.(*answering); ok {
			a.exchange.Principal = who.String()
		}
		share := shareOf(who.Principal, r)
		if !s.shares.enter(share) {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests, "too-many-requests",
				fmt.Sprintf("%d requests of this caller are being served (http.max_in_flight); wait for one of them", s.shares.most))
			return
		}
		defer s.shares.leave(share)
		next.ServeHTTP(w, r)
	})
}

// identify asks who sends a request; not ok: it has answered.
func (s *site) identify(w http.ResponseWriter, r *http.Request) (_ auth.Caller, _ *http.Request, ok bool) {
	who, refused := s.Identify(r)
	if refused != nil {
		refused.Challenge = s.challenge(r, refused.Challenge)
		turnAway(w, r, s.Log, refused)
		return who, r, false
	}
	if s.As != nil {
		r = r.WithContext(s.As(r.Context(), who))
	}
	header := maps.Clone(r.Header) // nothing behind this needs the token
	delete(header, "Authorization")
	r.Header = header
	return who, r, true
}

// turnAway refuses who has not said who it is, or is nobody for this.
func turnAway(w http.ResponseWriter, r *http.Request, log *slog.Logger, refused *auth.Refusal) {
	log.Warn("request refused", "error", refused.Code, "message", refused.Text, "cause", refused.Err, "peer", r.RemoteAddr, "path", shown(r.URL.Path))
	if refused.Challenge != "" {
		w.Header().Set("WWW-Authenticate", refused.Challenge)
	}
	if refused.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	refuse(w, refused.Status, refused.Code, refused.Text)
}
