// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// KeyedDigest returns the HMAC-SHA256 of d: what the ledger shows in place of a
// digest of arguments. Equal arguments have equal digests, and only who has the
// key can try out what they were. The zero digest, of nothing, stays zero.
func KeyedDigest(key []byte, d tool.Digest) tool.Digest {
	if d.IsZero() {
		return d
	}
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(d[:]) // never fails
	return tool.Digest(h.Sum(nil))
}
