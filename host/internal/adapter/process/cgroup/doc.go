// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgroup bounds the memory of everything that an adapter runs, by cgroup v2,
// where the host was given a part of it: a cgroup that a service manager has
// delegated to it, or the one of a container. Where that is not so, it says why. It
// touches nothing that was not given to the host.
package cgroup
