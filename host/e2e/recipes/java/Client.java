// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Does with the official client what is asked on stdin: client.mjs, in Java.
 *
 * <p>java -cp 'target/lib/*' Client.java url token
 */
final class Client {
  public static void main(String[] args) throws Exception {
    McpJsonMapper json = McpJsonDefaults.getMapper();
    HttpClientStreamableHttpTransport transport =
        HttpClientStreamableHttpTransport.builder(args[0].replaceFirst("/mcp$", ""))
            .httpRequestCustomizer((request, method, uri, body, context) -> request.header("Authorization", "Bearer " + args[1]))
            .build();
    try (McpSyncClient client = McpClient.sync(transport).build()) {
      client.initialize();
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
          @SuppressWarnings("unchecked")
          Map<String, Object> asked = json.readValue(line, Map.class);
          if (asked.containsKey("name")) {
            call(client, asked, answer);
          } else {
            answer.put("tools", client.listTools().tools().stream().map(Tool::name).toList());
            answer.put("protocol", client.getCurrentInitializationResult().protocolVersion());
          }
        } catch (Exception e) {
          answer.put("thrown", String.valueOf(e.getMessage()));
        }
        System.out.write((json.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
        System.out.flush();
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static void call(McpSyncClient client, Map<String, Object> asked, Map<String, Object> answer) {
    CallToolResult result =
        client.callTool(
            CallToolRequest.builder((String) asked.get("name"))
                .arguments((Map<String, Object>) asked.get("arguments"))
                .meta((Map<String, Object>) asked.get("meta"))
                .build());
    answer.put("text", result.content().stream().map(block -> ((TextContent) block).text()).collect(Collectors.joining()));
    answer.put("isError", Boolean.TRUE.equals(result.isError()));
    answer.put("meta", result.meta());
  }
}
