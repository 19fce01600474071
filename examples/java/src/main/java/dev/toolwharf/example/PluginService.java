// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package dev.toolwharf.example;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import toolwharf.plugin.v1.Plugin.ConfigureRequest;
import toolwharf.plugin.v1.Plugin.ConfigureResponse;
import toolwharf.plugin.v1.Plugin.DescribeRequest;
import toolwharf.plugin.v1.Plugin.DescribeResponse;
import toolwharf.plugin.v1.Plugin.Limits;
import toolwharf.plugin.v1.Plugin.WatchRequest;
import toolwharf.plugin.v1.Plugin.WatchResponse;
import toolwharf.plugin.v1.PluginServiceGrpc;

/** Says who the plugin is, takes its configuration and lists its tools. */
final class PluginService extends PluginServiceGrpc.PluginServiceImplBase {
  private volatile Limits limits; // set by configure

  /** What the host accepts; null before Configure has succeeded. */
  Limits limits() {
    return limits;
  }

  static Throwable unconfigured() {
    return Status.FAILED_PRECONDITION.withDescription("Configure has not succeeded yet").asException();
  }

  @Override
  public void describe(DescribeRequest request, StreamObserver<DescribeResponse> reply) {
    reply.onNext(
        DescribeResponse.newBuilder()
            .setName(Main.NAME)
            .setVersion(Main.VERSION)
            .setTitle("Java without an SDK")
            .addFeatures("tools")
            .build());
    reply.onCompleted();
  }

  @Override
  public void configure(ConfigureRequest request, StreamObserver<ConfigureResponse> reply) {
    if (!request.getCheckOnly()) {
      limits = request.getLimits();
    }
    reply.onNext(ConfigureResponse.getDefaultInstance()); // no diagnostics, no grants
    reply.onCompleted();
  }

  @Override
  public void watch(WatchRequest request, StreamObserver<WatchResponse> events) {
    if (limits == null) {
      events.onError(unconfigured());
      return;
    }
    events.onNext(WatchResponse.newBuilder().setCatalog(Tools.catalog()).build());
    events.onCompleted(); // the catalogue never changes
  }
}
