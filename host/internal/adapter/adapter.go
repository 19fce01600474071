// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package adapter is the adapters' wing: what an adapter should be (Desired),
// how it is started (Launcher) and what runs (Instance). Plugins and imported
// servers share one life.
package adapter

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Program is what is launched.
type Program struct {
	// Plugin is the plugin's name: the file's name without extension.
	Plugin string
	// Path is absolute, symbolic links resolved: an executable, or a folder.
	Path string
	// Command is a folder's; nil: Path is an executable.
	Command []string
	// Stamp changes when the file does, or anything in the folder.
	Stamp string
	// Pin is the hash that it must have; zero: any.
	Pin tool.Digest
}

// Argv is what is executed when the program lies at a path: its own, or that of
// a copy. The first word of a folder's command, unless it is absolute, and those
// that begin with ./ are files of the folder.
func (p *Program) Argv(at string) []string {
	if p.Command == nil {
		return []string{at}
	}
	argv := slices.Clone(p.Command)
	for i, word := range argv {
		if strings.HasPrefix(word, "./") || i == 0 && !filepath.IsAbs(word) {
			argv[i] = filepath.Join(at, filepath.FromSlash(word))
		}
	}
	return argv
}

// Desired is what one adapter should be. Two that are Equal need no restart.
type Desired struct {
	Name    string
	Program Program
	// Prefix of public names.
	Prefix string
	// Config is one JSON object with its secrets filled in; nil for none.
	Config []byte
	// Configured is false for a plugin that was dropped in and that nobody
	// has configured.
	Configured bool
	// MayAsk: it may put questions to clients' users.
	MayAsk bool
	// AllowURLs: its questions may send them to a URL.
	AllowURLs bool
	// PassPrincipal: it is told who calls.
	PassPrincipal bool
	// Env are variables beside those that the host sets.
	Env map[string]string
	// Dir is the working directory.
	Dir     string
	Limits  Limits
	Sandbox Sandbox
	// Terms are what the operator says of its tools. They change without a
	// restart: Digest does not cover them.
	Terms Terms
	// Locate says where a place of Config, an RFC 6901 pointer, stands in the
	// operator's file; nil: there is no file.
	Locate func(pointer string) string
}

// Sandbox is how an adapter's process is confined.
type Sandbox struct {
	// Off: not at all.
	Off bool
	// Strict: by all that there is, in namespaces, or it does not start.
	Strict bool
	// Allow is what the operator lets it reach, beside what its configuration
	// names. Paths may be relative to Dir.
	Allow []Grant
	// Private: names may lead to private addresses, where the host connects for it.
	Private bool
}

// GrantKind is a kind of access to something outside a process.
type GrantKind string

// The kinds; paths to read and write are files or everything beneath a directory,
// what is connected to is host:port.
const (
	GrantRead    GrantKind = "read"
	GrantWrite   GrantKind = "write"
	GrantConnect GrantKind = "connect"
)

// Grant is access to one thing.
type Grant struct {
	Kind  GrantKind `json:"kind"`
	Value string    `json:"value"`
}

// Limits of one adapter.
type Limits struct {
	// Timeout of one call.
	Timeout time.Duration
	// MaxInFlight calls at once.
	MaxInFlight int
	// Memory of all its processes together, in bytes; 0: any.
	Memory int64
	// Restarts within a minute before it backs off.
	Restarts int
	// StartTimeout from launch to the first catalogue.
	StartTimeout time.Duration
}

// Digest is what two equal ones share. It covers secrets: it is for comparing
// within one process and is not to be stored or shown.
func (d *Desired) Digest() tool.Digest {
	env := make([]string, 0, len(d.Env))
	for k, v := range d.Env {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	parts := []string{
		d.Name, d.Program.Plugin, d.Program.Path, fmt.Sprintf("%q", d.Program.Command), d.Program.Stamp, d.Program.Pin.String(), d.Prefix,
		string(d.Config), d.Dir, fmt.Sprintf("%v %v %v %v %+v %q", d.Configured, d.MayAsk, d.AllowURLs, d.PassPrincipal, d.Limits, fmt.Sprint(d.Sandbox)),
	}
	var b strings.Builder
	for _, p := range append(parts, env...) {
		fmt.Fprintf(&b, "%d:%s,", len(p), p)
	}
	return tool.DigestOf([]byte(b.String()))
}

// Origin is what an approval of a call is bound to, beside the tool: the
// program that would run it and its configuration. It is keyed, since it covers
// secrets and is stored.
func (d *Desired) Origin(key []byte, program tool.Digest) tool.Digest {
	same := *d
	same.Program = Program{Plugin: d.Program.Plugin} // where it lies, and since when, is no matter
	mac := hmac.New(sha256.New, key)
	digest := same.Digest()
	_, _ = mac.Write([]byte("toolwharf/origin/v1"))
	_, _ = mac.Write(digest[:])
	_, _ = mac.Write(program[:])
	return tool.Digest(mac.Sum(nil))
}

// Launcher starts instances. An error is a *StartError, or NeedsConfigError.
type Launcher interface {
	Start(context.Context, *Desired) (Instance, error)
}

// Instance is one running process, or one session with an imported server.
type Instance interface {
	tool.Runner
	// Catalogs yields the whole catalogue, and the whole of it again after
	// each change, until ctx or the instance ends. A second value that is not
	// nil ends it.
	Catalogs(ctx context.Context) iter.Seq2[Catalog, error]
	// Heed says of which resources it is to tell when their content changes:
	// these and no others.
	Heed(ctx context.Context, uris []string)
	// Health asks whether it can still serve.
	Health(ctx context.Context) error
	// Drain ends it: gracefully until ctx ends, then by force. It returns
	// once nothing of it is left.
	Drain(ctx context.Context) error
	// Done is closed once it has ended; Ended then says why.
	Done() <-chan struct{}
	Ended() error
	// About says what it is.
	About() About
}

// Catalog is everything that an adapter offers at one moment.
type Catalog struct {
	// Tools have no public name yet, and are not sealed.
	Tools []tool.Spec
	// Families are resources whose URI is a template.
	Resources, Families []tool.Resource
	// Prompts have their declared name.
	Prompts []tool.Prompt
	// Notes are remarks for the operator.
	Notes []string
}

// About is what an instance says of itself and what the host knows of it.
type About struct {
	Version, Title string
	PID            int
	// Program is the hash of what is executed.
	Program tool.Digest
	// Sandbox is what confines it, Reach what it may reach.
	Sandbox string
	Reach   []string
	// Memory is what bounds its memory, "" if nothing is to.
	Memory string
	// Notes are warnings about the configuration.
	Notes []string
}

// Phase is how far a start came.
type Phase string

// The phases of a start, in order.
const (
	PhaseLaunch    Phase = "launch"
	PhaseHandshake Phase = "handshake"
	PhaseDescribe  Phase = "describe"
	PhaseConfigure Phase = "configure"
	PhaseCatalog   Phase = "catalogue"
)

// StartError is a start that failed, and why.
type StartError struct {
	Phase Phase
	// Reason is one or more sentences for the operator.
	Reason string
	// Refused: the plugin has judged its configuration; the same again will
	// come to the same.
	Refused bool
	// Ended: the process ended by itself in the middle of it.
	Ended bool
	Err   error
}

// Error names the phase and the reason.
func (e *StartError) Error() string { return string(e.Phase) + ": " + e.Reason }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// NeedsConfigError is a plugin that was dropped in and cannot run without
// configuration.
type NeedsConfigError struct{ Plugin string }

// Error says what to do.
func (e *NeedsConfigError) Error() string {
	return fmt.Sprintf("plugin %s needs configuration: name it under adapters: in toolwharf.yaml", e.Plugin)
}

// UnpinnedError is a program that is not as it was pinned.
type UnpinnedError struct{ Reason string }

// Error says what to do.
func (e *UnpinnedError) Error() string { return e.Reason }
