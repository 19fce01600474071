// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Public names match ^[a-zA-Z0-9_-]{1,64}$: what every client and model
// provider takes. One name outside of it can cost a client the whole list.
const (
	maxName  = 64
	keptName = 55 // of a longer name, before "_" and 8 hex digits of its hash
)

// PublicName returns the public name of a tool that an adapter with this prefix
// declares, and the full name as alias where the two differ.
func PublicName(prefix, declared string) (name, alias string) {
	full := prefix + declared
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, full)
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(full))
		name = name[:keptName] + "_" + hex.EncodeToString(sum[:4])
	}
	if name == full {
		return name, ""
	}
	return name, full
}
