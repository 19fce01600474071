// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

// What is asked of the shop.
const (
	queryTool = "shop_query"
	query     = "SELECT 1"
)
