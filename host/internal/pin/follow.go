// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"context"
	"fmt"
	"os"
	"time"
)

// pause is how often a file is looked at. Events would come too often: the
// state directory has the store in it.
const pause = time.Second

// Follow calls changed at once, and again whenever a file has changed, until ctx
// ends.
func Follow(ctx context.Context, path string, changed func()) {
	look := time.NewTicker(pause)
	defer look.Stop()
	var last os.FileInfo
	for first := true; ; first = false {
		now, err := os.Stat(path)
		if err != nil {
			now = nil
		}
		if first || !same(last, now) {
			changed()
		}
		last = now
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && stamp(a) == stamp(b)
}

func stamp(i os.FileInfo) string {
	return fmt.Sprint(i.Size(), i.ModTime().UnixNano(), i.Mode())
}
