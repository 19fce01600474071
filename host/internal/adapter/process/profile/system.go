// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"path/filepath"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// everybody adds what any program may need of the system: certificates, time
// zones, names of hosts. None of it is a secret.
func (l *list) everybody() {
	l.add(sandbox.Read,
		"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust/extracted",
		"/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
		"/usr/share/zoneinfo", "/etc/localtime", "/etc/timezone",
		"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
		"/etc/mime.types", "/usr/share/mime/globs2",
		"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	)
	// What writes the list of name servers puts a new file in the place of the old.
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		if dir := filepath.Dir(real); strings.HasPrefix(dir, "/run/systemd/resolve") || dir == "/run/NetworkManager" || dir == "/run/resolvconf" {
			l.add(sandbox.Read, dir)
		}
	}
	l.add(sandbox.Device, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
}

// libraries adds the system's.
func (l *list) libraries() {
	l.add(sandbox.Read,
		"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local/lib", "/usr/local/lib64",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
		"/sys/devices/system/cpu",
	)
}

// interpreted adds what interpreters look at: their libraries, and how large the
// machine is. /proc/self is not among it: whose that is, is not known before the
// process is.
func (l *list) interpreted() {
	l.libraries()
	l.add(sandbox.Read,
		"/usr/share", "/usr/local/share",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/loadavg", "/proc/uptime",
		"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/max_map_count", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max",
		"/proc/sys/kernel/random", "/proc/sys/net/core/somaxconn",
	)
	for _, pattern := range []string{"/etc/python3*", "/etc/java*", "/etc/alternatives"} {
		found, _ := filepath.Glob(pattern)
		l.add(sandbox.Read, found...)
	}
}
