// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// prefix of the URIs of kept results. The scheme is the host's: no adapter can
// declare a resource of it.
const prefix = "toolwharf://result/"

// URI is that of the result of an id.
func URI(id string) string { return prefix + id }

// ID returns the id of the result that has this URI.
func ID(uri string) (id string, ok bool) {
	id, ok = strings.CutPrefix(uri, prefix)
	return id, ok && tool.IsID(tool.PrefixCall, id)
}
