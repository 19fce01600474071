// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Lists the tools of an MCP endpoint and calls one of them with the official
// TypeScript SDKs, and prints what came back as one line of JSON.
//
//   node client.mjs <url> v1|legacy|modern <tool> <arguments>

import * as v2 from "@modelcontextprotocol/client";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import * as v1http from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, sdk, tool, args] = process.argv.slice(2);

function connectable() {
  const info = { name: "e2e-typescript", version: "1" };
  if (sdk === "v1") {
    return [new v1.Client(info), new v1http.StreamableHTTPClientTransport(new URL(url))];
  }
  const versionNegotiation = sdk === "modern" ? { mode: "auto" } : undefined;
  return [new v2.Client(info, { versionNegotiation }), new v2.StreamableHTTPClientTransport(new URL(url))];
}

const [client, transport] = connectable();
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
const refused = await client.callTool({ name: tool, arguments: { wrong: 1 } });
let unknown = "no error";
try {
  await client.callTool({ name: "no_such_tool", arguments: {} });
} catch (error) {
  unknown = `${error.code}: ${error.message}`;
}
console.log(
  JSON.stringify({
    protocol: transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.() ?? null,
    tools: tools.map((t) => t.name),
    text: result.content.map((block) => block.text).join(""),
    structured: result.structuredContent ?? null,
    refused: { isError: refused.isError, kind: refused._meta?.["toolwharf/error_kind"] },
    unknown,
  }),
);
await client.close();
