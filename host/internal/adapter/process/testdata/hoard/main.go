// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command hoard asks for MIB mebibytes of memory of a KIND, private or shared, once its
// limit is LIMIT bytes, and prints what came of it.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	flags := unix.MAP_PRIVATE | unix.MAP_ANON
	if os.Getenv("KIND") == "shared" {
		flags = unix.MAP_SHARED | unix.MAP_ANON
	}
	// The limit comes a moment after the start.
	limit := number("LIMIT")
	for now := (unix.Rlimit{}); limit != 0 && now.Cur != uint64(limit); time.Sleep(time.Millisecond) {
		_ = unix.Getrlimit(unix.RLIMIT_DATA, &now)
	}
	_, err := unix.Mmap(-1, 0, number("MIB")<<20, unix.PROT_READ|unix.PROT_WRITE, flags)
	fmt.Println(err)
}

func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(err)
	}
	return n
}
