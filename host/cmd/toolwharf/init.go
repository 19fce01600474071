// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func (p *program) initialise() *cobra.Command { return &cobra.Command{Use: "init"} }
func (p *program) connect() *cobra.Command    { return &cobra.Command{Use: "connect"} }
