// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withoutSDK are the plugins that are written from docs/protocol.md alone: the
// command that each is run by, and the files and directories that it is made of.
var withoutSDK = map[string]func(t *testing.T) (command, files []string){
	"python": func(t *testing.T) (command, files []string) {
		interpreter := absolute(t, "../../examples/python/.venv/bin/python")
		if _, err := os.Stat(interpreter); err != nil {
			absent(t, "the packages of examples/python are not installed")
		}
		return []string{interpreter, "./plugin.py"}, []string{"python/plugin.py", "../proto"}
	},
	"node": func(t *testing.T) (command, files []string) {
		return []string{node(t, "../../examples/node", "@grpc"), "./plugin.js"},
			[]string{"node/plugin.js", "node/package.json", "node/node_modules", "../proto"}
	},
	"java": func(t *testing.T) (command, files []string) {
		if _, err := os.Stat("../../examples/java/target/plugin/plugin.jar"); err != nil {
			absent(t, "examples/java is not built")
		}
		return []string{java(t), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", "./plugin.jar"},
			[]string{"java/target/plugin/plugin.jar", "java/target/plugin/lib"}
	},
}

// java is the program itself: what lies in /usr/bin is a link to it.
func java(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("java")
	if err != nil {
		absent(t, "Java is not installed")
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// eachWithoutSDK runs a test with each of them in a plugin directory.
func eachWithoutSDK(t *testing.T, yaml string, test func(t *testing.T, name, dir, plugins string)) {
	for name := range withoutSDK {
		t.Run(name, func(t *testing.T) {
			dir, plugins := workspace(t, yaml)
			moor(t, name, plugins)
			test(t, name, dir, plugins)
		})
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// moor makes a plugin without an SDK a folder of the directory, as its README
// says.
func moor(t *testing.T, name, plugins string) (folder string) {
	t.Helper()
	command, files := withoutSDK[name](t)
	made := filepath.Join(plugins, "."+name) // not looked at until it is whole
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	from := make([]string, len(files))
	for i, file := range files {
		from[i] = filepath.Join("../../examples", file)
	}
	if out, err := exec.Command("cp", append(append([]string{"-R"}, from...), made)...).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	manifest, err := json.Marshal(map[string][]string{"command": command}) // which is YAML too
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made, "plugin.yaml"), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(plugins, name)
	if err := os.Rename(made, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestAPluginWithoutAnSDKPassesTheConformanceKit(t *testing.T) {
	t.Parallel()
	for name := range withoutSDK {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the kit waits most of its time
			dir := t.TempDir()
			examples := absolute(t, filepath.Join("../../examples", name, "conformance", "examples.yaml"))
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, toolwharf, "plugins", "test", moor(t, name, dir), "--examples", examples)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestAPluginWithoutAnSDKJoinsAndAnswers(t *testing.T) {
	t.Parallel()
	large := fmt.Sprintf("http: {max_body: 8MiB, allow_anonymous: true, listen: %q}\napproval: deferred\n", freePort(t))
	eachWithoutSDK(t, large, func(t *testing.T, name, dir, _ string) {
		h := serve(t, dir)
		session := h.connect("", nil)
		lists(t, session, name+"_echo", true)
		call := func(t *testing.T, tool string, args map[string]any) *mcp.CallToolResult {
			t.Helper()
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name + "_" + tool, Arguments: args})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}

		t.Run("digits are kept", func(t *testing.T) {
			const digits = `[9007199254740993,1.10,12345678901234567890123,1e2]`
			headers, body := modern(1, "tools/call", name+"_echo", fmt.Sprintf(`"name":"%s_echo","arguments":{"value":%s}`, name, digits))
			m := h.rpc(t, headers, body)
			if !strings.Contains(string(m["result"]), `"structuredContent":{"value":`+digits+`}`) {
				t.Errorf("%s %s", m["result"], m["error"])
			}
		})
		t.Run("5 MiB there and back", func(t *testing.T) {
			const size = 5 << 20
			text := strings.Repeat("hello, berth 7;\n", size/16)
			r := call(t, "repeat", map[string]any{"text": text})
			if r.IsError {
				t.Fatalf("%+v %.200s", r.Meta, textOf(r))
			}
			var out struct{ Bytes int }
			structured(t, r, &out)
			// All of it came back from the plugin; the host gives 1 MiB.
			got, cut := strings.CutSuffix(textOf(r), "\n[cut: the result was longer than this host gives]")
			if out.Bytes != size || !cut || len(got) < 1<<20-100 || !strings.HasPrefix(text, got) {
				t.Errorf("%d bytes arrived, %d came back, cut: %v", out.Bytes, len(got), cut)
			}
		})
		t.Run("a result that is larger than the host takes is refused", func(t *testing.T) {
			r := call(t, "echo", map[string]any{"value": strings.Repeat("x", 7<<20)})
			if want := "the result has more than 7340032 bytes"; !r.IsError || textOf(r) != want || r.Meta["toolwharf/error_kind"] != "result_too_large" {
				t.Errorf("%+v %.200s", r.Meta, textOf(r))
			}
		})
		t.Run("an error is told to the model", func(t *testing.T) {
			r := call(t, "find", map[string]any{"name": "Ada"})
			if !r.IsError || textOf(r) != "there is no 'Ada' here" ||
				r.Meta["toolwharf/error_kind"] != "tool_error" || r.Meta["toolwharf/error_code"] != "not_found" {
				t.Errorf("%+v %q", r.Meta, textOf(r))
			}
		})
		if name != "java" { // the others only read
			return
		}
		t.Run("a tool that asks runs once an operator has approved", func(t *testing.T) {
			params := &mcp.CallToolParams{Name: name + "_jot", Arguments: map[string]any{"text": "x"}}
			r, err := session.CallTool(t.Context(), params)
			p := parked(t, r, err)
			decide(t, dir, "approve", p.approval)
			params.Meta = mcp.Meta{"toolwharf/run_id": p.run, "toolwharf/call_id": p.call}
			r, err = session.CallTool(t.Context(), params)
			if err != nil || r.IsError || textOf(r) != `{"notes":1}` {
				t.Errorf("%v, %+v %q", err, r, textOf(r))
			}
		})
	})
}

func TestAPluginWithoutAnSDKReportsProgressHeedsCancellationAndLogsByLevel(t *testing.T) {
	t.Parallel()
	eachWithoutSDK(t, "", func(t *testing.T, name, dir, _ string) {
		h := serve(t, dir)
		heard := make(chan float64, 100)
		client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				if r.Params.Total == 3 {
					heard <- r.Params.Progress
				}
			},
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.url}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		lists(t, session, name+"_count", true)

		params := &mcp.CallToolParams{Name: name + "_count", Arguments: map[string]any{"to": 3}}
		params.SetProgressToken("p")
		if r, err := session.CallTool(t.Context(), params); err != nil || r.IsError {
			t.Fatalf("%v, %+v", err, r)
		}
		eventually(t, "progress is heard", func() error {
			select {
			case <-heard:
				return nil
			default:
				return fmt.Errorf("nothing yet")
			}
		})
		h.logs("toolwharf.adapter."+name, "info", "count begins", `"to":3}`)

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name + "_count", Arguments: map[string]any{"to": 10_000}})
			ended <- err
		}()
		h.logs("toolwharf.adapter."+name, "info", "count begins", `"to":10000}`)
		cancel()
		if err := <-ended; err == nil {
			t.Error("a cancelled call came to a result")
		}
		h.logs("toolwharf.adapter."+name, "warn", "count is cancelled", `"counted":`)
	})
}

func TestAPluginWithoutAnSDKDrainsWhenRemovedIsRestartedWhenKilledAndDiesWithItsHost(t *testing.T) {
	t.Parallel()
	eachWithoutSDK(t, "", func(t *testing.T, name, dir, plugins string) {
		h := serve(t, dir)
		session := h.connect("", nil)
		lists(t, session, name+"_echo", true)
		echo := func(when string) {
			t.Helper()
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name + "_echo", Arguments: map[string]any{"value": when}})
			if err != nil || r.IsError {
				t.Fatalf("%s: %v, %+v %s", when, err, r, textOf(r))
			}
		}

		pid := h.adapters()[name].PID
		if err := os.RemoveAll(filepath.Join(plugins, name)); err != nil {
			t.Fatal(err)
		}
		lists(t, session, name+"_echo", false)
		eventually(t, "its process is gone", func() error { return gone(pid) })
		h.logs("toolwharf.adapter."+name, "debug", "plugin exited", "") // by itself: nobody had to kill it

		moor(t, name, plugins)
		lists(t, session, name+"_echo", true)
		echo("after it came back")

		killed := h.adapters()[name].PID
		if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		echo("after it was killed")
		eventually(t, "the killed process is reaped", func() error { return gone(killed) })

		pid = h.adapters()[name].PID
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it does not outlive its host", func() error { return gone(pid) })
	})
}
