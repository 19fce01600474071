// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// A Toolwharf plugin without an SDK, written from docs/protocol.md.

import { randomBytes, webcrypto } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import * as grpc from "@grpc/grpc-js";
import * as loader from "@grpc/proto-loader";
import "reflect-metadata"; // of which x509 wants to be the second
import * as x509 from "@peculiar/x509";

const name = "node";
const version = "1.0.0";
const protocol = 1;
const messageBytes = 16 << 20; // what hosts send and accept at most; gRPC's own default is 4 MiB
const grace = 1000; // milliseconds; two seconds after Shutdown the host ends the process

// The .proto files are loaded as they are, from beside this file or from the
// repository: nothing is generated.
const protos = ["proto", "../../proto"].map((dir) => fileURLToPath(new URL(dir, import.meta.url))).find(existsSync);
const { v1 } = grpc.loadPackageDefinition(
  loader.loadSync(["toolwharf/plugin/v1/plugin.proto", "toolwharf/plugin/v1/tool.proto"], {
    includeDirs: [protos],
    enums: String,
    longs: Number,
    defaults: true,
  }),
).toolwharf.plugin;

// Logs: one JSON object a line on stderr.

function log(level, message, attributes = {}) {
  const line = { "@timestamp": timestamp(), "@level": level, "@message": message, "@module": name, ...attributes };
  process.stderr.write(JSON.stringify(line) + "\n");
}

// timestamp has microseconds, as go-plugin's hosts read them.
function timestamp() {
  return new Date().toISOString().replace("Z", "000Z");
}

// Tools: each returns what ends the call.

// ToolError is something that the model should read.
class ToolError extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

function result(structured, text) {
  return { result: { structured, content: text === undefined ? [] : [{ text: { text } }] } };
}

function failure(kind, code, { text = "", detail = "" }) {
  return { error: { kind: `ERROR_KIND_${kind}`, code, text, detail } };
}

// The bytes go back as they came: JSON.parse would lose digits.
function echo(request) {
  return result(request.arguments);
}

function repeat(request) {
  const { text, times = 1 } = JSON.parse(request.arguments);
  const repeated = text.repeat(times);
  return result(Buffer.from(JSON.stringify({ bytes: Buffer.byteLength(repeated) })), repeated);
}

async function count(request, send, signal) {
  const { to } = JSON.parse(request.arguments);
  log("info", "count begins", { to, call_id: request.context.callId });
  for (let n = 1; n <= to; n++) {
    try {
      await sleep(100, undefined, { signal });
    } catch (error) {
      log("warn", "count is cancelled", { counted: n - 1, call_id: request.context.callId });
      throw error;
    }
    if (request.context.wantsProgress) {
      send({ progress: { progress: n, total: to } });
    }
  }
  return result(Buffer.from(JSON.stringify({ counted: to })));
}

function find(request) {
  throw new ToolError("not_found", `there is no '${JSON.parse(request.arguments).name}' here`);
}

function objectOf(properties, required) {
  return { type: "object", properties, required, additionalProperties: false };
}

const tools = {
  echo: {
    run: echo,
    description: "Give back any JSON value, every digit as it came.",
    schema: objectOf({ value: {} }, ["value"]),
  },
  repeat: {
    run: repeat,
    description: "Repeat a text.",
    schema: objectOf({ text: { type: "string" }, times: { type: "integer", minimum: 1, maximum: 1000 } }, ["text"]),
  },
  count: {
    run: count,
    description: "Count slowly, ten a second, and say how far it is.",
    schema: objectOf({ to: { type: "integer", minimum: 1, maximum: 10000 } }, ["to"]),
  },
  find: {
    run: find,
    description: "Look for something that is not there.",
    schema: objectOf({ name: { type: "string" } }, ["name"]),
  },
};

// The services of the protocol.

let limits; // set by Configure

const unconfigured = { code: grpc.status.FAILED_PRECONDITION, details: "Configure has not succeeded yet" };

const pluginService = {
  describe(call, reply) {
    reply(null, { name, version, title: "Node.js without an SDK", features: ["tools"] });
  },
  configure(call, reply) {
    if (!call.request.checkOnly) {
      limits = call.request.limits;
    }
    reply(null, {}); // no diagnostics, no grants
  },
  watch(call) {
    if (!limits) {
      call.emit("error", unconfigured);
      return;
    }
    call.write({
      catalog: {
        tools: Object.entries(tools).map(([name, { description, schema }]) => ({
          name,
          description,
          inputSchema: Buffer.from(JSON.stringify(schema)),
          effects: "EFFECTS_READ_ONLY",
          idempotent: true,
        })),
      },
    });
    call.end(); // the catalogue never changes
  },
};

const toolService = {
  async callTool(call) {
    if (!limits) {
      call.emit("error", unconfigured);
      return;
    }
    // Cancelled by the caller, by its deadline or by the end of the connection.
    const abort = new AbortController();
    call.on("cancelled", () => abort.abort());
    const last = await answer(call.request, (message) => call.write(message), abort.signal);
    if (!abort.signal.aborted) {
      call.write(last);
    }
    call.end();
  },
};

// answer runs a tool and returns the message that ends the call.
async function answer(request, send, signal) {
  const tool = Object.hasOwn(tools, request.tool) ? tools[request.tool] : undefined;
  if (!tool) {
    return failure("TOOL_FAILED", "unknown_tool", { detail: `there is no tool ${request.tool}` });
  }
  try {
    JSON.parse(request.arguments); // a host sends nothing else, but whoever gives bytes back should know
  } catch (error) {
    return failure("ARGS_INVALID", "invalid_args", { text: `the arguments are not JSON: ${error.message}` });
  }
  try {
    const last = await tool.run(request, send, signal);
    // Text that is longer is cut by the host; half a JSON value is none.
    if (last.result.structured.length > limits.maxResultBytes) {
      return failure("RESULT_TOO_LARGE", "result_too_large", { text: `the result has more than ${limits.maxResultBytes} bytes` });
    }
    return last;
  } catch (error) {
    if (error instanceof ToolError) {
      return failure("TOOL_ERROR", error.code, { text: error.message });
    }
    if (!signal.aborted) {
      log("error", "a tool failed", { tool: request.tool, error: String(error), call_id: request.context.callId });
    }
    return failure("TOOL_FAILED", "fault", { detail: String(error) }); // the model sees the code only
  }
}

// What go-plugin hosts want besides: messages so small that their bytes can be
// written by hand.

const verbatim = (bytes) => bytes;

function unary(path) {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: verbatim,
    requestDeserialize: verbatim,
    responseSerialize: verbatim,
    responseDeserialize: verbatim,
  };
}

function addMachinery(server, stop) {
  server.addService(
    { check: unary("/grpc.health.v1.Health/Check") },
    { check: (call, reply) => reply(null, Buffer.from([0x08, 0x01])) }, // HealthCheckResponse{status: SERVING}
  );
  server.addService(
    { shutdown: unary("/plugin.GRPCController/Shutdown") },
    {
      shutdown: (call, reply) => {
        reply(null, Buffer.alloc(0)); // Empty{}
        stop();
      },
    },
  );
}

// The handshake.

// identity makes a key and a certificate for this one launch: P-256, its own
// authority, for the name that hosts dial.
async function identity() {
  x509.cryptoProvider.set(webcrypto);
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const hour = 3600 * 1000;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01" + randomBytes(15).toString("hex"),
    name: "CN=localhost",
    notBefore: new Date(Date.now() - hour),
    notAfter: new Date(Date.now() + 10 * 365 * 24 * hour),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }]),
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { key: x509.PemConverter.encode(key, "PRIVATE KEY"), certificate };
}

async function serve() {
  process.on("SIGINT", () => {}); // Ctrl-C is for the host
  process.on("SIGTERM", () => stop());
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || stop(), 1000).unref(); // the host has ended

  const { key, certificate } = await identity();
  const server = new grpc.Server({
    "grpc.max_receive_message_length": messageBytes,
    "grpc.max_send_message_length": messageBytes,
  });
  let stopping = false;
  function stop() {
    if (stopping) {
      return;
    }
    stopping = true;
    server.tryShutdown(() => process.exit(0)); // no new calls; those that run may finish
    setTimeout(() => process.exit(0), grace);
  }
  server.addService(v1.PluginService.service, pluginService);
  server.addService(v1.ToolService.service, toolService);
  addMachinery(server, stop);
  const credentials = grpc.ServerCredentials.createSsl(
    Buffer.from(process.env.PLUGIN_CLIENT_CERT), // nobody but the host
    [{ private_key: Buffer.from(key), cert_chain: Buffer.from(certificate.toString("pem")) }],
    true,
  );
  const socket = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, `${randomBytes(4).toString("hex")}.sock`);
  await new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, credentials, (error) => (error ? reject(error) : resolve()));
  });
  const der = Buffer.from(certificate.rawData).toString("base64").replace(/=+$/, "");
  process.stdout.write(`1|${protocol}|unix|${socket}|grpc|${der}\n`);
  console.log = console.error; // whatever else is printed is a log line
}

if (process.env.TOOLWHARF_PLUGIN !== "toolwharf.plugin.v1") {
  console.error(`${name} is a Toolwharf plugin: it is started by a host, and says nothing by itself`);
  process.exit(1);
}
if (!(process.env.PLUGIN_PROTOCOL_VERSIONS ?? "").split(",").includes(String(protocol))) {
  console.error(`the host offers the protocol versions '${process.env.PLUGIN_PROTOCOL_VERSIONS}', this plugin speaks ${protocol}`);
  process.exit(1);
}
await serve();
