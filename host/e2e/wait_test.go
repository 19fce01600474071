// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// approvals are those that `approvals list` names, by status.
func approvals(t *testing.T, dir, status string) ([]string, error) {
	t.Helper()
	stdout, stderr, code := run(t, dir, "approvals", "list", "--status", status, "--json")
	if code != 0 {
		return nil, fmt.Errorf("exit %d: %s", code, stderr)
	}
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(list))
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// onlyOne waits for the one approval that is in a status.
func onlyOne(t *testing.T, dir, status string) (id string) {
	t.Helper()
	eventually(t, "one approval is "+status, func() error {
		ids, err := approvals(t, dir, status)
		if err != nil {
			return err
		}
		if len(ids) != 1 {
			return fmt.Errorf("there are %q", ids)
		}
		id = ids[0]
		return nil
	})
	return id
}

func TestAHeldCallIsWokenByADecisionAndWithdrawnWhenItsClientGoes(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			dir, lines := approving(t, "approval: {mode: deferred, wait: 10m}\n")
			h := serve(t, dir)
			s := h.connect(protocol, nil)
			lists(t, s, "echo_append_line", true)
			type answer struct {
				r   *mcp.CallToolResult
				err error
			}
			call := func(ctx context.Context) <-chan answer {
				answered := make(chan answer, 1)
				go func() {
					r, err := s.CallTool(ctx, resumed(pending{}))
					answered <- answer{r, err}
				}()
				return answered
			}

			held := call(t.Context())
			id := onlyOne(t, dir, "pending")
			// Without the socket the command decides in the store, as any other
			// process would.
			if err := os.Remove(filepath.Join(dir, ".toolwharf", "control.sock")); err != nil {
				t.Fatal(err)
			}
			decide(t, dir, "approve", id)
			if a := <-held; a.err != nil || a.r.IsError {
				t.Errorf("approved: %v %+v", a.err, a.r)
			}
			held = call(t.Context())
			decide(t, dir, "deny", onlyOne(t, dir, "pending"))
			if a := <-held; a.err != nil || !a.r.IsError || a.r.Meta["toolwharf/error_code"] != "approval_declined" {
				t.Errorf("denied: %v %+v", a.err, a.r)
			}

			ctx, leave := context.WithCancel(t.Context())
			held = call(ctx)
			onlyOne(t, dir, "pending")
			leave()
			if a := <-held; !errors.Is(a.err, context.Canceled) {
				t.Errorf("the client that left: %v", a.err)
			}
			gone := onlyOne(t, dir, "withdrawn")
			if _, stderr, code := run(t, dir, "approvals", "approve", gone); code != 1 || !strings.Contains(stderr, "withdrawn") {
				t.Errorf("approving what was withdrawn: exit %d: %s", code, stderr)
			}
			if got, want := ran(t, lines), []string{"x 1"}; !slices.Equal(got, want) {
				t.Errorf("ran %q", got)
			}
		})
	}
}
