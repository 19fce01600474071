// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"encoding/json"
	"strings"
)

const header = `# Configuration of a Toolwharf host. Paths are relative to this file.
# Every key: toolwharf config schema. Check it: toolwharf validate.

`

const sqlTemplate = `adapters:
  %s:
    plugin: sql
    config:
      dsn: %s
      # Every table can be read. Narrow it to those that the agent needs,
      # such as [orders, customers].
      allowed_tables: ["*"]
`

const pluginsTemplate = `plugins:
  # Each program here that speaks toolwharf.plugin.v1 and needs no
  # configuration serves its tools at once.
  dirs: [%s]

# A plugin that needs configuration has an entry of its own:
# adapters:
#   orders:
#     plugin: sql
#     config:
#       dsn: sqlite:orders.db
`

const blank = `# Where tools come from. Each adapter is one process of a plugin.
# adapters:
#   orders:                        # its tools are called orders_...
#     plugin: sql
#     config:
#       dsn: sqlite:orders.db      # a secret is a reference: ${NAME} or ${file:/path}
#       allowed_tables: [orders]
#     limits:
#       timeout: 30s
#       max_in_flight: 16

# Where else plugins are looked for, beside those that came with the host.
# plugins:
#   dirs: []

# The HTTP endpoint; serve --stdio opens none.
# http:
#   listen: 127.0.0.1:8000
#   path: /mcp

# What the host keeps: the store, keys, the control socket.
# state: ./.toolwharf
`

const (
	noteSQL     = "Next: `toolwharf tools list`, then `toolwharf connect claude-code` (or another client).\nEvery table of %s can be read; narrow allowed_tables to what the agent needs.\n"
	notePlugins = "Next: `toolwharf plugins list`, then `toolwharf tools list`.\n"
	noteBlank   = "Next: take out the # before what you need, then `toolwharf validate`.\n"
)

// quote writes s as JSON text, which YAML's in double quotes is too.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("setup: " + err.Error()) // a string has no errors
	}
	return strings.TrimSuffix(b.String(), "\n")
}
