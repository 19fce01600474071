// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package dev.toolwharf.example;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.StringReader;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import toolwharf.plugin.v1.ContentOuterClass.CallError;
import toolwharf.plugin.v1.ContentOuterClass.ErrorKind;
import toolwharf.plugin.v1.ContentOuterClass.Progress;
import toolwharf.plugin.v1.Tool.CallToolRequest;
import toolwharf.plugin.v1.Tool.CallToolResponse;
import toolwharf.plugin.v1.Tool.ToolResult;
import toolwharf.plugin.v1.ToolServiceGrpc;

/** Runs tools. */
final class ToolService extends ToolServiceGrpc.ToolServiceImplBase {
  private final PluginService plugin;

  ToolService(PluginService plugin) {
    this.plugin = plugin;
  }

  /** One call, as a tool sees it. */
  record Call(CallToolRequest request, JsonObject arguments, CountDownLatch cancelled, StreamObserver<CallToolResponse> answer) {

    String id() {
      return request.getContext().getCallId();
    }

    void progress(double done, double total) {
      if (request.getContext().getWantsProgress()) {
        answer.onNext(
            CallToolResponse.newBuilder()
                .setProgress(Progress.newBuilder().setProgress(done).setTotal(total))
                .build());
      }
    }
  }

  /** Something that the model should read. */
  static final class ToolError extends Exception {
    private static final long serialVersionUID = 1;
    private final String code;

    ToolError(String code, String text) {
      super(text);
      this.code = code;
    }
  }

  @Override
  public void callTool(CallToolRequest request, StreamObserver<CallToolResponse> answer) {
    if (plugin.limits() == null) {
      answer.onError(PluginService.unconfigured());
      return;
    }
    // Cancelled by the caller, by its deadline or by the end of the connection. The
    // context says so at once; the observer's own handler would wait for this thread,
    // and is here only to keep the observer from throwing at whoever answers too late.
    CountDownLatch cancelled = new CountDownLatch(1);
    Context.current().addListener(context -> cancelled.countDown(), Runnable::run);
    ((ServerCallStreamObserver<CallToolResponse>) answer).setOnCancelHandler(() -> {});
    CallToolResponse last = last(request, cancelled, answer);
    if (cancelled.getCount() > 0) {
      answer.onNext(last);
      answer.onCompleted();
    }
  }

  /** Runs a tool and returns the message that ends the call. */
  private CallToolResponse last(CallToolRequest request, CountDownLatch cancelled, StreamObserver<CallToolResponse> answer) {
    Tools.Tool tool = Tools.ALL.get(request.getTool());
    if (tool == null) {
      return failure(ErrorKind.ERROR_KIND_TOOL_FAILED, "unknown_tool", "", "there is no tool " + request.getTool());
    }
    JsonObject arguments;
    try { // a host sends nothing else, but whoever gives bytes back should know
      JsonReader reader = new JsonReader(new StringReader(request.getArguments().toStringUtf8()));
      reader.setStrictness(Strictness.STRICT);
      arguments = JsonParser.parseReader(reader).getAsJsonObject();
    } catch (JsonParseException | IllegalStateException e) {
      return failure(ErrorKind.ERROR_KIND_ARGS_INVALID, "invalid_args", "the arguments are not a JSON object", String.valueOf(e));
    }
    try {
      ToolResult result = tool.run().call(new Call(request, arguments, cancelled, answer));
      // Text that is longer is cut by the host; half a JSON value is none.
      long most = plugin.limits().getMaxResultBytes();
      if (result.getStructured().size() > most) {
        return failure(
            ErrorKind.ERROR_KIND_RESULT_TOO_LARGE, "result_too_large", "the result has more than " + most + " bytes", "");
      }
      return CallToolResponse.newBuilder().setResult(result).build();
    } catch (ToolError e) {
      return failure(ErrorKind.ERROR_KIND_TOOL_ERROR, e.code, e.getMessage(), "");
    } catch (Exception e) {
      if (cancelled.getCount() > 0) {
        Log.write(
            "error",
            "a tool failed",
            Map.of("tool", request.getTool(), "error", String.valueOf(e), "call_id", request.getContext().getCallId()));
      }
      // The model sees the code only.
      return failure(ErrorKind.ERROR_KIND_TOOL_FAILED, "fault", "", String.valueOf(e));
    }
  }

  private static CallToolResponse failure(ErrorKind kind, String code, String text, String detail) {
    return CallToolResponse.newBuilder()
        .setError(CallError.newBuilder().setKind(kind).setCode(code).setText(text).setDetail(detail))
        .build();
  }
}
