// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package dev.toolwharf.example;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** A Toolwharf plugin without an SDK, written from docs/protocol.md. */
public final class Main {
  static final String NAME = "java";
  static final String VERSION = "1.0.0";
  private static final String PROTOCOL = "1";

  /** What hosts send and accept at most; gRPC's own default is 4 MiB. */
  private static final int MESSAGE_BYTES = 16 << 20;

  /** Milliseconds; two seconds after Shutdown the host ends the process. */
  private static final long GRACE = 1000;

  private final AtomicBoolean stopping = new AtomicBoolean();
  private Server server;

  private Main() {}

  public static void main(String[] args) throws Exception {
    Map<String, String> env = System.getenv();
    if (!"toolwharf.plugin.v1".equals(env.get("TOOLWHARF_PLUGIN"))) {
      refuse(NAME + " is a Toolwharf plugin: it is started by a host, and says nothing by itself");
    }
    String offered = env.getOrDefault("PLUGIN_PROTOCOL_VERSIONS", "");
    if (!Arrays.asList(offered.split(",")).contains(PROTOCOL)) {
      refuse("the host offers the protocol versions '" + offered + "', this plugin speaks " + PROTOCOL);
    }
    String certificate = env.get("PLUGIN_CLIENT_CERT");
    String directory = env.get("PLUGIN_UNIX_SOCKET_DIR");
    if (certificate == null || directory == null) {
      refuse("the host gives no certificate or no directory for the socket");
    }
    new Main().serve(certificate, Path.of(directory));
  }

  private static void refuse(String why) {
    System.err.println(why);
    System.exit(1);
  }

  private void serve(String hostCertificate, Path directory) throws Exception {
    Signal.handle(new Signal("INT"), SignalHandler.SIG_IGN); // Ctrl-C is for the host
    Signal.handle(new Signal("TERM"), signal -> stop());
    watchParent();

    Identity identity = Identity.create();
    Path socket = directory.resolve(HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt()) + ".sock");
    PluginService plugin = new PluginService();
    server =
        // The JDK's own unix sockets: nothing native has to be unpacked, for which a
        // sandbox has no place.
        NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
            .channelType(NioServerDomainSocketChannel.class)
            .bossEventLoopGroup(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
            .workerEventLoopGroup(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
            .executor(Executors.newCachedThreadPool())
            .sslContext(identity.serverContext(hostCertificate))
            .maxInboundMessageSize(MESSAGE_BYTES)
            .addService(plugin)
            .addService(new ToolService(plugin))
            .addService(Machinery.health())
            .addService(Machinery.controller(this::stop))
            .build()
            .start();

    String der = Base64.getEncoder().withoutPadding().encodeToString(identity.certificate().getEncoded());
    System.out.println(String.join("|", "1", PROTOCOL, "unix", socket.toString(), "grpc", der));
    System.out.flush();
    System.setOut(System.err); // whatever else is printed is a log line
    server.awaitTermination();
  }

  /** Ends when the host has ended, where neither a kernel nor a guardian sees to that. */
  private void watchParent() {
    ProcessHandle.current()
        .parent()
        .ifPresent(parent -> parent.onExit().thenRun(this::stop));
  }

  /** Takes no new calls, lets those that run finish, and ends. */
  private void stop() {
    if (!stopping.compareAndSet(false, true)) {
      return;
    }
    new Thread(
            () -> {
              try {
                Objects.requireNonNull(server).shutdown().awaitTermination(GRACE, TimeUnit.MILLISECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              Runtime.getRuntime().halt(0);
            })
        .start();
  }
}
