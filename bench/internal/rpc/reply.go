// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
)

// reply is what is looked at of a response.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      *int64          `json:"id"`
	Error   json.RawMessage `json:"error"`
	Result  *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
}

// verify says what is wrong with a response to the call of this id: another id,
// a protocol error, a tool's error, another text.
func verify(body []byte, id int64, text []byte, within bool) error {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("reply is not JSON: %w: %.200q", err, body)
	}
	switch {
	case len(r.Error) > 0:
		return fmt.Errorf("protocol error: %.300s", r.Error)
	case r.Version != "2.0":
		return fmt.Errorf("jsonrpc is %q", r.Version)
	case r.ID == nil:
		return fmt.Errorf("reply to id %d has no id", id)
	case *r.ID != id:
		return fmt.Errorf("reply to id %d has id %d", id, *r.ID)
	case r.Result == nil:
		return fmt.Errorf("no result: %.300q", body)
	case r.Result.IsError:
		return fmt.Errorf("tool error: %.300s", body)
	case len(r.Result.Content) == 0 || r.Result.Content[0].Type != "text":
		return fmt.Errorf("no text: %.300s", body)
	case within && !strings.Contains(r.Result.Content[0].Text, string(text)):
		return fmt.Errorf("text is %.300q, want %q in it", r.Result.Content[0].Text, text)
	case !within && r.Result.Content[0].Text != string(text):
		return fmt.Errorf("text is %.100q, want %q", r.Result.Content[0].Text, text)
	}
	return nil
}
