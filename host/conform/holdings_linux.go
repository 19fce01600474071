// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holdings are what a process and its descendants hold open, with how many
// there are: sockets, pipes, files; and the descendants themselves. What a
// runtime opens for itself (its own device, clocks, events) is none of it.
func holdings(pid int) (map[string]int, error) {
	held := map[string]int{}
	for _, p := range family(pid) {
		dir := fmt.Sprintf("/proc/%d/fd", p)
		entries, err := os.ReadDir(dir)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) && p != pid {
				continue // it has just ended
			}
			return nil, unjudgedf("what it has open cannot be seen: %v", err)
		}
		for _, e := range entries {
			target, err := os.Readlink(filepath.Join(dir, e.Name()))
			if err != nil || strings.HasPrefix(target, "anon_inode:") || within(target, "/dev", "/proc", "/sys") {
				continue
			}
			held[kindOf(target)]++
		}
		if p != pid {
			held["another process"]++
		}
	}
	return held, nil
}

// kindOf makes sockets and pipes countable: their numbers tell nothing.
func kindOf(target string) string {
	if kind, _, numbered := strings.Cut(target, ":["); numbered {
		return "a " + kind
	}
	return target
}

func within(path string, dirs ...string) bool {
	for _, d := range dirs {
		if path == d || strings.HasPrefix(path, d+"/") {
			return true
		}
	}
	return false
}

// family is a process and its descendants.
func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < 1000; i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			for field := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}
