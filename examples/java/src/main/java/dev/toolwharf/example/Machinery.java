// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package dev.toolwharf.example;

import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** What go-plugin's hosts want besides: messages so small that their bytes are written by hand. */
final class Machinery {
  private static final byte[] SERVING = {0x08, 0x01}; // HealthCheckResponse{status: SERVING}
  private static final byte[] EMPTY = {};

  private Machinery() {}

  static ServerServiceDefinition health() {
    return unary("grpc.health.v1.Health", "Check", SERVING, () -> {});
  }

  static ServerServiceDefinition controller(Runnable stop) {
    return unary("plugin.GRPCController", "Shutdown", EMPTY, stop);
  }

  private static ServerServiceDefinition unary(String service, String method, byte[] answer, Runnable then) {
    MethodDescriptor<byte[], byte[]> descriptor =
        MethodDescriptor.newBuilder(new Verbatim(), new Verbatim())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(MethodDescriptor.generateFullMethodName(service, method))
            .build();
    return ServerServiceDefinition.builder(service)
        .addMethod(
            descriptor,
            ServerCalls.asyncUnaryCall(
                (request, observer) -> {
                  observer.onNext(answer);
                  observer.onCompleted();
                  then.run();
                }))
        .build();
  }

  private static final class Verbatim implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
