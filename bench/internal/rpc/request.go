// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"fmt"
	"strconv"
)

// Version is the protocol version that every request names.
const Version = "2026-07-28"

// meta is what MCP 2026-07-28 requires of every request: the protocol version
// and the client's capabilities. clientInfo is what a client ought to send.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Version + `",` +
	`"io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"toolwharf-bench","version":"1"}}`

// ListBody asks for the first page of tools.
const ListBody = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`

// request is one HTTP request, taken apart around what differs from call to
// call: the length of the body, the id and the arguments.
type request struct {
	tool Tool
	head []byte // request line and headers, up to the value of Content-Length
	body []byte // scratch
}

func newRequest(address, path string, tool Tool) *request {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\n"+
		"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: ",
		path, address, Version, tool.Name)
	return &request{tool: tool, head: []byte(head)}
}

// append writes the whole request for the call of this id.
func (r *request) append(dst []byte, id int64) []byte {
	b := r.body[:0]
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"tools/call","params":{"name":"`...)
	b = append(b, r.tool.Name...)
	b = append(b, `","arguments":`...)
	b = r.tool.Arguments(b, id)
	b = append(b, ","+meta+"}}"...)
	r.body = b
	dst = append(dst, r.head...)
	dst = strconv.AppendInt(dst, int64(len(b)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, b...)
}
