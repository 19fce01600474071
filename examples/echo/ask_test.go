// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// round runs one round by hand and returns what it asks or, if it does not ask,
// what it prints.
func round(t *testing.T, tool, args, answers, state string) (asked map[string]json.RawMessage, next, said string) {
	t.Helper()
	flags := []string{"call", tool, args}
	if answers != "" {
		flags = append(flags, "--answers", answers)
	}
	if state != "" {
		flags = append(flags, "--state", state)
	}
	stdout, stderr, code := byHand(t, flags...)
	if !strings.Contains(stderr, "asks before it goes on") {
		return nil, "", stdout + stderr
	}
	var q struct {
		Requests map[string]json.RawMessage
		State    string
	}
	if err := json.Unmarshal([]byte(stdout), &q); err != nil || code != 1 {
		t.Fatalf("exit code %d, %q: %v", code, stdout, err)
	}
	return q.Requests, q.State, ""
}

func TestRoundsByHand(t *testing.T) {
	const (
		red      = `{"colour":{"action":"accept","content":{"colour":"red"}}}`
		mauve    = `{"colour":{"action":"accept","content":{"colour":"mauve"}}}`
		seven    = `{"size":{"action":"accept","content":{"size":9007199254740993}}}`
		declined = `{"colour":{"action":"decline"},"keep":{"action":"decline"}}`
	)
	expect := func(tool, args, answers, state, key, said string) string {
		t.Helper()
		asked, next, got := round(t, tool, args, answers, state)
		if _, ok := asked[key]; got != said || ok != (key != "") {
			t.Errorf("%s %s: asked %v, said %q", tool, answers, asked, got)
		}
		return next
	}
	expect("ask", `{}`, "", "", "colour", "")
	expect("ask", `{}`, mauve, "", "colour", "")
	expect("ask", `{}`, red, "", "", "{\n  \"colour\": \"red\"\n}\n")
	expect("ask", `{}`, declined, "", "", "tool_error/declined: the user did not choose a colour\n")

	expect("ask_twice", `{}`, "", "", "colour", "")
	state := expect("ask_twice", `{}`, red, "", "size", "")
	expect("ask_twice", `{}`, seven, state, "", "{\n  \"colour\": \"red\",\n  \"size\": 9007199254740993\n}\n")
	expect("ask_twice", `{}`, `{"size":{"action":"cancel"}}`, state, "", "tool_error/declined: the user did not choose a size\n")

	state = ""
	for range 3 {
		state = expect("ask_forever", `{}`, `{"again":{"action":"decline"}}`, state, "again", "")
	}
	expect("ask_secret", `{}`, `{"login":{"action":"accept","content":{"password":"x"}}}`, "", "login", "")

	expect("ask_page", `{"url":"https://example.com"}`, "", "", "page", "")
	expect("ask_page", `{"url":"https://example.com"}`, `{"page":{"action":"accept"}}`, "", "", "{\n  \"opened\": true\n}\n")
	expect("ask_page", `{"url":"https://example.com"}`, `{"page":{"action":"decline"}}`, "", "", "{\n  \"opened\": false\n}\n")

	expect("write_after_asking", `{"text":"x"}`, "", "", "keep", "")
	expect("write_after_asking", `{"text":"x"}`, declined, "", "", "tool_error/declined: the user did not choose to keep the note\n")
	expect("write_after_asking", `{"text":"x"}`, `{"keep":{"action":"accept","content":{"keep":false}}}`, "", "",
		"tool_error/declined: the user did not choose to keep the note\n")
	expect("write_after_asking", `{"text":"x"}`, `{"keep":{"action":"accept","content":{"keep":true}}}`, "", "", "{\n  \"notes\": 1\n}\n")
}
