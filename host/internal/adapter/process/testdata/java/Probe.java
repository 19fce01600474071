// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Says what a Java plugin needs of its machine, a line each, and what it must not have. */
public class Probe {
  interface Attempt { Object run() throws Throwable; }

  static final StringBuilder report = new StringBuilder();

  static void attempt(String name, Attempt attempt) {
    String outcome;
    try {
      outcome = String.valueOf(attempt.run());
    } catch (Throwable t) {
      outcome = t.toString();
    }
    report.append(name).append(": ").append(outcome.lines().findFirst().orElse("")).append('\n');
  }

  public static void main(String[] args) throws Exception {
    attempt("its jar", () -> {
      try (InputStream in = Probe.class.getResourceAsStream("/Probe.class")) {
        return in.readAllBytes().length > 0;
      }
    });
    attempt("a temporary file", () -> Files.exists(Files.writeString(Files.createTempFile("x", "y"), "x")));
    attempt("a library that it has unpacked", () -> {
      // As netty does it: out of a jar, into the temporary directory, and loaded.
      Path copy = Files.createTempFile("lib", ".so");
      Files.write(copy, Files.readAllBytes(Path.of(System.getProperty("java.home"), "lib", "libnet.so")));
      System.load(copy.toString());
      return true;
    });
    attempt("TLS", () -> javax.net.ssl.SSLContext.getDefault() != null);
    attempt("certificates", () -> {
      var factory = javax.net.ssl.TrustManagerFactory.getInstance("PKIX");
      factory.init((java.security.KeyStore) null);
      return ((javax.net.ssl.X509TrustManager) factory.getTrustManagers()[0]).getAcceptedIssuers() != null;
    });
    attempt("keys", () -> java.security.KeyPairGenerator.getInstance("EC").generateKeyPair() != null);
    attempt("random numbers", () -> java.security.SecureRandom.getInstanceStrong().nextInt() != 0);
    attempt("threads", () -> {
      Thread t = new Thread(() -> {});
      t.start();
      t.join();
      return true;
    });
    attempt("a unix socket", () -> {
      var channel = java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX);
      channel.bind(java.net.UnixDomainSocketAddress.of(System.getenv("SOCKET")));
      return true;
    });
    attempt("its home", () -> System.getProperty("user.home").equals(System.getenv("HOME")) + ", " + System.getProperty("java.io.tmpdir").equals(System.getenv("TMPDIR")));
    attempt("another file", () -> Files.readString(Path.of(System.getenv("OTHER"))));
    attempt("a shell", () -> new ProcessBuilder("/bin/sh", "-c", "true").start().waitFor());
    attempt("a connection", () -> new java.net.Socket("127.0.0.1", 1));
    Files.writeString(Path.of(System.getenv("HOME"), "report"), report);
  }
}
