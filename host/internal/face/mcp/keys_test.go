// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestWhoseRunAndCallKeysCount(t *testing.T) {
	token := tool.Principal{Kind: tool.Token, ClientID: "c", Issuer: "i", Subject: "s"}
	yes, no := true, false
	for name, tt := range map[string]struct {
		principal tool.Principal
		allow     *bool
		counts    bool
	}{
		"nobody's do not":                    {tool.Principal{}, nil, false},
		"nobody's do where allowed":          {tool.Principal{}, &yes, true},
		"nobody's do not where forbidden":    {tool.Principal{}, &no, false},
		"a token's do":                       {token, nil, true},
		"a token's do even where forbidden":  {token, &no, true},
		"the local user's do":                {tool.Principal{Kind: tool.Stdio}, nil, true},
		"the local user's not if forbidden":  {tool.Principal{Kind: tool.Stdio}, &no, false},
		"those of a kind unheard of do not":  {tool.Principal{Kind: "ghost"}, &yes, false},
		"an operator's do":                   {tool.Principal{Kind: tool.Operator}, &no, true},
		"the local user's do where allowed":  {tool.Principal{Kind: tool.Stdio}, &yes, true},
		"a token's do where all are allowed": {token, &yes, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Face{config: Config{AllowAnonymous: tt.allow}}
			if got := f.keysCount(tt.principal); got != tt.counts {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestRunKeyIsThatOfMetaThenOfTheHeader(t *testing.T) {
	eachWay(t, Config{AllowAnonymous: new(true)}, func(t *testing.T, h *host) {
		for name, tt := range map[string]struct{ meta, header, run, key string }{
			"_meta":  {`,"toolwharf/run_id":"m","toolwharf/call_id":"k"`, "", "m", "k"},
			"header": {"", "x", "x", ""},
			"both":   {`,"toolwharf/run_id":"m"`, "x", "m", ""},
			"none":   {"", "", "", ""},
			"no key": {`,"toolwharf/run_id":7`, "", "", ""},
		} {
			for _, era := range eras {
				req := body(era, methodCallTool, `"name":"echo","arguments":{}`, tt.meta)
				h.answer(era, req, headerRun, tt.header)
				if c := h.last(); c.Run != tt.run || c.Key != tt.key {
					t.Errorf("%s, %s: run %q, key %q", name, era, c.Run, c.Key)
				}
			}
		}
	})
}

func TestAKeyThatCannotBeOneIsAsGoodAsNone(t *testing.T) {
	for key, want := range map[string]bool{
		"": true, "a b": true, "é😀": true, strings.Repeat("k", maxKey): true,
		strings.Repeat("k", maxKey+1): false, strings.Repeat("é", maxKey/2+1): false,
		"a\nb": false, "\x00": false, "a\u202eb": false, "a\u00a0b": false, "\xff": false, "a\x7f": false,
	} {
		if got := readable(key); (got == key) != want || !want && got != "" {
			t.Errorf("%.40q became %.40q", key, got)
		}
	}
	eachWay(t, Config{AllowAnonymous: new(true)}, func(t *testing.T, h *host) {
		for _, era := range eras {
			for _, odd := range []string{strings.Repeat("k", maxKey+1), `\u0007`, `\u202e`, "\xff"} {
				req := body(era, methodCallTool, `"name":"echo","arguments":{}`, `,"toolwharf/run_id":"`+odd+`","toolwharf/call_id":"`+odd+`"`)
				h.answer(era, req, headerRun, "x")
				if c := h.last(); c.Run != "x" || c.Key != "" {
					t.Errorf("%s: %.20q: run %.20q, key %.20q", era, odd, c.Run, c.Key)
				}
			}
			h.answer(era, call(era, "echo", `{}`), headerRun, strings.Repeat("k", maxKey+1))
			if c := h.last(); c.Run != "" {
				t.Errorf("%s: run %.20q", era, c.Run)
			}
		}
	})
}

func TestKeysOfCallersWithoutANameAreIgnoredWithOneWarning(t *testing.T) {
	log := &record{}
	eachWay(t, Config{Log: log.logger()}, func(t *testing.T, h *host) {
		log.reset()
		for _, era := range eras {
			h.answer(era, call(era, "echo", `{}`))
			if got := log.String(); got != "" && era == eras[0] {
				t.Errorf("logged of a call without keys: %s", got)
			}
			h.answer(era, body(era, methodCallTool, `"name":"echo","arguments":{}`, `,"toolwharf/run_id":"m","toolwharf/call_id":"k"`), headerRun, "x")
			if c := h.last(); c.Run != "" || c.Key != "" || c.Resumable || !c.Principal.IsAnonymous() {
				t.Errorf("%s: %+v", era, c)
			}
			h.answer(era, call(era, "echo", `{}`), headerRun, "x")
		}
		if got := log.String(); strings.Count(got, "level=WARN") != 1 || strings.Count(got, "\n") != 1 {
			t.Errorf("logged: %s", got)
		}
	})
}

func TestStdioKeysDoNotCountWhereForbidden(t *testing.T) {
	h := newHost(t, Config{AllowAnonymous: new(false)})
	p := h.stdio(t.Context())
	p.send(body(versionModern, methodCallTool, `"name":"echo","arguments":{}`, `,"toolwharf/run_id":"m","toolwharf/call_id":"k"`))
	p.next()
	if c := h.last(); c.Run != h.face.processRun || c.Key != "" || c.Resumable {
		t.Errorf("%+v", c)
	}
}

func TestStdioCallsWithoutARunShareThatOfTheProcess(t *testing.T) {
	h := newHost(t, Config{})
	p := h.stdio(t.Context())
	run := func(meta string) string {
		p.send(body(versionModern, methodCallTool, `"name":"echo","arguments":{}`, meta))
		p.next()
		return h.last().Run
	}
	first, second, own := run(""), run(""), run(`,"toolwharf/run_id":"mine"`)
	if !tool.IsID(tool.PrefixRun, first) || first != second || own != "mine" {
		t.Errorf("runs %q, %q, %q", first, second, own)
	}
}
