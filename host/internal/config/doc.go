// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package config reads toolwharf.yaml: YAML to a tree with lines, the tree
// against schema.json, the tree into structs, and the checks that no schema can
// make. All faults are reported at once, each with its key and line; one fault
// never hides another.
//
// schema.json is the one source of the file's shape, its texts and its
// defaults. A key that the schema knows and the host does not do yet is refused
// (see notBuilt): ignoring it would leave an operator with less protection
// than the file says.
//
// Adapters' configurations are opaque here but for the syntax of references to
// secrets, which stay unexpanded: the reconciler expands them when it starts an
// adapter. Plugins run with the file's directory as their working directory, so
// a relative path in an adapter's configuration, such as sqlite:orders.db, is
// left as it is and still starts at the file.
package config
