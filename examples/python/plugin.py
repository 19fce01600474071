# Copyright The Toolwharf Authors
# SPDX-License-Identifier: Apache-2.0

"""A Toolwharf plugin without an SDK, written from docs/protocol.md."""

import base64
import datetime
import json
import os
import pathlib
import signal
import sys
import threading
import uuid
from concurrent import futures

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# The .proto files are loaded as they are, from beside this file or from the
# repository: nothing is generated.
here = pathlib.Path(__file__).resolve().parent
sys.path.append(str(next(p for p in (here / "proto", here.parents[1] / "proto") if p.is_dir())))
catalog_pb2 = grpc.protos("toolwharf/plugin/v1/catalog.proto")
content_pb2 = grpc.protos("toolwharf/plugin/v1/content.proto")
plugin_pb2, plugin_grpc = grpc.protos_and_services("toolwharf/plugin/v1/plugin.proto")
tool_pb2, tool_grpc = grpc.protos_and_services("toolwharf/plugin/v1/tool.proto")

NAME, VERSION = "python", "1.0.0"
PROTOCOL = 1
MESSAGE_BYTES = 16 << 20  # what hosts send and accept at most; gRPC's own default is 4 MiB
GRACE = 1.0  # seconds; two seconds after Shutdown the host ends the process


# Logs: one JSON object a line on stderr.


def log(level, message, **attributes):
    line = {
        "@timestamp": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "@level": level,
        "@message": message,
        "@module": NAME,
        **attributes,
    }
    sys.stderr.write(json.dumps(line) + "\n")
    sys.stderr.flush()


# Tools: each yields messages, the last of which ends the call.


class ToolError(Exception):
    """Something that the model should read."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def result(structured, text=None):
    content = [] if text is None else [content_pb2.Content(text=content_pb2.TextContent(text=text))]
    return tool_pb2.CallToolResponse(result=tool_pb2.ToolResult(structured=structured, content=content))


def failure(kind, code, text="", detail=""):
    return tool_pb2.CallToolResponse(error=content_pb2.CallError(
        kind=content_pb2.ErrorKind.Value("ERROR_KIND_" + kind), code=code, text=text, detail=detail,
    ))


def echo(request, cancelled):
    # The bytes go back as they came: a parser would lose digits.
    yield result(request.arguments)


def repeat(request, cancelled):
    arguments = json.loads(request.arguments)
    text = arguments["text"] * arguments.get("times", 1)
    yield result(json.dumps({"bytes": len(text.encode())}).encode(), text)


def count(request, cancelled):
    to = json.loads(request.arguments)["to"]
    log("info", "count begins", to=to, call_id=request.context.call_id)
    for n in range(1, to + 1):
        if cancelled.wait(0.1):
            log("warn", "count is cancelled", counted=n - 1, call_id=request.context.call_id)
            return
        if request.context.wants_progress:
            yield tool_pb2.CallToolResponse(progress=content_pb2.Progress(progress=n, total=to))
    yield result(json.dumps({"counted": to}).encode())


def find(request, cancelled):
    raise ToolError("not_found", f"there is no {json.loads(request.arguments)['name']!r} here")


TOOLS = {
    "echo": (echo, "Give back any JSON value, every digit as it came.",
             {"type": "object", "properties": {"value": {}}, "required": ["value"], "additionalProperties": False}),
    "repeat": (repeat, "Repeat a text.",
               {"type": "object", "properties": {"text": {"type": "string"}, "times": {"type": "integer", "minimum": 1, "maximum": 1000}},
                "required": ["text"], "additionalProperties": False}),
    "count": (count, "Count slowly, ten a second, and say how far it is.",
              {"type": "object", "properties": {"to": {"type": "integer", "minimum": 1, "maximum": 10000}},
               "required": ["to"], "additionalProperties": False}),
    "find": (find, "Look for something that is not there.",
             {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}),
}


# The services of the protocol.


class Plugin(plugin_grpc.PluginServiceServicer):
    def __init__(self):
        self.limits = None  # set by Configure

    def Describe(self, request, context):
        return plugin_pb2.DescribeResponse(name=NAME, version=VERSION, title="Python without an SDK", features=["tools"])

    def Configure(self, request, context):
        if not request.check_only:
            self.limits = request.limits
        return plugin_pb2.ConfigureResponse()  # no diagnostics, no grants

    def Watch(self, request, context):
        if self.limits is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "Watch before Configure has succeeded")
        # The catalogue never changes, so the stream ends here.
        yield plugin_pb2.WatchResponse(catalog=catalog_pb2.Catalog(tools=[
            catalog_pb2.Tool(
                name=name, description=description, input_schema=json.dumps(schema).encode(),
                effects=catalog_pb2.EFFECTS_READ_ONLY, idempotent=True,
            )
            for name, (_, description, schema) in TOOLS.items()
        ]))


class Tools(tool_grpc.ToolServiceServicer):
    def __init__(self, plugin):
        self.plugin = plugin

    def CallTool(self, request, context):
        limits = self.plugin.limits
        if limits is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "CallTool before Configure has succeeded")
        if request.tool not in TOOLS:
            yield failure("TOOL_FAILED", "unknown_tool", detail=f"there is no tool {request.tool!r}")
            return
        # Cancelled by the caller, by its deadline or by the end of the connection.
        cancelled = threading.Event()
        if not context.add_callback(cancelled.set):
            return
        try:
            json.loads(request.arguments)  # a host sends nothing else, but whoever gives bytes back should know
        except (ValueError, RecursionError) as e:
            yield failure("ARGS_INVALID", "invalid_args", f"the arguments are not JSON: {e}")
            return
        try:
            for message in TOOLS[request.tool][0](request, cancelled):
                # Text that is longer is cut by the host; half a JSON value is none.
                if len(message.result.structured) > limits.max_result_bytes:
                    message = failure("RESULT_TOO_LARGE", "result_too_large", f"the result has more than {limits.max_result_bytes} bytes")
                yield message
        except ToolError as e:
            yield failure("TOOL_ERROR", e.code, str(e))
        except Exception as e:  # the model sees the code only
            log("error", "a tool failed", tool=request.tool, error=repr(e), call_id=request.context.call_id)
            yield failure("TOOL_FAILED", "fault", detail=repr(e))


def machinery(stop):
    """What go-plugin hosts want besides: messages so small that their bytes can be written by hand."""

    def health(request, context):
        return b"\x08\x01"  # HealthCheckResponse{status: SERVING}

    def shutdown(request, context):
        stop.set()
        return b""  # Empty{}

    return [
        grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(health)}),
        grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)}),
    ]


# The handshake.


def identity():
    """A key and a certificate for this one launch: P-256, its own authority, for the name that hosts dial."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def serve():
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    parent = os.getppid()

    key, certificate = identity()
    credentials = grpc.ssl_server_credentials(
        [(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
            certificate.public_bytes(serialization.Encoding.PEM),
        )],
        root_certificates=os.environ["PLUGIN_CLIENT_CERT"].encode(),  # nobody but the host
        require_client_auth=True,
    )
    # A thread for each call that the host may have in flight, and some for the rest.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64), options=[
        ("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES),
    ])
    plugin = Plugin()
    plugin_grpc.add_PluginServiceServicer_to_server(plugin, server)
    tool_grpc.add_ToolServiceServicer_to_server(Tools(plugin), server)
    server.add_generic_rpc_handlers(machinery(stop))
    socket = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], f"{uuid.uuid4().hex[:8]}.sock")
    server.add_secure_port("unix:" + socket, credentials)
    server.start()

    der = base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode().rstrip("=")
    print(f"1|{PROTOCOL}|unix|{socket}|grpc|{der}", flush=True)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed is a log line

    while not stop.wait(1):
        if os.getppid() != parent:  # the host has ended
            break
    server.stop(GRACE).wait()  # no new calls; those that run may finish


def main():
    if os.environ.get("TOOLWHARF_PLUGIN") != "toolwharf.plugin.v1":
        sys.exit(f"{NAME} is a Toolwharf plugin: it is started by a host, and says nothing by itself")
    if str(PROTOCOL) not in os.environ.get("PLUGIN_PROTOCOL_VERSIONS", "").split(","):
        sys.exit(f"the host offers the protocol versions {os.environ.get('PLUGIN_PROTOCOL_VERSIONS')!r}, this plugin speaks {PROTOCOL}")
    serve()


if __name__ == "__main__":
    main()
