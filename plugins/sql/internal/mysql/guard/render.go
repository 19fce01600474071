// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/format"
)

// render writes a tree as text that reads the same under these modes.
func render(tree ast.StmtNode, m modes) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("restore: %v", r)
		}
	}()
	flags := format.RestoreStringSingleQuotes | format.RestoreNameBackQuotes |
		format.RestoreKeyWordUppercase | format.RestoreStringWithoutDefaultCharset |
		format.RestoreSpacesAroundBinaryOperation
	if !m.noBackslashEscapes {
		flags |= format.RestoreStringEscapeBackslash
	}
	var b strings.Builder
	if err := tree.Restore(format.NewRestoreCtx(flags, &b)); err != nil {
		return "", err
	}
	return b.String(), nil
}
