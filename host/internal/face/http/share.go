// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"net/http"
	"net/netip"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// shares bound the requests that each principal has in flight.
type shares struct {
	most int
	mu   sync.Mutex
	used map[string]int
}

// enter reports whether there is room for one more; leave must follow.
func (s *shares) enter(of string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[of] >= s.most {
		return false
	}
	if s.used == nil {
		s.used = map[string]int{}
	}
	s.used[of]++
	return true
}

func (s *shares) leave(of string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[of]--; s.used[of] == 0 {
		delete(s.used, of)
	}
}

// shareOf is whose share a request counts in: its principal's; of callers without
// a name each machine's.
func shareOf(who tool.Principal, r *http.Request) string {
	if !who.IsAnonymous() {
		return who.String()
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "from " + r.RemoteAddr
	}
	return "from " + at.Addr().Unmap().String()
}
