// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package dev.toolwharf.example;

import com.google.gson.Gson;
import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import toolwharf.plugin.v1.CatalogOuterClass.Catalog;
import toolwharf.plugin.v1.CatalogOuterClass.Effects;
import toolwharf.plugin.v1.ContentOuterClass.Content;
import toolwharf.plugin.v1.ContentOuterClass.TextContent;
import toolwharf.plugin.v1.Tool.ToolResult;

/** The tools. */
final class Tools {
  private static final Gson GSON = new Gson();
  private static final List<String> notes = new CopyOnWriteArrayList<>();

  /** What a tool does with a call. */
  interface Body {
    ToolResult call(ToolService.Call call) throws Exception;
  }

  record Tool(String description, String schema, Effects effects, boolean confirm, Body run) {}

  static final Map<String, Tool> ALL = new LinkedHashMap<>();

  static {
    // JSON text, not maps: Map.of has another order in every process, and a schema in
    // other bytes is another tool.
    read("echo", "Give back any JSON value, every digit as it came.", "{'value': {}}", "value", Tools::echo);
    read(
        "repeat",
        "Repeat a text.",
        "{'text': {'type': 'string'}, 'times': {'type': 'integer', 'minimum': 1, 'maximum': 1000}}",
        "text",
        Tools::repeat);
    read(
        "count",
        "Count slowly, ten a second, and say how far it is.",
        "{'to': {'type': 'integer', 'minimum': 1, 'maximum': 10000}}",
        "to",
        Tools::count);
    read("find", "Look for something that is not there.", "{'name': {'type': 'string'}}", "name", Tools::find);
    ALL.put(
        "jot",
        new Tool(
            "Keep a note as long as this process lives, and say how many there are.",
            objectOf("{'text': {'type': 'string', 'maxLength': 1000}}", "text"),
            Effects.EFFECTS_ADDITIVE,
            true, // somebody is asked, unless a rule says otherwise
            Tools::jot));
  }

  private Tools() {}

  static Catalog catalog() {
    Catalog.Builder catalog = Catalog.newBuilder();
    ALL.forEach(
        (name, tool) ->
            catalog
                .addToolsBuilder()
                .setName(name)
                .setDescription(tool.description())
                .setInputSchema(ByteString.copyFromUtf8(tool.schema()))
                .setEffects(tool.effects())
                .setIdempotent(tool.effects() == Effects.EFFECTS_READ_ONLY)
                .setConfirm(tool.confirm()));
    return catalog.build();
  }

  private static void read(String name, String description, String properties, String required, Body run) {
    ALL.put(name, new Tool(description, objectOf(properties, required), Effects.EFFECTS_READ_ONLY, false, run));
  }

  private static String objectOf(String properties, String required) {
    return "{'type': 'object', 'properties': %s, 'required': ['%s'], 'additionalProperties': false}"
        .formatted(properties, required)
        .replace('\'', '"');
  }

  private static ToolResult structured(Map<String, ?> value) {
    return ToolResult.newBuilder().setStructured(ByteString.copyFromUtf8(GSON.toJson(value))).build();
  }

  /** The bytes go back as they came: a double would lose digits. */
  private static ToolResult echo(ToolService.Call call) {
    return ToolResult.newBuilder().setStructured(call.request().getArguments()).build();
  }

  private static ToolResult repeat(ToolService.Call call) {
    int times = call.arguments().has("times") ? call.arguments().get("times").getAsInt() : 1;
    String repeated = call.arguments().get("text").getAsString().repeat(times);
    return structured(Map.of("bytes", repeated.getBytes(StandardCharsets.UTF_8).length)).toBuilder()
        .addContent(Content.newBuilder().setText(TextContent.newBuilder().setText(repeated)))
        .build();
  }

  private static ToolResult count(ToolService.Call call) throws InterruptedException {
    int to = call.arguments().get("to").getAsInt();
    Log.write("info", "count begins", Map.of("to", to, "call_id", call.id()));
    for (int n = 1; n <= to; n++) {
      if (call.cancelled().await(100, TimeUnit.MILLISECONDS)) {
        Log.write("warn", "count is cancelled", Map.of("counted", n - 1, "call_id", call.id()));
        throw new InterruptedException("cancelled");
      }
      call.progress(n, to);
    }
    return structured(Map.of("counted", to));
  }

  private static ToolResult find(ToolService.Call call) throws ToolService.ToolError {
    throw new ToolService.ToolError("not_found", "there is no '" + call.arguments().get("name").getAsString() + "' here");
  }

  private static ToolResult jot(ToolService.Call call) {
    notes.add(call.arguments().get("text").getAsString());
    return structured(Map.of("notes", notes.size()));
  }
}
