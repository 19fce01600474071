// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package guard judges statements for PostgreSQL before the server sees them.
//
// The parser is PostgreSQL's own grammar (libpg_query), compiled to WebAssembly.
// What it makes of a text is held against allow-lists: of node types, operators,
// types, functions and tables. Whatever is on no list is refused, a construct
// of a grammar yet to come included.
//
// What a parser cannot know, the server's catalogue tells: which names call a
// function without looking like a call ([Policy].RowFunctions), and which names
// of built-in functions and operators somebody has taken for his own
// ([Policy].UserFunctions, [Policy].UserOperators). A guard relies on the session
// it judges for: search_path is the default schema alone, and
// standard_conforming_strings is on.
package guard
