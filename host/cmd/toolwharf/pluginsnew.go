// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/toolwharf/toolwharf/host/internal/scaffold"
)

// checkout is set by the linker: where the sources of this program lay.
var checkout string

// checkouts are where the sources of this program may lie: as stamped, and as the
// compiler has it, unless that was told to leave it out.
func checkouts() []string {
	_, self, _, _ := runtime.Caller(0) //nolint:dogsled // only the file matters
	return []string{checkout, filepath.Join(filepath.Dir(self), "..", "..", "..")}
}

func (p *program) pluginsNew() *cobra.Command {
	var lang, sdk, module string
	c := &cobra.Command{
		Use: "new NAME [DIR]", Short: "Write the project of a new plugin", Args: cobra.RangeArgs(1, 2),
		Long: "New writes a project that builds, passes its tests and the conformance kit, and serves one tool: for you to\n" +
			"replace. It goes to ./NAME unless DIR says otherwise, which must be empty or not there.\n\n" +
			"A host that was built from a checkout writes `replace` lines for it; a release asks for the SDK of its version.",
		Example: "  toolwharf plugins new weather --lang go\n" +
			"  toolwharf plugins new weather src/weather --module example.com/me/weather\n" +
			"  toolwharf plugins new weather --sdk ~/src/toolwharf",
		RunE: func(c *cobra.Command, args []string) error {
			if lang != "go" {
				return &usageError{fmt.Errorf("--lang %q: go is what there is; docs/protocol.md is enough to write one in any language", lang)}
			}
			project := scaffold.Project{Name: args[0], Dir: args[0], Module: module}
			if len(args) > 1 {
				project.Dir = args[1]
			}
			err := project.Check()
			if err == nil {
				project.SDK, err = scaffold.FindSDK(sdk, checkouts(), version)
			}
			if err != nil {
				return &usageError{fmt.Errorf("plugins new: %w", err)}
			}
			return p.write(c, &project)
		},
	}
	flags := c.Flags()
	flags.StringVar(&lang, "lang", "go", "the `language`: go")
	flags.StringVar(&module, "module", "", "the Go `module` (default: example.com/NAME)")
	flags.StringVar(&sdk, "sdk", "", "a `checkout` of Toolwharf, or its sdk/go, to build with")
	_ = c.MarkFlagDirname("sdk")
	return c
}

// write writes the project and says what comes next.
func (p *program) write(c *cobra.Command, project *scaffold.Project) error {
	files, err := project.Write()
	if err != nil {
		return fmt.Errorf("plugins new: %w", err)
	}
	if p.json {
		return print(c, map[string]any{"name": project.Name, "dir": project.Dir, "sdk": project.SDK.String(), "files": files})
	}
	tidy := ""
	if project.SDK.Checkout == "" {
		tidy = "  go mod tidy         # fetches the SDK\n"
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "wrote %s: %d files, built with %s\n\nnext:\n  cd %[1]s\n%[4]s"+
		"  make build          # bin/%[5]s\n"+
		"  make test conformance\n"+
		"  bin/%[5]s call greet '{\"name\": \"Ada\"}'\n"+
		"  toolwharf dev .     # serves it while you write\n"+
		"and copy bin/%[5]s into a directory under plugins.dirs of a toolwharf.yaml: it serves at once.\n",
		project.Dir, len(files), project.SDK, tidy, project.Name)
	return err
}
