// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

// named is what a configuration names.
type named struct {
	paths     []string
	addresses map[string]bool
}

// values collects what the strings of a configuration could mean: a path, relative
// to the directory that the plugin runs in or not, a URL, a DSN, host:port.
func values(d *adapter.Desired) *named {
	n := &named{addresses: map[string]bool{}}
	var tree any
	if json.Unmarshal(d.Config, &tree) == nil {
		n.collect(d.Dir, tree)
	}
	return n
}

func (n *named) collect(dir string, v any) {
	switch v := v.(type) {
	case string:
		n.text(dir, v)
	case []any:
		for _, item := range v {
			n.collect(dir, item)
		}
	case map[string]any:
		n.pair(v)
		for _, item := range v {
			n.collect(dir, item)
		}
	}
}

// pair takes an address whose host and port are written apart.
func (n *named) pair(v map[string]any) {
	host, _ := v["host"].(string)
	if host == "" {
		return
	}
	switch port := v["port"].(type) {
	case float64:
		n.at(host, strconv.FormatFloat(port, 'f', -1, 64))
	case string:
		n.at(host, port)
	}
}

func (n *named) at(host, port string) {
	host = strings.Trim(host, "[]")
	if host != "" && port != "" {
		n.addresses[strings.ToLower(joined(host, port))] = true
	}
}

// joined is host:port as a grant has it.
func joined(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}

// ports that a scheme has where none is written.
var ports = map[string]string{
	"http": "80", "https": "443", "ws": "80", "wss": "443", "postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306",
	"sqlserver": "1433", "mssql": "1433", "oracle": "1521", "mongodb": "27017", "redis": "6379", "rediss": "6379", "amqp": "5672", "amqps": "5671",
	"nats": "4222", "kafka": "9092", "clickhouse": "9000", "ldap": "389", "ldaps": "636", "smtp": "25", "smtps": "465", "imap": "143", "imaps": "993",
	"ssh": "22", "sftp": "22", "ftp": "21", "grpc": "443", "grpcs": "443",
}

var (
	// goDSN is user:password@tcp(host:port)/database, as drivers of MySQL have it.
	goDSN = regexp.MustCompile(`@tcp6?\(([^()]+)\)`)
	// keywords are host=... port=..., as libpq has it.
	hostKeyword = regexp.MustCompile(`(?:^|\s)host=([^\s']+)`)
	portKeyword = regexp.MustCompile(`(?:^|\s)port=([0-9]+)`)
	// bare is host:port by itself.
	bare = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):([0-9]{1,5})$`)
	// scheme is what a URL or a DSN begins with. One letter is a drive.
	scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):(.*)$`)
)

func (n *named) text(dir, s string) {
	if strings.ContainsRune(s, 0) || strings.TrimSpace(s) == "" {
		return
	}
	if m := bare.FindStringSubmatch(s); m != nil {
		n.at(m[1], m[2])
	}
	if m := goDSN.FindStringSubmatch(s); m != nil {
		if b := bare.FindStringSubmatch(m[1]); b != nil {
			n.at(b[1], b[2])
		} else {
			n.at(m[1], ports["mysql"])
		}
	}
	if m := hostKeyword.FindStringSubmatch(s); m != nil {
		port := ports["postgres"]
		if p := portKeyword.FindStringSubmatch(s); p != nil {
			port = p[1]
		}
		n.at(m[1], port)
	}
	m := scheme.FindStringSubmatch(s)
	if m == nil {
		n.file(dir, s)
		return
	}
	n.url(s)
	// sqlite:FILE, sqlite:///FILE, file:FILE?mode=ro
	path := m[2]
	if after, ok := strings.CutPrefix(path, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return // a host stands there
		}
		path = after
	}
	n.file(dir, path)
	path, _, _ = strings.Cut(path, "?")
	n.file(dir, path)
}

func (n *named) url(s string) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return
	}
	known := ports[strings.ToLower(u.Scheme)]
	for one := range strings.SplitSeq(u.Host, ",") { // postgres://a,b/db
		if b := bare.FindStringSubmatch(one); b != nil {
			n.at(b[1], b[2])
		} else {
			n.at(one, known)
		}
	}
}

func (n *named) file(dir, path string) {
	path = absolute(dir, path)
	// A path of a URL, a separator, "everything": no directory of this machine is
	// meant by it.
	if path == filepath.VolumeName(path)+string(filepath.Separator) {
		return
	}
	n.paths = append(n.paths, path)
}

// path reports whether a path is a named one, lies beneath one, or is what SQLite
// keeps beside one, and where it leads.
func (n *named) path(path string) (real string, ok bool) {
	for _, named := range n.paths {
		if real, ok = within(path, named); ok {
			return real, true
		}
	}
	return "", false
}

// within reports whether a path is root, lies beneath it, or is what SQLite keeps
// beside it, and where it leads. Whoever may write beneath root cannot lead it
// elsewhere.
func within(path, root string) (real string, ok bool) {
	path = filepath.Clean(path)
	if real = resolve(path); beneath(path, root) && beneath(real, resolve(root)) {
		return real, true
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if path == root+suffix {
			return resolve(root) + suffix, true
		}
	}
	return "", false
}

func (n *named) address(hostport string) bool { return n.addresses[strings.ToLower(hostport)] }
