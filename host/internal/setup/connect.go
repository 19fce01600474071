// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxClientFile bounds the file of a client.
const maxClientFile = 10 << 20

// Plan is what connecting a client would change. Nothing is written before
// Apply.
type Plan struct {
	Client  string // the client's name for people
	Path    string // the file that Apply writes; empty: there is only something to print
	Snippet string // the entry as JSON, to paste
	Command string // the client's own command for the same; empty: it has none
	Note    string // what to do afterwards
	Before  []byte // the file as it is; nil: there is none
	After   []byte // the file as it will be

	mode fs.FileMode
}

// Changed reports whether Apply would change anything.
func (p *Plan) Changed() bool { return p.Path != "" && !bytes.Equal(p.Before, p.After) }

// ErrNotRewritten is returned, with a Plan that can be printed, when the
// client's file cannot be edited without loss.
var ErrNotRewritten = errors.New("paste the entry by hand")

// Connect plans how the named client gets an entry for the host. Everything
// else in the client's file stays as it is, byte for byte; of an older entry of
// the same name, the keys that say how the host is reached are replaced. With
// an error that is ErrNotRewritten, the Plan still has what to print.
func Connect(name string, entry Entry, at Place) (*Plan, error) {
	c, err := find(name)
	if err != nil {
		return nil, err
	}
	if err := entry.check(); err != nil {
		return nil, err
	}
	form := c.stdio
	if entry.URL != "" {
		if form = c.http; form == nil {
			return nil, errors.New(c.noHTTP)
		}
	}
	body := form(entry)
	p := &Plan{Client: c.title, Snippet: snippet(c.section, entry.Name, body), Note: c.note, mode: 0o600}
	if c.command != nil {
		p.Command = c.command(entry)
	}
	if c.path == nil {
		return p, nil
	}
	path, err := target(c.path(at))
	if err != nil {
		return nil, err
	}
	p.Before, p.mode, err = readClientFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	if p.After, err = merge(p.Before, c.section, entry.Name, body); err != nil {
		err = fmt.Errorf("%s:%w", path, err)
		p.Before = nil
		return p, err
	}
	p.Path = path
	return p, nil
}

// target follows links: replacing a link would cut a file off from where its
// owner keeps it.
func target(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s: not an absolute path", path)
	}
	followed, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("%s: a link that leads nowhere", path)
		}
		return path, nil
	}
	return followed, err
}

func readClientFile(path string) (data []byte, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxClientFile+1))
	if err == nil && len(data) > maxClientFile {
		err = errors.New("larger than 10 MiB")
	}
	if data == nil {
		data = []byte{}
	}
	return data, info.Mode().Perm(), err
}

// Apply writes the file, the old one beside it as .bak. It refuses when the
// file has changed since Connect read it.
func (p *Plan) Apply() error {
	if !p.Changed() {
		return nil
	}
	now, _, err := readClientFile(p.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Path, plain(err))
	}
	if !bytes.Equal(now, p.Before) || (now == nil) != (p.Before == nil) {
		return fmt.Errorf("%s: has changed meanwhile: try again", p.Path)
	}
	if p.Before == nil {
		if err := os.MkdirAll(filepath.Dir(p.Path), 0o750); err != nil {
			return fmt.Errorf("%s: %w", p.Path, plain(err))
		}
	} else if err := replace(p.Path+".bak", p.Before, p.mode); err != nil {
		return fmt.Errorf("%s.bak: %w", p.Path, plain(err))
	}
	if err := replace(p.Path, p.After, p.mode); err != nil {
		return fmt.Errorf("%s: %w", p.Path, plain(err))
	}
	return nil
}
