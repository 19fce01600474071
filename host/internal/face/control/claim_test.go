// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// The role is a host that opens its socket once its standard input ends, says which
// it is, and serves.
func init() {
	roles["host"] = func() {
		fmt.Println("ready")
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		s, err := Listen(os.Getenv("STATE"), &Service{About: func() Host { return Host{PID: os.Getpid()} }}, nil, hclog.NewNullLogger())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(filepath.Base(s.Path()))
		_ = s.Serve()
	}
}

func TestOfHostsThatStartAtOnceOneHasTheFirstSocketAndNoneLosesItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		dir := state(t)
		dead(t, filepath.Join(dir, socketName)) // what each of them would remove
		const hosts = 6
		begin, start, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var lines [hosts]*bufio.Reader
		var pids [hosts]int
		for i := range hosts {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), role+"=host", "STATE="+dir)
			cmd.Stdin = begin
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			lines[i], pids[i] = bufio.NewReader(out), cmd.Process.Pid
			if line, err := lines[i].ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
		}
		_ = begin.Close()
		_ = start.Close()
		for range 20 { // and whoever asks meanwhile sweeps
			_, _ = Dial(dir)
		}
		first := 0
		for i := range hosts {
			line, err := lines[i].ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSpace(line)
			switch name {
			case socketName:
				first++
			case fmt.Sprintf("control-%d.sock", pids[i]):
			default:
				t.Fatalf("host %d has %s", pids[i], name)
			}
			if !served(filepath.Join(dir, name)) {
				t.Errorf("nobody serves at %s of host %d", name, pids[i])
			}
		}
		if first != 1 {
			t.Errorf("%d hosts have %s", first, socketName)
		}
	}
}
