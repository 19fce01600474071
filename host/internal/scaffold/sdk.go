// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The modules that a plugin is built with.
const (
	repository  = "github.com/toolwharf/toolwharf/"
	sdkModule   = repository + "sdk/go"
	protoModule = repository + "proto"
)

// SDK is the Go SDK that a project is built with: one in a checkout of this
// repository, or else a released version.
type SDK struct {
	// Checkout is the repository's directory, absolute; empty: a release.
	Checkout string
	// Version of the release.
	Version string
}

// release is a version that is to be had from everywhere.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

// FindSDK finds the SDK: what the user names, a checkout or its sdk/go, or the
// first of the checkouts that the host may have been built from that is still
// there, or the release that the host is of.
func FindSDK(named string, checkouts []string, version string) (SDK, error) {
	if named != "" {
		path, err := filepath.Abs(named)
		if err != nil {
			return SDK{}, err
		}
		for _, root := range []string{path, filepath.Join(path, "..", "..")} {
			if isCheckout(root) {
				return SDK{Checkout: root}, nil
			}
		}
		return SDK{}, fmt.Errorf("%s is neither a checkout of Toolwharf nor its folder sdk/go", named)
	}
	for _, root := range checkouts {
		if filepath.IsAbs(root) && isCheckout(root) {
			return SDK{Checkout: root}, nil
		}
	}
	if release.MatchString(version) {
		return SDK{Version: version}, nil
	}
	return SDK{}, errors.New("this host is no release, and the checkout that it was built from is not there: say by --sdk PATH where one is")
}

// isCheckout reports whether the SDK and the protocol lie in a directory.
func isCheckout(root string) bool {
	for dir, module := range map[string]string{"sdk/go": sdkModule, "proto": protoModule} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dir), "go.mod"))
		if err != nil || !strings.HasPrefix(string(text), "module "+module+"\n") {
			return false
		}
	}
	return true
}

// String says which it is.
func (s SDK) String() string {
	if s.Checkout != "" {
		return filepath.Join(s.Checkout, "sdk", "go")
	}
	return sdkModule + " " + s.Version
}

// requirement is a line of a go.mod that asks for a module.
var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?([^\s/]+\.[^\s]+) (v[^\s]+)(?: // indirect)?$`)

// goLine is the line of a go.mod that says which Go it is written in.
var goLine = regexp.MustCompile(`(?m)^go [0-9.]+$`)

// files are go.mod and, for a checkout, go.sum: with the very versions that the
// SDK is tested with, so that nothing has to be looked up.
func (s SDK) files(module string) ([]file, error) {
	if s.Checkout == "" {
		return []file{{"go.mod", fmt.Sprintf("module %s\n\ngo 1.26.0\n\nrequire %s %s\n", module, sdkModule, s.Version)}}, nil
	}
	dir := filepath.Join(s.Checkout, "sdk", "go")
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\n%s\n\nrequire %s v0.0.0\n\nrequire (\n", module, goLine.Find(mod), sdkModule)
	for _, m := range requirement.FindAllSubmatch(mod, -1) {
		fmt.Fprintf(&b, "\t%s %s // indirect\n", m[1], m[2])
	}
	b.WriteString(")\n\n// The SDK of a checkout; a release needs neither of these lines.\n")
	for _, r := range []struct{ module, dir string }{{protoModule, "proto"}, {sdkModule, "sdk/go"}} {
		fmt.Fprintf(&b, "replace %s => %s\n", r.module, quoted(filepath.Join(s.Checkout, filepath.FromSlash(r.dir))))
	}
	return []file{{"go.mod", b.String()}, {"go.sum", string(sum)}}, nil
}

// quoted is a path as a go.mod has it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`()[]{},;") {
		return strconv.Quote(path)
	}
	return path
}
