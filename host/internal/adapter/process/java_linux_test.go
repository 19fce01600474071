// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/profile"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// probeJar is the test program, built.
func probeJar(t *testing.T, dir string) {
	t.Helper()
	for _, program := range []string{"java", "javac", "jar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("NOT TESTED HERE: there is no JDK: ", err)
		}
	}
	for _, args := range [][]string{
		{"javac", "-d", dir, "testdata/java/Probe.java"},
		{"sh", "-c", `cd "$0" && jar cfe probe.jar Probe Probe*.class && rm Probe*.class`, dir},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
}

func TestAJavaProgramHasInItsSandboxWhatAVirtualMachineNeeds(t *testing.T) {
	s := needsKernel(t)
	dir, err := os.MkdirTemp("", "java-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	probeJar(t, dir)
	link, err := exec.LookPath("java")
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		java string
		user int
	}{"by a link": {link, 0}, "by its path": {real, 0}, "as another user": {real, account.First}} {
		t.Run(name, func(t *testing.T) {
			if why := account.Possible(); why != nil && tc.user != 0 {
				t.Skip("no users can be given: ", why)
			}
			home, err := os.MkdirTemp(dir, "home-")
			if err != nil {
				t.Fatal(err)
			}
			tmp := filepath.Join(home, "tmp")
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.user != 0 {
				if err := errors.Join(os.Chown(home, tc.user, tc.user), os.Chown(tmp, tc.user, tc.user)); err != nil {
					t.Fatal(err)
				}
			}
			other := filepath.Join(dir, "other")
			if err := os.WriteFile(other, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			env := []string{
				"HOME=" + home, "TMPDIR=" + tmp, "OTHER=" + other, "SOCKET=" + filepath.Join(home, "s"), "LANG=C.UTF-8",
				`JDK_JAVA_OPTIONS=-XX:-UsePerfData "-Duser.home=` + home + `" "-Djava.io.tmpdir=` + tmp + `"`, // as the launcher has it
			}
			plugin := filepath.Join(dir, "plugin")
			if err := errors.Join(os.RemoveAll(plugin), os.Mkdir(plugin, 0o755)); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(filepath.Join(dir, "probe.jar"), filepath.Join(plugin, "probe.jar")); err != nil {
				t.Fatal(err)
			}
			rules, err := profile.Rules(profile.Program{Path: tc.java, Folder: plugin, Env: env})
			if err != nil {
				t.Fatal(err)
			}
			policy := sandbox.For(s, append(rules, sandbox.Rule{Path: home, Access: sandbox.Own}))
			policy.User = tc.user
			r := start(t, Spec{
				Path: tc.java, Args: []string{"-XX:TieredStopAtLevel=1", "-jar", filepath.Join(plugin, "probe.jar")},
				Dir: "/", Env: env, Sandbox: policy,
			})
			r.ends(t)
			if r.Exit() != "exit status 0" {
				t.Errorf("%s: %s", r.Exit(), r.LastWords())
			}
			said := report(t, home)
			for what, want := range map[string]string{
				"its jar": "true", "a temporary file": "true", "a library that it has unpacked": "true", "TLS": "true", "certificates": "true", "keys": "true",
				"random numbers": "true", "threads": "true", "a unix socket": "true", "its home": "true, true",
				"another file": "java.nio.file.AccessDeniedException", "a shell": "java.io.IOException", "a connection": "java.net.SocketException",
			} {
				if !strings.HasPrefix(said[what], want) {
					t.Errorf("%s: %q, want %s; its last words %q", what, said[what], want, r.LastWords())
				}
			}
		})
	}
}
