// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/lockfile"
)

// First and Last are the users and the groups of adapters. Distributions give
// people and services less than 60000, systemd homes up to 60513, containers' and
// greeters' users up to 60705, and services that come and go from 61184; who maps
// users into a container has at least 65536 of them.
const (
	First = 60706
	Last  = 61183
)

const all = Last - First + 1

// ErrNone says that no user is left.
var ErrNone = errors.New("no user is left for it")

// ErrNotRoot says that the host is no root host, and so has no users to give.
var ErrNotRoot = errors.New("the host is not root")

// Account is a user and the group of the same number that nobody else has, as long
// as it is not released.
type Account struct {
	ID    int
	claim *lockfile.Lock
}

// Release gives up the claim. Nothing may run as that user any more.
func (a *Account) Release() {
	if a != nil {
		a.claim.Release()
	}
}

// Book says which adapter has which user. An adapter keeps its own as long as the
// book is kept; the same name in a new book gets the same number, if it is free.
type Book struct {
	// File is where it lies; "": only in this process.
	File string
	// Claims is a directory with a file for each user that runs, locked by the hosts
	// that run it. It should be the machine's.
	Claims string
	// Owner is who claims: hosts of one owner share the users of their adapters.
	Owner string

	mu    sync.Mutex
	known map[string]int
}

// Take returns the user of an adapter.
func (b *Book) Take(adapter string) (*Account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.load(); err != nil {
		return nil, err
	}
	taken := map[int]bool{}
	for name, id := range b.known {
		taken[id] = name != adapter
	}
	own, recorded := b.known[adapter]
	if !recorded {
		own = preferred(adapter)
	}
	if len(taken) >= all && !recorded { // nobody is left who never was another's
		taken = map[int]bool{}
	}
	for n := range all {
		id := First + (own-First+n)%all
		if taken[id] || known(id) {
			continue
		}
		claim, err := lockfile.Share(filepath.Join(b.Claims, strconv.Itoa(id)), b.Owner+"\x00"+adapter)
		if errors.Is(err, lockfile.ErrHeld) { // another host's
			continue
		}
		if err != nil {
			return nil, err
		}
		a := &Account{ID: id, claim: claim}
		if err := b.record(adapter, id); err != nil {
			a.Release()
			return nil, err
		}
		return a, nil
	}
	return nil, ErrNone
}

// preferred is the number that an adapter has on every machine, if it is free.
func preferred(adapter string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(adapter))
	return First + int(h.Sum32()%all)
}

// known reports whether the machine's users or groups have a number already.
func known(id int) bool {
	text := strconv.Itoa(id)
	_, noUser := user.LookupId(text)
	_, noGroup := user.LookupGroupId(text)
	return !errors.As(noUser, new(user.UnknownUserIdError)) || !errors.As(noGroup, new(user.UnknownGroupIdError))
}

// record keeps who has what. A number has one adapter.
func (b *Book) record(adapter string, id int) error {
	if b.known[adapter] == id {
		return nil
	}
	for name, other := range b.known {
		if other == id {
			delete(b.known, name)
		}
	}
	b.known[adapter] = id
	if err := b.save(); err != nil {
		return fmt.Errorf("record of the users of adapters: %w", err)
	}
	return nil
}
