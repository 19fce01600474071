// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ServeStdio serves one client over a pair of streams, one JSON-RPC message a
// line (MCP 2026-07-28, basic/transports, stdio), until in ends, ctx ends or
// the face closes. out must carry nothing else. The caller is the local user
// that the host runs as; calls that name no run belong to one run of the
// process.
//
// At the end of in, calls that run have 5 seconds to be answered; when ctx ends
// they are cancelled. It returns nil at the end of in and after Close, the cause
// when ctx ends, and the error when a stream fails. A read of in or a write to
// out that is under way is not interrupted: its goroutine ends with the stream.
func (f *Face) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	o := &origin{
		principal: tool.Principal{Kind: tool.Stdio, Subject: localUser()},
		gone:      gone, stdio: true, subscribed: subscriptions{held: map[string]func(){}},
	}
	defer o.subscribed.close()
	seen := f.listed.now().seenBy(o.principal) // before the client can have asked
	lines := newLines(in, out, f.grace)
	// Not ctx: the SDK is to stop by Close only, which answers what runs.
	session, err := f.server.Connect(withOrigin(context.WithoutCancel(ctx), o), lines, nil)
	if err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	f.hearers.enter(session, o.principal, seen)
	defer f.hearers.leave(session)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = session.Wait()
	}()
	select {
	case <-ended:
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("stdio: %w", err)
		}
		return nil
	case <-ctx.Done():
	case <-f.open.Done():
	}
	leave()
	go func() { _ = session.Close() }() // what is wrong with it no longer matters
	select {
	case <-ended:
	case <-time.After(f.grace): // the client does not read what it is answered
	}
	return context.Cause(ctx)
}

// localUser names the user that the host runs as.
func localUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

var _ mcpsdk.Transport = (*lines)(nil)
