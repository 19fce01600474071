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

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ServeStdio serves one client over a pair of streams, one JSON-RPC message a
// line (MCP 2026-07-28, basic/transports, stdio), until in ends, ctx ends or
// the face closes. out must carry nothing else. The caller is the local user
// that the host runs as; calls that name no run belong to one run of the
// process.
//
// At the end of in, calls that run have 5 seconds to be answered. It returns
// nil at the end of in and after Close, the cause when ctx ends, and the error
// when a stream fails. A read of in that is under way is not interrupted: its
// goroutine ends with in.
func (f *Face) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	o := &origin{
		principal: tool.Principal{Kind: tool.Stdio, Subject: localUser()},
		gone:      gone, stdio: true,
	}
	lines := newLines(in, out, f.grace)
	// Not ctx: the SDK is to stop by Close only, which answers what runs.
	session, err := f.server.Connect(withOrigin(context.WithoutCancel(ctx), o), lines, nil)
	if err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		leave()
		_ = session.Close() // the cause says why
		<-ended
		return context.Cause(ctx)
	case <-f.open.Done():
		leave()
		_ = session.Close() // the face is closing; nobody is left to tell
		<-ended
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("stdio: %w", err)
	}
	return nil
}

// localUser names the user that the host runs as.
func localUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

var _ mcpsdk.Transport = (*lines)(nil)
