// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps what adapters have answered, as they have answered it, and lets
// equal calls that are on their way share one.
//
// What is kept is the adapter's own answer, before any filter: each caller's copy
// goes through hooks, output check, cap and redaction as they are when it is given,
// so a hook that came since, or a secret, holds for what was kept before.
package cache
