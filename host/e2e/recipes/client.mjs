// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Does with one client what is asked on stdin, a line of JSON each, and says on stdout
// what the client says of it, a line each.
//
//   node client.mjs <client> <url> <token>
//
//   {}                                     -> {"tools": ["echo_echo", ...], "protocol": "2026-07-28"}
//   {"name": ..., "arguments": ..., "meta": ...} -> {"text": ..., "isError": ..., "meta": ...}, or {"thrown": ...}
//
// What the client does not show is not there.

import { createInterface } from "node:readline";

const [name, url, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const info = { name: "e2e", version: "1" };

const said = (result) => ({ text: textOf(result.content), isError: result.isError ?? false, meta: result._meta });
const textOf = (content) => content.map((block) => block.text).join("");

const clients = {
  async ts1() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(info);
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    await client.connect(transport);
    return official(client, () => transport.protocolVersion);
  },
  ts2: () => ts2({ mode: "auto" }),
  ts2legacy: () => ts2(undefined),
  async ai() {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    return {
      list: async () => ({ tools: Object.keys(await client.tools()) }),
      // No way to say _meta.
      async call({ name, arguments: args }) {
        const tool = (await client.tools())[name];
        return said(await (tool ? tool.execute(args, { toolCallId: "1", messages: [] }) : client.callTool({ name, arguments: args })));
      },
      close: () => client.close(),
    };
  },
  async openai() {
    const { MCPServerStreamableHttp } = await import("@openai/agents");
    const server = new MCPServerStreamableHttp({ name: "wharf", url, requestInit: { headers } });
    await server.connect();
    return {
      list: async () => ({ tools: (await server.listTools()).map((tool) => tool.name) }),
      call: async ({ name, arguments: args, meta }) => said(await server.callToolResult(name, args, meta)),
      close: () => server.close(),
    };
  },
  async langchain() {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ mcpServers: { wharf: { transport: "http", url, headers } } });
    const tools = await client.getTools();
    return {
      list: async () => ({ tools: tools.map((tool) => tool.name) }),
      // No way to say _meta, and of a result the text only.
      async call({ name, arguments: args }) {
        const result = await tools.find((tool) => tool.name === name).invoke(args);
        return { text: typeof result === "string" ? result : JSON.stringify(result) };
      },
      close: () => client.close(),
    };
  },
};

async function ts2(versionNegotiation) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(info, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return official(client, () => client.getNegotiatedProtocolVersion());
}

function official(client, protocol) {
  return {
    list: async () => ({ tools: (await client.listTools()).tools.map((tool) => tool.name), protocol: protocol() }),
    call: async ({ meta, ...params }) => said(await client.callTool({ ...params, _meta: meta })),
    close: () => client.close(),
  };
}

const client = await clients[name]();
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = await (asked.name ? client.call(asked) : client.list());
  } catch (error) {
    answer = { thrown: String(error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await client.close();
