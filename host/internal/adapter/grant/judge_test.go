// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// place is a directory with what a host has in it.
func place(t *testing.T) (dir string, j *Judge) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"data/deep", "state", "plugins", "elsewhere"} {
		if err := os.MkdirAll(at(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("data/real.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": at("data"), "data/out": at("elsewhere"), "data/state": at("state"), "data/up": "..", "shop.db": at("data/real.db")} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, NewJudge([]Guarded{
		{What: "the state directory", Path: at("state"), Secret: true},
		{What: "the configuration", Path: at("toolwharf.yaml"), Secret: true},
		{What: "a directory of plugins", Path: at("plugins")},
	})
}

func TestAPluginGetsWhatItsConfigurationNamesAndNothingElse(t *testing.T) {
	dir, j := place(t)
	const unnamed = "its configuration does not name that; if it is to, list it under adapters.orders.sandbox.allow."
	for name, tc := range map[string]struct {
		config string
		asks   string // DIR stands for the directory
		leads  string // where the rule leads; "": to what is asked
		why    string // it is refused
	}{
		"a file by its absolute path":        {`{"f":"DIR/data/x"}`, "read DIR/data/x", "", ""},
		"a relative path":                    {`{"f":"data/x"}`, "read DIR/data/x", "", ""},
		"what is beneath a directory":        {`{"roots":["./data"]}`, "write DIR/data/deep/y", "", ""},
		"the directory itself":               {`{"roots":[{"at":"data/"}]}`, "write DIR/data", "", ""},
		"a database":                         {`{"dsn":"sqlite:shop2.db"}`, "read DIR/shop2.db", "", ""},
		"an absolute database":               {`{"dsn":"sqlite://DIR/shop2.db?mode=ro"}`, "read DIR/shop2.db", "", ""},
		"its log":                            {`{"dsn":"sqlite:shop2.db"}`, "read DIR/shop2.db-wal", "", ""},
		"its index":                          {`{"dsn":"sqlite:shop2.db"}`, "read DIR/shop2.db-shm", "", ""},
		"its journal":                        {`{"dsn":"sqlite:shop2.db"}`, "read DIR/shop2.db-journal", "", ""},
		"a database that a link leads to":    {`{"dsn":"sqlite:shop.db"}`, "read DIR/shop.db", "data/real.db", ""},
		"the log of that":                    {`{"dsn":"sqlite:shop.db"}`, "read DIR/shop.db-wal", "data/real.db-wal", ""},
		"a directory that a link leads to":   {`{"f":"link"}`, "read DIR/link/deep", "data/deep", ""},
		"a file beside":                      {`{"dsn":"sqlite:shop2.db"}`, "read DIR/shop2.db.bak", "", unnamed + "read"},
		"the directory above":                {`{"f":"data/x"}`, "read DIR/data", "", unnamed + "read"},
		"a name that begins alike":           {`{"f":"data"}`, "read DIR/database", "", unnamed + "read"},
		"a way out by ..":                    {`{"f":"data"}`, "read DIR/data/../elsewhere", "", unnamed + "read"},
		"a way out by a link within":         {`{"f":"data"}`, "read DIR/data/out", "", unnamed + "read"},
		"a way up by a link within":          {`{"f":"data"}`, "read DIR/data/up", "", unnamed + "read"},
		"everything, since a route is /":     {`{"route":"/"}`, "read /", "", unnamed + "read"},
		"anything, since a route is /":       {`{"route":"/"}`, "read /etc/shadow", "", unnamed + "read"},
		"anything, since something is empty": {`{"x":""}`, "read DIR/elsewhere", "", unnamed + "read"},
		"a relative grant":                   {`{"f":"data"}`, "read data", "", "not absolute"},
		"writing the state":                  {`{"f":"state"}`, "write DIR/state/x", "", "the state directory"},
		"reading the state":                  {`{"f":"state"}`, "read DIR/state", "", "the state directory"},
		"the state, by a link":               {`{"f":"data/state"}`, "read DIR/data/state", "", "the state directory"},
		"what holds the state":               {`{"f":"."}`, "read DIR", "", "the state directory"},
		"the configuration":                  {`{"f":"toolwharf.yaml"}`, "read DIR/toolwharf.yaml", "", "the configuration"},
		"writing plugins":                    {`{"f":"plugins"}`, "write DIR/plugins", "", "a directory of plugins"},
		"reading plugins":                    {`{"f":"plugins"}`, "read DIR/plugins", "", ""},
		"the host of a URL":                  {`{"u":"https://Api.Example/v1"}`, "connect api.example:443", "", ""},
		"its port":                           {`{"u":"http://api.example:8080/"}`, "connect api.example:8080", "", ""},
		"another port":                       {`{"u":"http://api.example:8080/"}`, "connect api.example:80", "", unnamed + "connect"},
		"another host":                       {`{"u":"http://api.example/"}`, "connect evil.example:80", "", unnamed + "connect"},
		"a host that is a user's name":       {`{"u":"http://evil.example:80@api.example/"}`, "connect evil.example:80", "", unnamed + "connect"},
		"a database server":                  {`{"dsn":"postgres://u:p@db/x"}`, "connect db:5432", "", ""},
		"several":                            {`{"dsn":"postgres://u:p@a,b:6000/x"}`, "connect b:6000", "", ""},
		"libpq's way":                        {`{"dsn":"host=db port=6000 user=u"}`, "connect db:6000", "", ""},
		"the way of MySQL's driver":          {`{"dsn":"u:p@tcp(db:3307)/x"}`, "connect db:3307", "", ""},
		"without a port":                     {`{"dsn":"u:p@tcp(db)/x"}`, "connect db:3306", "", ""},
		"host and port apart":                {`{"host":"db","port":99}`, "connect db:99", "", ""},
		"host:port":                          {`{"a":"[::1]:99"}`, "connect [::1]:99", "", ""},
		"an address without a port":          {`{"a":"db"}`, "connect db", "", unnamed + "connect"},
		"no kind of grant":                   {`{"a":"db"}`, "exec db", "", "no such grant"},
		"a path that is a host's":            {`{"u":"https://DIR/elsewhere"}`, "read DIR/elsewhere", "", unnamed + "read"},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
			if tc.config == `{"u":"https://DIR/elsewhere"}` {
				tc.config = `{"u":"https://host/elsewhere"}`
			}
			kind, value, _ := strings.Cut(in(tc.asks), " ")
			d := &adapter.Desired{Name: "orders", Dir: dir, Config: []byte(in(tc.config))}
			given, err := j.Give(d, []adapter.Grant{{Kind: adapter.GrantKind(kind), Value: value}})
			if tc.why != "" {
				if err == nil || !strings.Contains(err.Error(), tc.why) {
					t.Errorf("%+v %v", given, err)
				}
				return
			}
			if err != nil || len(given.Said) != 1 || given.Said[0] != kind+" "+value {
				t.Fatalf("%+v %v", given, err)
			}
			if kind == "connect" {
				if len(given.Ports) != 1 || !strings.HasSuffix(value, fmt.Sprint(given.Ports[0])) || given.Names == strings.HasPrefix(value, "[") {
					t.Errorf("%+v", given)
				}
				return
			}
			want := sandbox.Rule{Path: value, Access: sandbox.Read}
			if tc.leads != "" {
				want.Path, want.Named = filepath.Join(dir, tc.leads), value
			}
			if kind == "write" {
				want.Access = sandbox.Write
			}
			if len(given.Rules) != 1 || given.Rules[0] != want {
				t.Errorf("%+v, want %+v", given.Rules, want)
			}
		})
	}
}

func TestWhatIsGuardedMayChange(t *testing.T) {
	dir, j := place(t)
	d := &adapter.Desired{Name: "orders", Dir: dir, Config: []byte(`{"a":"data","b":"plugins"}`)}
	writes := func(name string) error {
		_, err := j.Give(d, []adapter.Grant{{Kind: adapter.GrantWrite, Value: filepath.Join(dir, name)}})
		return err
	}
	if writes("data") != nil || writes("plugins") == nil {
		t.Fatal(writes("data"), writes("plugins"))
	}
	j.Guard([]Guarded{{What: "a directory of plugins", Path: filepath.Join(dir, "data", "deep")}})
	if writes("data") == nil || writes("plugins") != nil {
		t.Error(writes("data"), writes("plugins"))
	}
}

func TestTheOperatorAllowsMoreButNotWhatTheHostLivesBy(t *testing.T) {
	dir, j := place(t)
	d := &adapter.Desired{Name: "orders", Dir: dir, Sandbox: adapter.Sandbox{Allow: []adapter.Grant{
		{Kind: adapter.GrantRead, Value: "elsewhere"}, {Kind: adapter.GrantConnect, Value: "192.0.2.1:99"},
	}}}
	ask := func(kind adapter.GrantKind, value string) error {
		_, err := j.Give(d, []adapter.Grant{{Kind: kind, Value: value}})
		return err
	}
	if given, err := j.Give(d, nil); err != nil || fmt.Sprint(given.Said) != "[connect 192.0.2.1:99 read elsewhere]" || given.Names ||
		len(given.Rules) != 1 || given.Rules[0].Path != filepath.Join(dir, "elsewhere") {
		t.Errorf("what nobody asks for: %+v %v", given, err)
	}
	if err := ask(adapter.GrantRead, filepath.Join(dir, "elsewhere", "x")); err != nil {
		t.Error(err)
	}
	if err := ask(adapter.GrantWrite, filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("it may write what it may only read")
	}
	if err := ask(adapter.GrantRead, filepath.Join(dir, "data")); err == nil {
		t.Error("it may read what is not allowed")
	}
	for _, g := range []adapter.Grant{{Kind: adapter.GrantWrite, Value: "plugins"}, {Kind: adapter.GrantRead, Value: "state/operator.token"}, {Kind: adapter.GrantWrite, Value: "/"}} {
		d.Sandbox.Allow = []adapter.Grant{g}
		if _, err := j.Give(d, nil); err == nil || !strings.Contains(err.Error(), "sandbox.allow lets it") {
			t.Errorf("%v: %v", g, err)
		}
	}
}

// What is a configuration comes from an operator; what is asked, from a stranger.
func FuzzWhatIsGivenLiesWithinWhatIsNamed(f *testing.F) {
	f.Add("data", "/d/data/x")
	f.Add("sqlite:a.db", "/d/a.db-wal")
	f.Add("https://h/x", "/x")
	f.Add("..", "/d/../x")
	j := NewJudge(nil)
	f.Fuzz(func(t *testing.T, named, asked string) {
		d := &adapter.Desired{Name: "a", Dir: "/d", Config: fmt.Appendf(nil, "{\"x\":%q}", named)}
		given, err := j.Give(d, []adapter.Grant{{Kind: adapter.GrantRead, Value: asked}})
		if err != nil {
			return
		}
		for _, r := range given.Rules {
			if r.Path == "/" || !filepath.IsAbs(r.Path) || filepath.Clean(r.Path) != r.Path {
				t.Errorf("%q and %q give %q", named, asked, r.Path)
			}
		}
	})
}
