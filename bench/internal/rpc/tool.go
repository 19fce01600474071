// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import "strconv"

// Tool is what a load asks for: the public name of a tool and, for the call of
// each id, the arguments to send and the text that has to come back, or to be
// within what comes back.
//
// Both depend on the id, so that a reply that went to the wrong caller, or came
// from a cache, is a failed call.
type Tool struct {
	Name      string
	Arguments func(dst []byte, id int64) []byte // appends a JSON object
	Text      func(dst []byte, id int64) []byte // appends the text of the reply
	Within    bool                              // the text is a part of the reply's
}

// Echo is a tool that returns its argument text.
func Echo(name string) Tool {
	return Tool{
		Name: name,
		Arguments: func(dst []byte, id int64) []byte {
			dst = append(dst, `{"text":"`...)
			dst = echoText(dst, id)
			return append(dst, `"}`...)
		},
		Text: echoText,
	}
}

// echoText is short and always of the same length: what is compared is the cost
// of a call, not of its payload.
func echoText(dst []byte, id int64) []byte {
	const first = 1_000_000_000
	dst = append(dst, "berth-"...)
	return strconv.AppendInt(dst, first+id, 10)
}
