// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAResultThatIsTooLargeIsAResourceOfItsCallerAndOfNobodyElse(t *testing.T) {
	t.Parallel()
	ann, bob := newToken(t, "--client-id", "ann"), newToken(t, "--client-id", "bob")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {tokens: [%s, %s]}}\n", freePort(t), ann.entry(), bob.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(protocol, func(t *testing.T) {
			anns, bobs := h.connectWith(ann.header(), protocol, nil), h.connectWith(bob.header(), protocol, nil)
			lists(t, anns, "echo_big", true)
			r, err := anns.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_big", Arguments: map[string]any{"bytes": 2 * mib}})
			if err != nil {
				t.Fatal(err)
			}
			if !r.IsError || r.Meta["toolwharf/error_kind"] != "result_too_large" || len(r.Content) != 2 {
				t.Fatalf("%+v", r)
			}
			link, ok := r.Content[1].(*mcp.ResourceLink)
			if !ok || link.Size == nil || *link.Size != 2*mib+int64(len(`{"text":""}`)) || link.MIMEType != "application/json" {
				t.Fatalf("%+v", r.Content[1])
			}

			read, err := anns.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
			if err != nil {
				t.Fatal(err)
			}
			if c := read.Contents[0]; c.URI != link.URI || c.Text != `{"text":"`+strings.Repeat("x", 2*mib)+`"}` {
				t.Errorf("read %d bytes of %s", len(c.Text), c.URI)
			}

			// Everybody else is told what is said of a result that never was.
			other := "toolwharf://result/call_" + strings.Repeat("A", 26)
			_, hidden := bobs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
			_, unknown := bobs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: other})
			if hidden == nil || unknown == nil || strings.ReplaceAll(hidden.Error(), link.URI, other) != unknown.Error() {
				t.Errorf("%v, should be as %v", hidden, unknown)
			}

			eventually(t, "both readings are in the ledger", func() error {
				var got []string
				for _, row := range rows(t, dir) {
					if row["tool"] == "resources:"+link.URI {
						got = append(got, fmt.Sprint(row["outcome"], " ", row["error_code"]))
					}
				}
				if want := "[ok <nil> refused hidden]"; fmt.Sprint(got) != want {
					return fmt.Errorf("%v, want %s", got, want)
				}
				return nil
			})
		})
	}
}
