// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package uritemplate matches URIs with RFC 6570 templates: the reverse of what
// the RFC defines, for the templates of which that is one value per variable.
//
// It knows {var}, {+var}, {#var}, {.var}, {/var}, {;var}, and at the end {?a,b}
// and {&a,b}, whose parameters may come in any order and be left out. Several
// variables elsewhere, the modifiers :n and *, and two expressions that touch are
// refused: what such templates expand to can be read in more than one way.
package uritemplate
