// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package shop knows the orders of the example shop, and what servers of its
// database have to say when they are asked for one.
package shop
