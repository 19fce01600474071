// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package dev.toolwharf.example;

import com.google.gson.Gson;
import java.util.LinkedHashMap;
import java.util.Map;

/** Logs: one JSON object a line on stderr. */
final class Log {
  private static final Gson GSON = new Gson();

  private Log() {}

  static void write(String level, String message, Map<String, ?> attributes) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("@level", level);
    line.put("@message", message);
    line.putAll(attributes);
    System.err.println(GSON.toJson(line));
  }
}
