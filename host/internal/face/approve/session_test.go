// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/seal"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestASessionEndsWithWhatProvesItAndAtMostAfterHalfAnHour(t *testing.T) {
	for name, tc := range map[string]struct{ proof, lasts time.Duration }{
		"what has no end":         {0, sessionTime},
		"what ends before":        {2 * time.Minute, 2 * time.Minute},
		"what ends much later":    {24 * time.Hour, sessionTime},
		"what ends at the moment": {time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sealer, err := seal.New("here", bytes.Repeat([]byte("k"), 32))
				if err != nil {
					t.Fatal(err)
				}
				p := &page{Config{Sealer: sealer}, publicOf("")}
				var until time.Time
				if tc.proof != 0 {
					until = time.Now().Add(tc.proof)
				}
				w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/approve/x", nil)
				who := tool.Principal{Kind: tool.Token, ClientID: "ops", Scopes: []string{tool.ScopeOperate}}
				if err := p.begin(w, r, newSession(who, ""), until); err != nil {
					t.Fatal(err)
				}
				for _, c := range w.Result().Cookies() {
					r.AddCookie(c)
					if c.MaxAge != int(tc.lasts.Seconds()) {
						t.Errorf("the browser keeps it for %d s", c.MaxAge)
					}
				}
				time.Sleep(tc.lasts - time.Millisecond)
				if s := p.session(r); s == nil || !s.who.Is(who) {
					t.Errorf("before its end: %+v", s)
				}
				time.Sleep(time.Second)
				if s := p.session(r); s != nil {
					t.Errorf("after its end: %+v", s)
				}
			})
		})
	}
}
