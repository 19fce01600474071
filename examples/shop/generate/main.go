// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Generate makes the shop's database: realistic in shape, invented in content,
// and the same for the same seed.
//
//	go run ./shop/generate -out shop/shop.db
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
)

func main() {
	out := flag.String("out", "shop.db", "the `file` to make")
	orders := flag.Int("orders", 12_000, "how many orders; the rest grows with them (12,000 make some 50,000 rows)")
	seed := flag.Uint64("seed", 1, "the same seed makes the same shop")
	force := flag.Bool("force", false, "make it anew if it is there")
	flag.Parse()
	if err := run(os.Stdout, *out, *orders, *seed, *force); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run makes the whole file or none: it is written beside its place and moved
// there when it is complete.
func run(w io.Writer, out string, orders int, seed uint64, force bool) error {
	if _, err := os.Stat(out); err == nil && !force {
		return fmt.Errorf("%s is there already; -force makes it anew", out)
	}
	unfinished := out + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("an unfinished one: %w", err)
	}
	rows, err := write(unfinished, newShop(seed, orders))
	if err == nil {
		err = os.Rename(unfinished, out)
	}
	if err != nil {
		_ = os.Remove(unfinished)
		return err
	}
	_, err = fmt.Fprintf(w, "made %s: %d rows\n", out, rows)
	return err
}
