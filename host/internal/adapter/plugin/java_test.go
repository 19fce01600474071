// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

func TestAVirtualMachineOfJavaIsToldWhereItsDirectoriesAreAndHowMuchMemoryThereIs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	dir := t.TempDir()
	java, link, other := filepath.Join(dir, "java"), filepath.Join(dir, "link"), filepath.Join(dir, "javac")
	for _, path := range []string{java, other} {
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(java, link); err != nil {
		t.Fatal(err)
	}
	c := &cage{home: "/h", tmp: "/h/tmp"}
	const options = `JDK_JAVA_OPTIONS=-XX:-UsePerfData "-Duser.home=/h" "-Djava.io.tmpdir=/h/tmp"`
	for name, tc := range map[string]struct {
		program string
		desired adapter.Desired
		want    []string
	}{
		"another program": {other, adapter.Desired{}, []string{"HOME=/h", "TMPDIR=/h/tmp"}},
		"Java":            {java, adapter.Desired{}, []string{"HOME=/h", "TMPDIR=/h/tmp", options}},
		"a link to it":    {link, adapter.Desired{}, []string{"HOME=/h", "TMPDIR=/h/tmp", options}},
		"limited memory": {
			java,
			adapter.Desired{Limits: adapter.Limits{Memory: 512 << 20}},
			[]string{"HOME=/h", "TMPDIR=/h/tmp", options + " -XX:MaxRAM=536870912"},
		},
		"directories of its own": {
			java,
			adapter.Desired{Env: map[string]string{"TMPDIR": "/srv/t"}},
			[]string{"HOME=/h", `JDK_JAVA_OPTIONS=-XX:-UsePerfData "-Duser.home=/h" "-Djava.io.tmpdir=/srv/t"`},
		},
	} {
		if diff := cmp.Diff(tc.want, c.environment(&tc.desired, tc.program)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
