// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestTheHandshakeLine(t *testing.T) {
	h := newTestHost(t)
	l := h.launch(t)
	want := regexp.MustCompile(`^1\|1\|unix\|` + regexp.QuoteMeta(h.env["PLUGIN_UNIX_SOCKET_DIR"]) + `/[^|/]+\|grpc\|[A-Za-z0-9+/]+\n$`)
	if !want.MatchString(l.line) {
		t.Fatalf("got %q\n%s", l.line, l.stderr)
	}
	info, err := os.Stat(l.fields()[3])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info.Mode(), err)
	}
}

func TestTheHandshakeLineAnswersAHostThatAsksAboutMultiplexing(t *testing.T) {
	h := newTestHost(t)
	h.env["PLUGIN_MULTIPLEX_GRPC"] = "true"
	if l := h.launch(t); !strings.HasSuffix(l.line, "|false\n") {
		t.Errorf("got %q", l.line)
	}
}

func TestWithoutADirectoryTheSocketLiesInAPrivateOne(t *testing.T) {
	h := newTestHost(t)
	h.env["TMPDIR"] = h.env["PLUGIN_UNIX_SOCKET_DIR"]
	delete(h.env, "PLUGIN_UNIX_SOCKET_DIR")
	l := h.launch(t)
	dir := filepath.Dir(l.fields()[3])
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the directory: %v %v", info, err)
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	if code := l.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s was left behind", dir)
	}
}

func TestAHostThatDoesNotFitIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]string
		want string
	}{
		"another protocol":   {map[string]string{"TOOLWHARF_PLUGIN": "toolwharf.plugin.v2"}, `the host speaks "toolwharf.plugin.v2"`},
		"another version":    {map[string]string{"PLUGIN_PROTOCOL_VERSIONS": "2,3"}, `the host offers the protocol versions "2,3"`},
		"no version":         {map[string]string{"PLUGIN_PROTOCOL_VERSIONS": ""}, `the host offers the protocol versions ""`},
		"no certificate":     {map[string]string{"PLUGIN_CLIENT_CERT": ""}, "the host gave no certificate"},
		"no PEM certificate": {map[string]string{"PLUGIN_CLIENT_CERT": "x"}, "is not a PEM certificate"},
		"a wrong port":       {map[string]string{"PLUGIN_MIN_PORT": "x"}, `PLUGIN_MIN_PORT: "x" is not a port`},
		"crossed ports":      {map[string]string{"PLUGIN_MIN_PORT": "30000"}, "is above PLUGIN_MAX_PORT"},
		"no such directory":  {map[string]string{"PLUGIN_UNIX_SOCKET_DIR": "/nowhere"}, "no such file or directory"},
		"a long directory":   {map[string]string{"PLUGIN_UNIX_SOCKET_DIR": "/" + strings.Repeat("x", 100)}, "use a shorter directory"},
		"no such group":      {map[string]string{"PLUGIN_UNIX_SOCKET_GROUP": "no such group"}, `giving the socket to the group "no such group"`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHost(t)
			maps.Copy(h.env, c.set)
			l := h.launch(t)
			if l.line != "" {
				t.Errorf("stdout: %q", l.line)
			}
			if code := l.exitCode(t); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if got := l.stderr.String(); !strings.HasPrefix(got, "harbour: cannot serve: ") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPluginThatIsNotRightNamesAllItsFaults(t *testing.T) {
	h := newTestHost(t)
	h.env[testPlugin] = "wrong"
	l := h.launch(t)
	if code := l.exitCode(t); code != 1 || l.line != "" {
		t.Errorf("exit code %d, stdout %q", code, l.line)
	}
	for _, want := range []string{
		`the plugin's name "Wrong" does not match`, "Check judges a toolwharf.basinConfig", `tool "twice": added twice`,
		`tool "bad name": the name`, `tool "effects": more than one of`, `tool "schema": InputSchema: the root`,
		`tool "schema": OutputSchema: not a JSON`, `tool "large": a schema of`, `tool "tags": tag ""`,
		`.N: default "x" is not JSON`, `tool "result": result:`,
		`tool "meta": Meta is not`, `tool "meta": Requires is not`, `tool "meta": the source of an icon`, `Offers: "sails" is no feature`,
		`resource "r:twice": added twice`, `resource "no scheme": the URI has no scheme`, `resource "no scheme": it has no name`,
		`resource "no scheme": Complete is for templates`, `resource "r:chan": contents: `,
		`template "t:{id}": variables: `, `field "other": is given as text`, `template "t:{id": the template {id is not closed`, `template "t:{id": Size is for`,
		`has no field for the variable "more"`, `field "q" is required, and a variable of the query may be absent`,
		`Complete: "id" is completed by a toolwharf.basin, but the plugin's state is a toolwharf.None`, `Complete: "q" is completed twice`,
		`Complete: there is no argument "nothing"`, `template "t:{q}": toolwharf.query: field "id" is no variable of the template`,
		`prompt "p q": the name`, `prompt "p q": arguments: `, `prompt "p q": int is no prompt`, `prompt "p": added twice`, `AddBeforeTool: added twice`,
		`tool "asks": question "login": `, `field "password": asks for a secret`,
	} {
		if !strings.Contains(l.stderr.String(), want) {
			t.Errorf("missing %q in\n%s", want, l.stderr)
		}
	}
}

func TestOnlyTheHostGetsIn(t *testing.T) {
	h := newTestHost(t)
	l := h.launch(t)
	stranger := newTestHost(t).cert
	for name, conn := range map[string]interface {
		pluginv1.PluginServiceClient
	}{
		"no certificate":      pluginv1.NewPluginServiceClient(h.dial(t, l, nil)),
		"another certificate": pluginv1.NewPluginServiceClient(h.dial(t, l, &stranger)),
		"no TLS":              pluginv1.NewPluginServiceClient(connect(t, l.fields()[2], l.fields()[3], nil)),
	} {
		if _, err := conn.Describe(t.Context(), new(pluginv1.DescribeRequest)); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := pluginv1.NewPluginServiceClient(h.dial(t, l, &h.cert)).Describe(t.Context(), nil); err != nil {
		t.Errorf("the host: %v", err)
	}
}

func TestDescribeNeedsNoConfiguration(t *testing.T) {
	m := moor(t)
	got, err := m.plugins.Describe(t.Context(), new(pluginv1.DescribeRequest))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got.GetConfigSchema()), `"token":{"type":"string","description":"not used","writeOnly":true}`) {
		t.Errorf("config schema: %s", got.GetConfigSchema())
	}
	got.ConfigSchema = nil
	want := &pluginv1.DescribeResponse{
		Name: "harbour", Version: "0.1.0", Title: "Harbour", Description: "For tests.", Features: []string{"tools"},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsServedBeforeAConfiguration(t *testing.T) {
	m := moor(t)
	watch, err := m.plugins.Watch(t.Context(), new(pluginv1.WatchRequest))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("Watch: %v", err)
	}
	call, err := m.tools.CallTool(t.Context(), &pluginv1.CallToolRequest{Tool: "greet"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Recv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("CallTool: %v", err)
	}
}

func TestConfigureJudges(t *testing.T) {
	m := moor(t)
	grant := func(k pluginv1.GrantKind, v string) *pluginv1.Grant { return &pluginv1.Grant{Kind: k, Value: v} }
	always := []*pluginv1.Grant{
		grant(pluginv1.GrantKind_GRANT_KIND_WRITE, "/var/tmp"), grant(pluginv1.GrantKind_GRANT_KIND_CONNECT, "localhost:5432"),
	}
	fault := func(pointer, summary, detail string) *pluginv1.Diagnostic {
		return &pluginv1.Diagnostic{Severity: pluginv1.Severity_SEVERITY_ERROR, Pointer: pointer, Summary: summary, Detail: detail}
	}
	for _, c := range []struct {
		config string
		want   *pluginv1.ConfigureResponse
	}{
		{`{"dirs":["/a","b","c"]}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{fault("/dirs/1", "must be absolute", ""), fault("/dirs/2", "must be absolute", "")},
			Grants: append([]*pluginv1.Grant{
				grant(pluginv1.GrantKind_GRANT_KIND_READ, "/a"), grant(pluginv1.GrantKind_GRANT_KIND_READ, "b"),
				grant(pluginv1.GrantKind_GRANT_KIND_READ, "c"),
			}, always...),
		}},
		{`{"greeting":7}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{fault("/greeting", "must be text", "")},
		}},
		{`{"wait":"1ms"}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{fault("/wait", "must be at least 1s", "")},
		}},
		{`{"greeting":"panic","token":"s3cret"}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{fault("", "the plugin panicked in check: its log has the stack", "")},
		}},
		{`{"greeting":"refuse"}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{fault("/greeting", "refused", "choose another"), fault("", "and so on", "")}, Grants: always,
		}},
		{`{"greeting":"nothing"}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{fault("", "the plugin opened nothing and gave no reason", "")}, Grants: always,
		}},
		{`{"greeting":"Hi"}`, &pluginv1.ConfigureResponse{
			Diagnostics: []*pluginv1.Diagnostic{{Severity: pluginv1.Severity_SEVERITY_WARNING, Pointer: "/greeting", Summary: "rather short"}},
			Grants:      always,
		}},
	} {
		got := m.configure(t, &pluginv1.ConfigureRequest{Config: []byte(c.config)})
		if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s:\n%s", c.config, diff)
		}
	}
}

func TestCheckOnlyOpensNothing(t *testing.T) {
	m := moor(t)
	got := m.configure(t, &pluginv1.ConfigureRequest{Config: []byte(`{"greeting":"refuse"}`), CheckOnly: true})
	if len(got.GetDiagnostics()) != 0 || len(got.GetGrants()) != 2 {
		t.Errorf("got %v", got)
	}
	watch, err := m.plugins.Watch(t.Context(), new(pluginv1.WatchRequest))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("Watch: %v", err)
	}
}

func TestACallFromEndToEnd(t *testing.T) {
	m := moor(t)
	m.configure(t, &pluginv1.ConfigureRequest{
		Config: []byte(`{"token":"s3cret","wait":"1m"}`), Adapter: "north", CacheDir: "/cache",
		Limits: &pluginv1.Limits{MaxResultBytes: 1 << 21, MaxInFlight: 4, CallTimeout: durationpb.New(time.Second)},
	})
	if line := m.stderr.wait(t, `"opened"`, `"adapter":"north"`); strings.Contains(line, "s3cret") {
		t.Errorf("a secret in the log: %s", line)
	}

	t.Run("the catalogue comes once and the stream stays", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		watch, err := m.plugins.Watch(ctx, new(pluginv1.WatchRequest))
		if err != nil {
			t.Fatal(err)
		}
		first, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		want := &pluginv1.Tool{
			Name: "greet", Description: "Greet.", Effects: pluginv1.Effects_EFFECTS_READ_ONLY, Tags: []string{"polite"},
			InputSchema: []byte(`{"type":"object","properties":{"name":{"type":"string"},"loud":{"type":"boolean","default":true}},` +
				`"required":["name"],"additionalProperties":false}`),
			OutputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string"},"names":{"type":"array","items":{"type":"string"}},` +
				`"wait":{"type":"string","pattern":"^(0|[+-]?([0-9]+(\\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$"}},` +
				`"required":["text","names","wait"],"additionalProperties":false}`),
		}
		if diff := cmp.Diff(want, first.GetCatalog().GetTools()[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		cancel()
		if _, err := watch.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("arguments, defaults and structured results", func(t *testing.T) {
		got := m.call(t, "greet", `{"name":"Ada"}`)
		if string(got.result.GetStructured()) != `{"text":"Hello, Ada!","names":[],"wait":"1m0s"}` || got.result.GetContent() != nil {
			t.Errorf("got %v", got)
		}
	})
	t.Run("numbers keep their digits", func(t *testing.T) {
		args := `{"id":9007199254740993,"value":[9007199254740993,1.10,1e400],"raw":{"z":1.0e5,"a":9007199254740993}}`
		if got := m.call(t, "numbers", args); string(got.result.GetStructured()) != args {
			t.Errorf("got %s, %v", got.result.GetStructured(), got.err)
		}
	})
	t.Run("what decoding refuses is args_invalid", func(t *testing.T) {
		got := m.call(t, "numbers", `{"id":1e30}`).err
		want := &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID, Code: "invalid_args", Ran: pluginv1.Ran_RAN_NO,
			Text: "id: must be an integer of type int64",
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a panic fails the call and the process lives", func(t *testing.T) {
		got := m.call(t, "boom", ``).err
		if got.GetKind() != pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED || got.GetCode() != "panic" || got.GetText() != "" || got.GetDetail() != "panic: boom" {
			t.Errorf("got %v", got)
		}
		m.stderr.wait(t, `"@level":"error"`, `"tool":"boom"`, `"call_id":"call_1"`, "harbour_test.go")
		if got := m.call(t, "greet", `{"name":"Ada"}`); got.result == nil {
			t.Errorf("afterwards: %v", got)
		}
	})
	t.Run("any other error is a fault whose text the model never sees", func(t *testing.T) {
		got := m.call(t, "fail", ``).err
		want := &pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "internal", Detail: "dsn=secret"}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an unknown tool", func(t *testing.T) {
		if got := m.call(t, "nix", ``).err; got.GetCode() != "unknown_tool" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a large result comes in parts", func(t *testing.T) {
		got := m.call(t, "big", `{"bytes":1048577}`)
		if got.parts != 5 || len(got.result.GetStructured()) != 1<<20+1 || !json.Valid(got.result.GetStructured()) {
			t.Errorf("got %d parts, %d bytes, %v", got.parts, len(got.result.GetStructured()), got.err)
		}
		if got := m.call(t, "big", `{"bytes":1048576}`); got.parts != 0 || len(got.result.GetStructured()) != 1<<20 {
			t.Errorf("got %d parts", got.parts)
		}
	})
	t.Run("a result beyond the limit is refused with both sizes", func(t *testing.T) {
		got := m.call(t, "big", `{"bytes":2097153}`)
		want := &pluginv1.CallError{
			Kind: pluginv1.ErrorKind_ERROR_KIND_RESULT_TOO_LARGE, Code: "result_too_large", Ran: pluginv1.Ran_RAN_YES,
			Text: "the result has 2097153 bytes, the limit is 2097152",
		}
		if diff := cmp.Diff(want, got.err, protocmp.Transform()); diff != "" || got.parts != 0 {
			t.Error(got.parts, diff)
		}
	})
	t.Run("blocks, meta and cost", func(t *testing.T) {
		got := m.call(t, "blocks", `{"Count":2,"Bytes":3}`)
		if got.parts != 0 || len(got.result.GetContent()) != 2 || got.result.GetContent()[1].GetText().GetText() != "yyy" ||
			string(got.result.GetMeta()) != `{"k":1}` || got.result.GetUsage().GetCost() != "0.004" || got.result.Structured != nil {
			t.Errorf("got %v", got)
		}
		got = m.call(t, "blocks", `{"Count":2,"Bytes":600000}`)
		if got.parts != 2 || len(got.result.GetContent()) != 2 || string(got.result.GetMeta()) != `{"k":1}` {
			t.Errorf("got %d parts", got.parts)
		}
	})
	t.Run("stray prints and logs go to stderr", func(t *testing.T) {
		m.call(t, "print", `{"Text":"stray"}`)
		m.stderr.wait(t, "stray")
		line := m.stderr.wait(t, `"printed"`)
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", got["@timestamp"].(string)); err != nil {
			t.Error(err)
		}
		delete(got, "@timestamp")
		want := map[string]any{
			"@level": "warn", "@message": "printed", "@module": "harbour", "call_id": "call_1", "level": "a level", "secret": "***",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what a call knows", func(t *testing.T) {
		var got infoOut
		if err := json.Unmarshal([]byte(strings.Replace(string(m.call(t, "info", ``).result.GetStructured()), `"1s"`, `1000000000`, 1)), &got); err != nil {
			t.Fatal(err)
		}
		want := infoOut{
			Call{ID: "call_1", Attempt: 2, RunID: "run_1", ProtocolVersion: "2026-07-28", WantsProgress: true, Principal: "ada"},
			Adapter{Name: "north", CacheDir: "/cache", Limits: Limits{MaxResultBytes: 1 << 21, MaxInFlight: 4, CallTimeout: time.Second}},
		}
		got.Call.ClientCapabilities = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("messages to the client", func(t *testing.T) {
		for level, want := range map[string]int{"info": 0, "warning": 1, "alert": 1} {
			got := m.send(t, &pluginv1.CallToolRequest{
				Tool: "hail", Arguments: []byte(`{"Level":"` + level + `"}`),
				Context: &pluginv1.CallContext{LogLevel: pluginv1.LogLevel_LOG_LEVEL_WARNING},
			})
			if len(got.log) != want || got.result == nil || want > 0 && string(got.log[0].GetData()) != `{"ahoy":"`+level+`"}` {
				t.Errorf("%s: got %v", level, got)
			}
		}
		if got := m.call(t, "hail", `{"Level":"emergency"}`); len(got.log) > 0 {
			t.Errorf("unasked: %v", got.log)
		}
	})
	t.Run("cancelling the stream cancels the work", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := m.tools.CallTool(ctx, &pluginv1.CallToolRequest{
			Tool: "block", Context: &pluginv1.CallContext{CallId: "call_2", WantsProgress: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		first, err := stream.Recv()
		if err != nil || first.GetProgress().GetMessage() != "blocked" || first.GetProgress().GetTotal() != 2 {
			t.Fatalf("got %v, %v", first, err)
		}
		cancel()
		m.stderr.wait(t, `"unblocked"`, `"call_2"`, "context canceled")
	})
	t.Run("a deadline ends the work", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		stream, err := m.tools.CallTool(ctx, &pluginv1.CallToolRequest{Tool: "block", Context: &pluginv1.CallContext{CallId: "call_3"}})
		if err != nil {
			t.Fatal(err)
		}
		// Both ends have a clock: whichever is first says so.
		got, err := gather(stream)
		if status.Code(err) != codes.DeadlineExceeded && got.err.GetKind() != pluginv1.ErrorKind_ERROR_KIND_TIMEOUT {
			t.Errorf("got %v, %v", got, err)
		}
		m.stderr.wait(t, `"unblocked"`, `"call_3"`)
	})
	t.Run("a second configuration replaces the state and closes the first", func(t *testing.T) {
		m.configure(t, &pluginv1.ConfigureRequest{Config: []byte(`{"greeting":"Hi"}`)})
		m.stderr.wait(t, `"closed"`, `"greeting":"Hello"`)
		if got := m.call(t, "greet", `{"name":"Ada","loud":false}`); string(got.result.GetStructured()) != `{"text":"Hi, Ada","names":[],"wait":"5s"}` {
			t.Errorf("got %v", got)
		}
		m.configure(t, &pluginv1.ConfigureRequest{Config: []byte(`{"greeting":"refuse"}`)})
		if got := m.call(t, "greet", `{"name":"Ada","loud":false}`); got.result == nil {
			t.Errorf("a refused configuration took the state away: %v", got)
		}
	})
	t.Run("services that are not there are unimplemented", func(t *testing.T) {
		_, err := pluginv1.NewCompletionServiceClient(m.conn).Complete(t.Context(), new(pluginv1.CompleteRequest))
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("got %v", err)
		}
	})
	t.Run("messages may have sixteen mebibytes", func(t *testing.T) {
		got := m.call(t, "greet", `{"name":"`+strings.Repeat("x", 5<<20)+`"}`)
		if got.err == nil && len(got.result.GetStructured()) < 5<<20 {
			t.Errorf("got %v", got)
		}
	})
}

func TestACallThatAsksGoesOnWithTheAnswers(t *testing.T) {
	m := moor(t)
	m.configure(t, new(pluginv1.ConfigureRequest))
	round := func(args string, answers map[string]string, state []byte) outcome {
		t.Helper()
		req := &pluginv1.CallToolRequest{
			Tool: "moor", Arguments: []byte(args), Answers: map[string][]byte{}, State: state, Context: &pluginv1.CallContext{
				CallId: "call_1", ProtocolVersion: "2026-07-28", ClientCapabilities: []byte(`{"elicitation":{}}`),
			},
		}
		for key, answer := range answers {
			req.Answers[key] = []byte(answer)
		}
		return m.send(t, req)
	}
	asks := func(got outcome, state string) *pluginv1.InputRequired {
		t.Helper()
		q := got.question
		if q == nil || got.result != nil || got.err != nil {
			t.Fatalf("got %+v", got)
		}
		berth, roots := q.GetRequests()["berth"], q.GetRequests()["roots"]
		if berth.GetMethod() != "elicitation/create" || !strings.Contains(string(berth.GetParams()), `"message":"Where to?"`) ||
			roots.GetMethod() != "roots/list" || len(q.GetRequests()) != 2 || string(q.GetState()) != state {
			t.Errorf("got %v", q)
		}
		return q
	}
	first := asks(round(`{}`, nil, nil), "1")
	second := asks(round(`{}`, map[string]string{"other": `{"action":"accept","content":{}}`}, first.GetState()), "2")
	third := asks(round(`{}`, map[string]string{"berth": `{"action":"accept","content":{"number":"one"}}`}, second.GetState()), "3")
	m.stderr.wait(t, `"an answer is not used"`, `"call_id":"call_1"`, `"key":"berth"`)

	got := round(`{}`, map[string]string{
		"berth": `{"action":"accept","content":{"number":9007199254740993}}`, "roots": `{"roots":[],"n":1.10}`,
	}, third.GetState())
	want := `{"call":"call_1","berth":{"number":9007199254740993,"side":"port","note":null},"roots":{"roots":[],"n":1.10},"round":3}`
	if string(got.result.GetStructured()) != want {
		t.Errorf("got %+v", got)
	}
	for _, action := range []string{"decline", "cancel"} {
		got := round(`{}`, map[string]string{"berth": `{"action":"` + action + `"}`}, first.GetState())
		if got.err.GetCode() != "not_moored" || got.err.GetText() != "the user chose to "+action {
			t.Errorf("%s: got %+v", action, got)
		}
	}
	if got := round(`{"state_bytes":32768}`, nil, nil); len(got.question.GetState()) != MaxState {
		t.Errorf("got %v", got.err)
	}
	if got := round(`{"state_bytes":32769}`, nil, nil).err; got.GetCode() != "state_too_large" || got.GetText() != "" ||
		got.GetKind() != pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED {
		t.Errorf("got %v", got)
	}
	if got := m.call(t, "moor", `{}`).err; got.GetCode() != "nobody_to_ask" {
		t.Errorf("got %v", got)
	}
}

func TestHealth(t *testing.T) {
	m := moor(t)
	client := healthv1.NewHealthClient(m.conn)
	got, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "plugin"})
	if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("got %v", err)
	}
	watch, err := client.Watch(t.Context(), &healthv1.HealthCheckRequest{Service: "plugin"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("got %v, %v", got, err)
	}
	m.shutdown(t)
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got %v, %v", got, err)
	}
	if code := m.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (m *moored) shutdown(t *testing.T) {
	t.Helper()
	if err := m.conn.Invoke(t.Context(), shutdownMethod, new(emptypb.Empty), new(emptypb.Empty)); err != nil {
		t.Fatal(err)
	}
}

func TestShutdownLetsCallsEndAndClosesTheState(t *testing.T) {
	m := moor(t)
	m.configure(t, new(pluginv1.ConfigureRequest))
	watch, err := m.plugins.Watch(t.Context(), new(pluginv1.WatchRequest))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	stream, err := m.tools.CallTool(t.Context(), &pluginv1.CallToolRequest{
		Tool: "block", Arguments: []byte(`{"file":"` + pipe + `"}`), Context: &pluginv1.CallContext{WantsProgress: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	m.shutdown(t)
	// The stream of the catalogue ends first: the plugin is on its way out.
	if _, err := watch.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("Watch: %v", err)
	}
	if err := os.WriteFile(pipe, []byte("landed"), 0); err != nil {
		t.Fatal(err)
	}
	if got, err := gather(stream); err != nil || string(got.result.GetStructured()) != `"landed"` {
		t.Errorf("got %v, %v", got, err)
	}
	if code := m.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	m.stderr.wait(t, `"closed"`)
	if _, err := os.Stat(m.fields()[3]); !os.IsNotExist(err) {
		t.Error("the socket was left behind")
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	m := moor(t)
	m.configure(t, new(pluginv1.ConfigureRequest))
	stream, err := m.tools.CallTool(t.Context(), &pluginv1.CallToolRequest{Tool: "block", Context: &pluginv1.CallContext{WantsProgress: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	m.shutdown(t)
	if code := m.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begin); took < graceShutdown {
		t.Errorf("the call got %v only", took)
	}
	m.stderr.wait(t, `"closed"`)
}

func TestShutdownDoesNotWaitForCallsThatDoNotListen(t *testing.T) {
	m := moor(t)
	m.configure(t, new(pluginv1.ConfigureRequest))
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	stream, err := m.tools.CallTool(t.Context(), &pluginv1.CallToolRequest{
		Tool: "block", Arguments: []byte(`{"file":"` + pipe + `"}`), Context: &pluginv1.CallContext{WantsProgress: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	m.shutdown(t)
	if code := m.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(m.stderr.String(), `"closed"`) {
		t.Error("the state was closed under a call that uses it")
	}
}

func TestInterruptIsTheHostsBusinessAndTermIsNot(t *testing.T) {
	m := moor(t)
	m.configure(t, new(pluginv1.ConfigureRequest))
	if err := m.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := m.call(t, "greet", `{"name":"Ada"}`); got.result == nil {
		t.Errorf("got %v", got)
	}
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := m.exitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	m.stderr.wait(t, `"closed"`)
}

func TestThePluginEndsWithItsHost(t *testing.T) {
	h := newTestHost(t)
	h.env[testPlugin] = "parent"
	cmd := h.command()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	if _, err := r.Read(line); err != nil || !strings.HasPrefix(string(line), "1|1|unix|") {
		t.Fatalf("got %q, %v", line, err)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	// The plugin holds the other end of the pipe: it ends with the plugin.
	if rest, err := io.ReadAll(r); err != nil || !strings.Contains(string(rest), "the host has ended") {
		t.Errorf("got %q, %v", rest, err)
	}
}
