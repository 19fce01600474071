// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"os"
	"strconv"
	"strings"
	"testing"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// tables are the rows of the tables of docs/mcp.md, cell by cell.
func tables(t *testing.T) (page string, rows [][]string) {
	t.Helper()
	raw, err := os.ReadFile("../../../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !ok {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return string(raw), rows
}

func TestThePageHasTheCodeOfEachKind(t *testing.T) {
	_, rows := tables(t)
	for _, k := range []tool.Kind{
		tool.ArgsInvalid, tool.Denied, tool.ApprovalDenied, tool.ApprovalPending, tool.RateLimited, tool.BudgetExceeded, tool.ToolError,
		tool.ToolFailed, tool.Timeout, tool.Cancelled, tool.AdapterUnavailable, tool.OutcomeUnknown, tool.ResultTooLarge, tool.OutputInvalid,
	} {
		found := false
		for _, row := range rows {
			if row[0] != "`"+string(k)+"`" {
				continue
			}
			found = true
			if want := strconv.FormatInt(codeOf(k), 10); row[1] != want {
				t.Errorf("%s has the code %s, it is %s", k, row[1], want)
			}
		}
		if !found {
			t.Errorf("%s is missing", k)
		}
	}
}

func TestThePageNamesEachKeyOfMeta(t *testing.T) {
	page, _ := tables(t)
	for _, key := range []string{
		metaRun, metaCall, metaApproval, metaApprovalURL, metaErrorKind, metaErrorCode, metaRan, metaRetryAfter, metaRecorded, mcpsdk.MetaKeyLogLevel,
	} {
		if !strings.Contains(page, "`"+key+"`") {
			t.Errorf("%s is missing", key)
		}
	}
}
