// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import "time"

// Bounds are what a server spends on its clients at most. What is not positive
// stands for its default.
type Bounds struct {
	// Header and Body are the largest of a request, in bytes.
	Header int
	Body   int64
	// HeaderTime and BodyTime are how long a client may take to send them,
	// IdleTime is how long a connection may wait for the next request.
	HeaderTime, BodyTime, IdleTime time.Duration
	// Connections may be open at once, Idle of them without a request.
	Connections, Idle int
	// InFlight are the requests of one principal that are served at once.
	InFlight int
}

// writeTime is how long a client may take to read one piece of an answer: who
// does not read would otherwise hold what answers for ever.
const writeTime = 30 * time.Second

// restTime is what is waited for the rest of a body that nobody wants: a client
// that has sent it already may keep its connection.
const restTime = time.Second

func (b Bounds) orDefaults() Bounds {
	or(&b.Header, 64<<10)
	or(&b.Body, 1<<20)
	or(&b.HeaderTime, 10*time.Second)
	or(&b.BodyTime, 30*time.Second)
	or(&b.IdleTime, 2*time.Minute)
	or(&b.Connections, 4096)
	or(&b.Idle, 1024)
	or(&b.InFlight, 1024)
	return b
}

func or[T int | int64 | time.Duration](v *T, other T) {
	if *v <= 0 {
		*v = other
	}
}
