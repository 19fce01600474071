// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal: what is written to here is typed there.
func terminal(t *testing.T) (here, there *os.File) {
	t.Helper()
	here, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { _ = here.Close() })
	n, err := unix.IoctlGetInt(int(here.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(here.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	there, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	return here, there
}

func TestDevServesWhatIsWrittenAndAsksOnItsTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, stderr, code := run(t, dir, "plugins", "new", "weather"); code != 0 {
		t.Fatal(stderr)
	}
	edit := func(file, from, to string) {
		t.Helper()
		path := filepath.Join(dir, "weather", file)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatalf("%s has no %q: %v", file, from, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keyboard, tty := terminal(t)
	address := freePort(t)
	var out buffer
	h := &host{t: t, dir: dir, base: "http://" + address, url: "http://" + address + "/mcp", stderr: &buffer{}, done: make(chan error, 1)}
	h.cmd = exec.Command(toolwharf, "dev", "weather", "--listen", address)
	h.cmd.Dir, h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = dir, tty, &out, h.stderr
	h.cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { h.done <- h.cmd.Wait() }()
	t.Cleanup(h.stop)
	shows := func(what string) {
		t.Helper()
		eventually(t, "dev shows "+what, func() error {
			if !strings.Contains(out.String(), what) {
				return errors.New(out.String())
			}
			return nil
		})
	}
	eventually(t, "it serves", h.ready)
	session := h.connect("", nil)
	greets := func(want string) {
		t.Helper()
		eventually(t, "the call says "+want, func() error {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "weather_greet", Arguments: map[string]any{"name": "Ada"}})
			if err != nil {
				return fmt.Errorf("%w; dev shows\n%s", err, out.String())
			}
			if text, ok := r.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, want) {
				return fmt.Errorf("it says %+v", r.Content[0])
			}
			return nil
		})
	}
	greets("Hello, Ada!")
	shows("call weather_greet: ok, ")

	edit("main.go", `default:"Hello"`, `default:"Ahoy"`)
	greets("Ahoy, Ada!")

	edit("main.go", "func main() {", "func main() { oops")
	shows("build failed")
	shows("main.go:") // the compiler's words
	greets("Ahoy, Ada!")

	edit("main.go", "func main() { oops", "func main() {")
	edit("main.go", "toolwharf.ReadOnly())", "toolwharf.Additive())")
	ended := make(chan error, 1)
	eventually(t, "the tool has effects", func() error {
		for tool, err := range session.Tools(t.Context(), nil) {
			if err != nil {
				return err
			}
			if tool.Annotations == nil || tool.Annotations.ReadOnlyHint {
				return errors.New("it only reads")
			}
		}
		return nil
	})
	go func() {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "weather_greet", Arguments: map[string]any{"name": "Ada"}})
		if err == nil && r.IsError {
			err = fmt.Errorf("%+v", r.Content[0])
		}
		ended <- err
	}()
	shows("run it? [y/N]")
	if _, err := keyboard.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the approved call: %v", err)
	}
}

func TestDevRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, tc := range map[string]struct {
		code int
		args []string
	}{
		"neither a Go program nor a plugin.yaml": {2, []string{"dev", "."}},
		"no such file":                           {4, []string{"dev", "nowhere"}},
		"accepts 1 arg":                          {2, []string{"dev"}},
	} {
		if _, stderr, code := run(t, dir, tc.args...); code != tc.code || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s", tc.args, code, stderr)
		}
	}
}
