// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

// kind is one of the lists that clients ask for.
type kind int

// The kinds.
const (
	tools kind = iota
	resources
	templates
	prompts
	kinds
)

// key is where the list stands in a result.
func (k kind) key() string {
	return [kinds]string{"tools", "resources", "resourceTemplates", "prompts"}[k]
}

// mark tells a cursor of this list, in this form, from any other.
func (k kind) mark() string { return [kinds]string{"t1:", "r1:", "f1:", "p1:"}[k] }
