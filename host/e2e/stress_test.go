// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
)

// soaked chooses between what is enough for every run and what `make soak`
// takes its time for.
func soaked[T any](short, long T) T {
	if os.Getenv("SOAK") != "" {
		return long
	}
	return short
}

// answer is what came of one call: exactly one thing.
type answer struct {
	text, structured, kind, code string // kind is "" for a success
	cached                       bool
	status                       int   // of HTTP
	err                          error // it came to no answer, or to one that is none
}

func (a answer) ok() bool { return a.err == nil && a.status == http.StatusOK && a.kind == "" }

func (a answer) String() string {
	text := a.text
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return fmt.Sprintf("status %d, kind %q, code %q, text %q, error %v", a.status, a.kind, a.code, text, a.err)
}

// caller calls tools over HTTP by hand: fast, and it sees whatever comes back.
type caller struct {
	host   *host
	client *http.Client
	last   atomic.Int64
}

func (h *host) caller() *caller {
	c := &caller{host: h, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	h.t.Cleanup(c.client.CloseIdleConnections)
	return c
}

// call calls a tool in the newest protocol version.
func (c *caller) call(ctx context.Context, tool, args string) answer {
	id := int(c.last.Add(1))
	headers, body := modern(id, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
	return c.post(ctx, id, headers, body)
}

// callWatched calls a tool and wants to hear of its progress and its log.
func (c *caller) callWatched(ctx context.Context, tool, args string) answer {
	id := int(c.last.Add(1))
	headers, body := modern(id, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug",`, 1)
	return c.post(ctx, id, headers, body)
}

// callOld calls a tool as clients of the era before do.
func (c *caller) callOld(ctx context.Context, tool, args string) answer {
	id := int(c.last.Add(1))
	return c.post(ctx, id, map[string]string{"MCP-Protocol-Version": "2025-06-18"},
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args))
}

func (c *caller) post(ctx context.Context, id int, headers map[string]string, body string) answer {
	status, raw, err := c.exchange(ctx, headers, body)
	if err != nil {
		return answer{status: status, err: err}
	}
	for event := range bytes.SplitSeq(raw, []byte("\n")) { // the last is the answer
		if data, ok := bytes.CutPrefix(event, []byte("data: ")); ok {
			raw = data
		}
	}
	a := read(raw, id)
	a.status = status
	return a
}

// exchange posts a request and reads the whole answer.
func (c *caller) exchange(ctx context.Context, headers map[string]string, body string) (status int, raw []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.host.url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if raw, err = io.ReadAll(resp.Body); err != nil {
		err = fmt.Errorf("the answer broke off after %d bytes: %w", len(raw), err)
	}
	return resp.StatusCode, raw, err
}

// read reads a message that must be the answer to a request.
func read(raw []byte, id int) (a answer) {
	var m struct {
		Version string           `json:"jsonrpc"`
		ID      *json.RawMessage `json:"id"`
		Message string           `json:"message"` // of a refusal
		Error   json.RawMessage  `json:"error"`
		Result  *struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured json.RawMessage `json:"structuredContent"`
			IsError    bool            `json:"isError"`
			Meta       map[string]any  `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return answer{err: fmt.Errorf("no JSON: %w: %.300s", err, raw)}
	}
	switch {
	case m.Version == "" && m.Message != "":
		return answer{kind: "refused", code: string(m.Error), text: m.Message}
	case m.ID == nil || string(*m.ID) != strconv.Itoa(id):
		return answer{err: fmt.Errorf("the answer to request %d is %.300s", id, raw)}
	case m.Error != nil:
		return answer{kind: "rpc_error", text: string(m.Error)}
	case m.Result == nil:
		return answer{err: fmt.Errorf("neither result nor error: %.300s", raw)}
	}
	for _, c := range m.Result.Content {
		a.text += c.Text
	}
	a.structured = string(m.Result.Structured)
	a.cached, _ = m.Result.Meta["toolwharf/cached"].(bool)
	if m.Result.IsError {
		a.kind, _ = m.Result.Meta["toolwharf/error_kind"].(string)
		a.code, _ = m.Result.Meta["toolwharf/error_code"].(string)
		if a.kind == "" {
			a.err = fmt.Errorf("an error without a kind: %.300s", raw)
		}
	}
	return a
}

// moored is what `adapters list` shows, asked without a process for each question:
// these tests ask a lot.
func (h *host) moored() map[string]control.Adapter {
	h.t.Helper()
	c, err := control.Dial(filepath.Join(h.dir, ".toolwharf"))
	if err != nil {
		h.t.Fatal(err)
	}
	list, err := c.Adapters(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[string]control.Adapter{}
	for _, a := range list {
		out[a.Name] = a
	}
	return out
}

// descriptors is how many files and sockets the host has open.
func (h *host) descriptors() int {
	h.t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.cmd.Process.Pid))
	if errors.Is(err, os.ErrPermission) && os.Getuid() != 0 {
		return 0 // a host hides from its own user: only root can count them
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return len(open)
}

// memory is what the host occupies now, and what it ever did, in MiB.
func (h *host) memory() (now, most int) {
	h.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var kb int
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			now = kb >> 10
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			most = kb >> 10
		}
	}
	return now, most
}

// child is a process that the host has started, itself or through others.
type child struct {
	pid, parent int
	state       byte // 'Z': a zombie
	exe         string
}

// children are the processes whose parent is the host, and those whose
// executable lies beneath dir, whosever they are.
func (h *host) children(dir string) []child {
	h.t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		h.t.Fatal(err)
	}
	var out []child
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		c := child{}
		open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
		if _, err := fmt.Sscanf(string(raw[:open]), "%d ", &c.pid); err != nil {
			h.t.Fatal(err)
		}
		if _, err := fmt.Sscanf(string(raw[end+2:]), "%c %d", &c.state, &c.parent); err != nil {
			h.t.Fatal(err)
		}
		c.exe, _ = os.Readlink(filepath.Dir(path) + "/exe") // of a zombie there is none
		if line, _ := os.ReadFile(filepath.Dir(path) + "/cmdline"); bytes.HasPrefix(line, []byte("toolwharf-guardian\x00")) {
			c.exe = toolwharf // which only root can see
		}
		if c.parent == h.cmd.Process.Pid || strings.HasPrefix(c.exe, dir+"/") {
			out = append(out, c)
		}
	}
	return out
}

// expectChildren waits until there is, of each executable beneath dir, as many
// processes as there should be, one guardian for each adapter, and no other
// child of the host's, also no zombie. exes are paths beneath dir.
func (h *host) expectChildren(dir string, adapters int, exes map[string]int) {
	h.t.Helper()
	const guardian = "guardian"
	exes = maps.Clone(exes)
	exes[guardian] = adapters
	eventually(h.t, "no process too many, no zombie", func() error {
		all, count := h.children(dir), map[string]int{}
		for _, c := range all {
			name := strings.TrimPrefix(c.exe, dir+"/")
			if c.exe == toolwharf {
				name = guardian
			}
			if c.state == 'Z' || exes[name] == 0 {
				return fmt.Errorf("there is %+v", c)
			}
			count[name]++
		}
		for name, want := range exes {
			if count[name] != want {
				return fmt.Errorf("%d processes of %s, want %d: %+v", count[name], name, want, all)
			}
		}
		return nil
	})
}

// footprint is what the host holds when it is at rest.
type footprint struct{ descriptors, memory int }

func (h *host) footprint() footprint {
	now, _ := h.memory()
	return footprint{h.descriptors(), now}
}

// expectFlat waits until the host holds no more than it did, but for what a busy
// machine has yet to close, and what a collector keeps.
func (h *host) expectFlat(before footprint) {
	h.t.Helper()
	eventually(h.t, "descriptors and memory are what they were", func() error {
		f := h.footprint()
		if f.descriptors > before.descriptors+5 || f.memory > before.memory+before.memory/2+64 {
			return fmt.Errorf("%+v, they were %+v", f, before)
		}
		return nil
	})
}

// listed are the names of all tools, page by page.
func (c *caller) listed(ctx context.Context) (map[string]bool, error) {
	out, cursor := map[string]bool{}, ""
	for {
		params := ""
		if cursor != "" {
			params = fmt.Sprintf(`"cursor":%q`, cursor)
		}
		id := int(c.last.Add(1))
		headers, body := modern(id, "tools/list", "", params)
		_, raw, err := c.exchange(ctx, headers, body)
		if err != nil {
			return nil, err
		}
		var m struct {
			Result *struct {
				Tools      []struct{ Name string }
				NextCursor string
			}
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.Result == nil {
			return nil, fmt.Errorf("%w: %.300s", err, raw)
		}
		for _, t := range m.Result.Tools {
			out[t.Name] = true
		}
		if cursor = m.Result.NextCursor; cursor == "" {
			return out, nil
		}
	}
}
