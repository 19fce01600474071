// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"path/filepath"

	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// checkTrust refuses a configuration that others could change: whoever writes it
// decides what runs here, now that a change is taken over at once. What is
// mounted read-only, as Kubernetes and Docker do, nobody here can change.
func checkTrust(file string) error {
	if file == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		err = catalog.Trusted(filepath.Dir(file))
	}
	if err == nil {
		err = catalog.Trusted(real)
	}
	if err == nil || readOnly(file) && readOnly(real) {
		return nil
	}
	return fault.List{{
		File: file, Summary: "is not to be trusted: " + err.Error(),
		Detail: "only the host's user and root may be able to write the configuration",
	}}
}
