// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/config"
)

func TestAHostKnowsWhereItAndItsTwinsListen(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8000": "[127.0.0.1:8000]", "[::1]:8000": "[[::1]:8000]", "localhost:8000": "[[::]:8000]", ":8000": "[[::]:8000]",
		"0.0.0.0:8000": "[0.0.0.0:8000]", "127.0.0.1:0": "[]", "": "[]",
	} {
		h := &Host{config: &config.Config{HTTP: config.HTTP{Listen: listen}}}
		if got := fmt.Sprint(h.listens()); got != want {
			t.Errorf("%q: %s, want %s", listen, got, want)
		}
		h.serveAt(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 99})
		if got := h.listens(); got[len(got)-1].String() != "127.0.0.1:99" {
			t.Errorf("%q: %s", listen, got)
		}
	}
}
