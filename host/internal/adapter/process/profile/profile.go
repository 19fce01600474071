// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// Program is what is to be run.
type Program struct {
	// Path is what is executed, absolute.
	Path string
	// Folder is the plugin's own; "": it is a single file.
	Folder string
	// Env is its environment.
	Env []string
}

// maxScripts is how many interpreters may be behind one another; the kernel has
// the same bound.
const maxScripts = 5

// Rules are what the program needs.
func Rules(p Program) ([]sandbox.Rule, error) {
	l := &list{seen: map[sandbox.Rule]bool{}}
	l.everybody()
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"} {
		l.add(sandbox.Read, variable(p.Env, name))
	}
	if p.Folder != "" {
		l.add(sandbox.Read, p.Folder)
		l.interpreted()
	}
	if err := l.program(p, p.Path, 0); err != nil {
		return nil, err
	}
	return l.rules, nil
}

// program adds what one executable needs: it, and whatever runs it.
func (l *list) program(p Program, path string, depth int) error {
	if depth > maxScripts {
		return fmt.Errorf("%s: too many interpreters behind one another", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	l.add(sandbox.Execute, path)
	if depth > 0 || p.Folder != "" { // an interpreter
		l.installation(path)
	}
	line, err := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if script, is := strings.CutPrefix(line, "#!"); is {
		return l.script(p, strings.Fields(script), depth)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return l.binary(f, path)
}

// script adds the interpreter of a script, and what that may start.
func (l *list) script(p Program, words []string, depth int) error {
	if len(words) == 0 {
		return errors.New("its first line names no interpreter")
	}
	l.interpreted()
	interpreter := words[0]
	if isShell(interpreter) { // its author chose to start programs
		l.add(sandbox.Execute, systemPrograms...)
		l.add(sandbox.Execute, p.Folder)
	}
	if err := l.program(p, interpreter, depth+1); err != nil {
		return err
	}
	if filepath.Base(interpreter) != "env" {
		return nil
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		found, err := lookUp(word, variable(p.Env, "PATH"))
		if err != nil {
			return err
		}
		if isShell(found) {
			l.add(sandbox.Execute, systemPrograms...)
			l.add(sandbox.Execute, p.Folder)
		}
		return l.program(p, found, depth+1)
	}
	return nil
}

// systemPrograms are where those of the system lie.
var systemPrograms = []string{"/bin", "/usr/bin", "/usr/local/bin"}

func isShell(path string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"}, filepath.Base(path))
}

// lookUp finds a program as env does, whose environment has a PATH or not.
func lookUp(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if path == "" {
		path = "/bin:/usr/bin"
	}
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s is not found in %s", name, path)
}

// variable is the last value of a variable; "" if there is none.
func variable(env []string, name string) string {
	value := ""
	for _, v := range env {
		if found, ok := strings.CutPrefix(v, name+"="); ok {
			value = found
		}
	}
	return value
}

// list collects rules of resolved paths, each once.
type list struct {
	rules []sandbox.Rule
	seen  map[sandbox.Rule]bool
}

// add adds what is there. Symbolic links are followed to where they lead now.
func (l *list) add(access sandbox.Access, paths ...string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real == "/" {
			continue
		}
		r := sandbox.Rule{Path: real, Access: access}
		if real != path {
			r.Named = path
		}
		if !l.seen[r] {
			l.seen[r] = true
			l.rules = append(l.rules, r)
		}
	}
}
