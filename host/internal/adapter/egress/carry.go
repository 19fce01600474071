// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// copySize is what is carried at once, and held for each direction.
const copySize = 32 << 10

// carry carries bytes both ways until both sides have ended, one fails, or a limit ends
// it. It closes both.
func (g *Gate) carry(ctx context.Context, conn *net.UnixConn, remote *net.TCPConn, early []byte) {
	var moves atomic.Uint64
	over := make(chan error, 2)
	var both sync.WaitGroup
	both.Go(func() { over <- g.pump(remote, conn, early, &g.counts.sent, &moves) })
	both.Go(func() { over <- g.pump(conn, remote, nil, &g.counts.received, &moves) })

	life, idle := time.NewTimer(g.limits.Life), time.NewTimer(g.limits.Idle)
	defer life.Stop()
	defer idle.Stop()
	patience, seen := g.limits.Idle, moves.Load()
	var err error
	for running := 2; running > 0 && err == nil; {
		select {
		case err = <-over:
			running--
			patience = min(patience, g.limits.Ended)
			idle.Reset(patience)
			seen = moves.Load()
		case <-idle.C:
			if now := moves.Load(); now != seen {
				seen = now
				idle.Reset(patience)
				continue
			}
			err = errors.New("idle")
		case <-life.C:
			err = errors.New("old")
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		_ = remote.SetLinger(0) // what was cut off must not look complete
	}
	_ = remote.Close()
	_ = conn.Close()
	both.Wait()
}

// halfConn is a connection of which each direction ends by itself.
type halfConn interface {
	io.ReadWriter
	CloseWrite() error
}

// pump carries one direction, and passes on its end. The early bytes are there already.
func (g *Gate) pump(to, from halfConn, early []byte, carried, moves *atomic.Uint64) error {
	send := func(b []byte) error {
		moves.Add(1) // also what the other side does not take is known to have come
		n, err := to.Write(b)
		carried.Add(uint64(n)) //nolint:gosec // never negative
		moves.Add(1)
		return err
	}
	if len(early) > 0 {
		if err := send(early); err != nil {
			return err
		}
	}
	buf := g.buffers.Get().(*[copySize]byte) //nolint:forcetypeassert // nothing else is put there
	defer g.buffers.Put(buf)
	for {
		n, end := from.Read(buf[:])
		if n > 0 {
			if err := send(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(end, io.EOF) {
			return to.CloseWrite()
		}
		if end != nil {
			return end
		}
	}
}
