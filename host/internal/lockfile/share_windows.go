// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"errors"
	"fmt"
)

// Share is not known here.
func Share(path, _ string) (*Lock, error) {
	return nil, fmt.Errorf("lock %s: shared locks: %w", path, errors.ErrUnsupported)
}
