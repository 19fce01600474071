// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package httpface is the guarded HTTP server: it judges who may speak at all,
// on every route, before anything else does. The folder is called http, the
// package is not, so that net/http keeps its name.
package httpface
