// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Opener opens a store, and makes it if there is none.
type Opener func(location string, o Opening) (Store, error)

// Opening says how a store is to be opened.
type Opening struct {
	// Lease is the host's.
	Lease time.Duration
	// Signer signs the chain, Digest stands in for the keyed digest of
	// arguments, Checkpoint is after how many rows one is written.
	Signer     *ledger.Signer
	Digest     func([]byte) tool.Digest
	Checkpoint int
	// Fault is to be called at the places that the store has names for; nil:
	// nothing is.
	Fault func(point string)
}

// whole fills in what a test has not said: a lease that never runs out while it
// lasts, and one key for all processes.
func (o Opening) whole() Opening {
	if o.Lease == 0 {
		o.Lease = time.Hour
	}
	o.Signer, o.Digest = signer(), digest
	return o
}

func signer() *ledger.Signer {
	return ledger.NewSigner(ed25519.NewKeyFromSeed([]byte("the key of the suite, 32 bytes..")))
}

func digest(args []byte) tool.Digest { return tool.DigestOf(append([]byte("keyed "), args...)) }

// die returns a Fault that kills the process at the n-th time that it comes to a
// point, as told by "point:n"; at any point for "*:n".
func die(at string) func(point string) {
	if at == "" {
		return nil
	}
	want, count, _ := strings.Cut(at, ":")
	n, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	return func(point string) {
		if point != want && want != "*" {
			return
		}
		if n--; n > 0 {
			return
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		select {}
	}
}
