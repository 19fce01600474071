// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
	"github.com/toolwharf/toolwharf/host/internal/workshop"
)

// dev has a flag --config of its own: the host's configuration is made here.
func (p *program) dev() *cobra.Command {
	var plugin, listen string
	c := &cobra.Command{
		Use: "dev DIR", Short: "Serve a plugin while it is being written", Args: cobra.ExactArgs(1),
		Long: "Dev builds the plugin in DIR, a Go program or a folder with a plugin.yaml, serves it on this machine, and builds\n" +
			"it again whenever a file is saved. A new build takes over without losing a call; while one fails, the one\n" +
			"before it serves on. Calls are shown as they come; those that need an approval are asked about here. What is\n" +
			"recorded is forgotten at the end.",
		Example: "  toolwharf dev ./weather\n  toolwharf dev ./mysql --config config.yaml --listen 127.0.0.1:8001",
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("log-level") {
				p.level = "error" // what matters is said here
			}
			return p.develop(c, args[0], plugin, listen)
		},
	}
	c.Flags().StringVarP(&plugin, "config", "c", "", "the plugin's configuration: a `file` of YAML or JSON, as under `config:` of an adapter")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8000", "the `address` to serve on")
	_ = c.MarkFlagFilename("config", "yaml", "yml", "json")
	return c
}

// session is one run of dev.
type session struct {
	*program

	c       *cobra.Command
	bench   *workshop.Bench
	config  *config.Config
	api     control.API
	talking sync.Mutex // lines are written and questions asked one after the other
}

func (p *program) develop(c *cobra.Command, source, plugin, listen string) (err error) {
	dir, err := os.MkdirTemp("", "toolwharf-dev-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plugins := filepath.Join(dir, "plugins")
	if err := os.Mkdir(plugins, 0o700); err != nil {
		return err
	}
	s := &session{program: p, c: c}
	s.bench, err = workshop.Open(source, plugins)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &absentError{err}
	case err != nil:
		return &usageError{err}
	}
	if s.config, err = devConfig(dir, source, s.bench.Name, plugin, listen); err != nil {
		return err
	}
	log := telemetry.NewLog(telemetry.Options{Level: p.level, Format: p.format, Out: os.Stderr})
	return s.run(log)
}

// devConfig makes the configuration of the host, also as a file, so that other
// commands find it by -c.
func devConfig(dir, source, name, plugin, listen string) (*config.Config, error) {
	base, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	text := map[string]any{
		"name": "dev", "state": filepath.Join(dir, "state"),
		"plugins":  map[string]any{"dirs": []string{filepath.Join(dir, "plugins")}, "builtin": false},
		"approval": map[string]any{"mode": "deferred", "wait": "10m"},
		"http":     map[string]any{"listen": listen},
	}
	if plugin != "" {
		raw, err := os.ReadFile(plugin)
		if err != nil {
			return nil, &usageError{err}
		}
		var own yaml.Node // kept as it is: references to secrets are the host's to follow
		if err := yaml.Unmarshal(raw, &own); err != nil {
			return nil, &usageError{fmt.Errorf("%s: %w", plugin, err)}
		}
		if len(own.Content) == 1 {
			text["adapters"] = map[string]any{name: map[string]any{"plugin": name, "config": own.Content[0]}}
		}
		if base, err = filepath.Abs(filepath.Dir(plugin)); err != nil {
			return nil, err
		}
	}
	data, err := yaml.Marshal(text)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), data, 0o600); err != nil {
		return nil, err
	}
	cfg, faults := config.Parse("the configuration of dev", data, base)
	return cfg, faults.Err()
}

// say writes one line.
func (s *session) say(format string, args ...any) {
	s.talking.Lock()
	defer s.talking.Unlock()
	_, _ = fmt.Fprintf(s.c.OutOrStdout(), "%s\n", printable(fmt.Sprintf(format, args...)))
}

func (s *session) run(log hclog.Logger) error {
	ctx, cancel := context.WithCancel(s.c.Context())
	// Not OwnProcess: compilers are children of this process too.
	host, err := app.Open(ctx, app.Options{Config: s.config, Version: version, Log: log})
	if err != nil {
		cancel()
		return err
	}
	s.api = host.API("http://" + s.config.HTTP.Listen + s.config.HTTP.Path)
	s.say("serving %s on http://%s%s; Ctrl-C ends it", s.bench.Name, s.config.HTTP.Listen, s.config.HTTP.Path)
	s.say("from elsewhere: toolwharf -c %s tools list", filepath.Join(filepath.Dir(s.config.State), "toolwharf.yaml"))
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.bench.Watch(ctx, func() { s.build(ctx) }); err != nil && ctx.Err() == nil {
			s.say("the sources are not watched any more: %v", err)
		}
	})
	all.Go(func() { s.showCalls(ctx) })
	all.Go(func() { s.attend(ctx) })
	err = host.ServeHTTP(ctx)
	cancel()
	all.Wait()
	return err
}

func (s *session) build(ctx context.Context) {
	begin := time.Now()
	// Whatever the author writes is accepted: nothing is compared with before.
	accept := func() { _ = os.Remove(app.Sightings(s.config).Path()) }
	changed, err := s.bench.Build(ctx, accept)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.say("build failed; what was built before serves on:\n%v", err)
	case changed:
		s.say("built in %s", time.Since(begin).Round(time.Millisecond))
	}
}

// showCalls shows each call as it ends.
func (s *session) showCalls(ctx context.Context) {
	reader, err := app.OpenLedger(ctx, s.config)
	if err != nil {
		s.say("calls are not shown: %v", err)
		return
	}
	defer func() { _ = reader.Close() }()
	for row, err := range reader.Tail(ctx, ledger.Query{}) {
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.say("calls are not shown any more: %v", err)
			return
		case row.Tool == "":
			continue // what the host itself records
		}
		why := strings.TrimSuffix(strings.Join([]string{string(row.Kind), row.Code, row.Detail}, " "), "  ")
		s.say("call %s: %s, %s %s", row.Tool, row.Outcome, row.Ended.Sub(row.Started).Round(10*time.Microsecond), why)
	}
}

// glance is how often is looked for what has changed.
const glance = 200 * time.Millisecond

// attend tells how the plugin does, and asks about calls that wait.
func (s *session) attend(ctx context.Context) {
	var told string
	asked := map[string]bool{}
	answers := s.answers()
	for tick := time.NewTicker(glance); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		if adapters, err := s.api.Adapters(ctx); err == nil {
			if state := s.stateOf(adapters); state != told {
				told = state
				s.say("%s", state)
			}
		}
		waiting, err := s.api.Approvals(ctx, "pending")
		if err != nil {
			continue
		}
		before := asked
		asked = map[string]bool{} // those that still wait
		for _, a := range waiting {
			asked[a.ID] = true
			if !before[a.ID] {
				s.ask(ctx, a, answers)
			}
		}
	}
}

func (s *session) stateOf(adapters []control.Adapter) string {
	for _, a := range adapters {
		switch {
		case a.Name != s.bench.Name:
		case a.Cause != "":
			return fmt.Sprintf("%s is %s: %s", a.Name, a.State, a.Cause)
		default:
			return strings.Join(append([]string{fmt.Sprintf("%s is %s: %d tools, process %d", a.Name, a.State, a.Tools, a.PID)}, a.Notes...), "\n  ")
		}
	}
	return s.bench.Name + " is not there yet"
}

// answers are the lines that are typed; none if nobody can type.
func (s *session) answers() <-chan string {
	if !isTerminal(s.c.InOrStdin()) {
		return nil
	}
	lines := make(chan string)
	go func() { // ends with the process: a read of a terminal cannot be given up
		for in := bufio.NewScanner(s.c.InOrStdin()); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return lines
}

// ask decides a call as the operator who sits here.
func (s *session) ask(ctx context.Context, a control.Approval, answers <-chan string) {
	if answers == nil {
		s.say("%s waits for an approval: toolwharf -c %s approvals approve %s", a.Tool,
			filepath.Join(filepath.Dir(s.config.State), "toolwharf.yaml"), a.ID)
		return
	}
	s.talking.Lock()
	defer s.talking.Unlock()
	select {
	case <-answers: // typed before there was a question
	default:
	}
	_, _ = fmt.Fprintf(s.c.OutOrStdout(), "%s of %s wants to run %s (%s) with\n%s\nrun it? [y/N] ",
		printable(a.Principal), printable(a.Adapter), printable(a.Tool), a.Effects, shownArgs(a.Args))
	select {
	case <-ctx.Done():
	case answer := <-answers:
		yes := strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
		if _, err := s.api.Decide(ctx, a.ID, control.Decision{Approve: yes}); err != nil {
			_, _ = fmt.Fprintf(s.c.OutOrStdout(), "%v\n", err)
		}
	}
}
