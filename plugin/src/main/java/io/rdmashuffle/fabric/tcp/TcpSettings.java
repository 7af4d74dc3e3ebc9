// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Secret;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * Settings of the TCP fabric.
 *
 * @param host supplies this process's names; called once, when the first address is announced
 * @param ports port to listen on, and the number of further ports to try
 * @param threads selector threads for reading from peers, and as many for serving them
 * @param connectTimeout deadline of one attempt to connect
 * @param idleTimeout time without a read after which a connection is closed
 * @param readTimeout time without progress after which a served connection is closed
 * @param maxBytesInFlight bound on bytes being read at once
 * @param secret proof that peers must give; {@link Secret#NONE} without {@code spark.authenticate}
 */
public record TcpSettings(
        Supplier<Host> host,
        Ports ports,
        int threads,
        Duration connectTimeout,
        Duration idleTimeout,
        Duration readTimeout,
        long maxBytesInFlight,
        Secret secret) {
    /** A deadline for connections that have not proven themselves. */
    static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(5);

    /**
     * Host names or IP addresses of a process, as Spark's {@code --hostname} and {@code --bind-address}.
     *
     * @param announced under which peers reach it
     * @param bound at which it listens; where that is none of this host, it listens on all addresses
     */
    public record Host(String announced, String bound) {
        /** Listens where peers reach it. */
        public static Host of(String name) {
            return new Host(name, name);
        }
    }

    /**
     * Ports that a process may listen on.
     *
     * @param first 0 for any free port
     * @param retries how many of the following ports are tried when one is taken, as {@code spark.port.maxRetries}
     */
    public record Ports(int first, int retries) {
        private static final int FIRST_UNPRIVILEGED = 1024;
        private static final int COUNT = 65536 - FIRST_UNPRIVILEGED;

        /** Any free port. */
        public static final Ports ANY = new Ports(0, 0);

        /** Returns the port of an attempt, which wraps to 1024 after 65535. Source: {@code Utils.userPort} of Spark. */
        int ofAttempt(int attempt) {
            return first == 0 || attempt == 0
                    ? first
                    : (first + attempt - FIRST_UNPRIVILEGED) % COUNT + FIRST_UNPRIVILEGED;
        }
    }
}
