// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook tells programs elsewhere of approvals, as Standard Webhooks
// (standardwebhooks.com) has it: JSON by POST, signed, at least once, under an id
// that stays the same.
//
// What is to be told lies in the store's outbox, so that a crash loses nothing and
// any host of the store delivers it. Whoever answers with 2xx was told. Anything
// else is tried again, ten times in about fourteen hours; then it is given up. A
// redirect is no answer: it would take what was signed for one place to another.
package webhook
