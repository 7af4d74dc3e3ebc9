// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Attempts to connect to a peer that may have several addresses: which address is tried, for how long, and how long the
 * pause is after a failure.
 *
 * <p>An attempt tries the addresses one after another. Each has an equal part of the timeout, the handshake included,
 * and the last one the rest. A failed attempt is followed by a pause, which doubles from 50 ms to 2 s. A peer that does
 * not answer, as behind a firewall, and with which no handshake ever succeeded is left alone for six times as long as
 * the attempt took, and the pause doubles up to 10 minutes.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ConnectAttempts {
    /** Tries of a peer that accepts connections. */
    private static final int MIN_HANDSHAKES = 3;

    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** An attempt that takes at least this long has met a peer that does not answer. */
    private static final long LONG_ATTEMPT_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** While no handshake has succeeded. */
    private static final long LONGEST_FIRST_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(10);
    /** Pause after a long attempt, as a multiple of its duration. */
    private static final long PAUSE_PER_ATTEMPT = 6;

    private final List<InetAddress> hosts;
    private final int port;
    private final long timeoutNanos;

    private int host;
    private int tries;
    private long startedNanos;
    private long hostStartedNanos;
    private boolean everSucceeded;
    private long pauseNanos;
    private long pausedUntilNanos;

    /**
     * Starts without a pause.
     *
     * @param hosts addresses of the peer, tried in this order from {@code firstHost} on
     * @param timeout of an attempt
     */
    ConnectAttempts(List<InetAddress> hosts, int port, int firstHost, Duration timeout, long nowNanos) {
        this.hosts = hosts;
        this.port = port;
        this.host = firstHost % hosts.size();
        this.timeoutNanos = timeout.toNanos();
        this.pausedUntilNanos = nowNanos;
    }

    /** Returns whether the last attempt failed so recently that no new one may begin yet. */
    boolean isPaused(long nowNanos) {
        return nowNanos - pausedUntilNanos < 0;
    }

    /** Begins an attempt; {@link #tryHost} follows. */
    void begin(long nowNanos) {
        startedNanos = nowNanos;
        tries = 0;
    }

    /** Counts a try of the current address, and returns it. */
    InetSocketAddress tryHost(long nowNanos) {
        hostStartedNanos = nowNanos;
        tries++;
        return new InetSocketAddress(hosts.get(host), port);
    }

    /** Makes the current address of another connection to the same peer the current one. */
    void follow(ConnectAttempts other) {
        host = other.host;
    }

    /** Makes the next address the current one. */
    void nextHost() {
        host = (host + 1) % hosts.size();
    }

    /** Returns whether this attempt has addresses left to try. */
    boolean hasUntriedHost() {
        return tries < hosts.size();
    }

    /**
     * Returns whether this attempt goes on after an error.
     *
     * @param reached whether the peer had accepted the connection. An overloaded peer closes connections whose
     *     handshake takes long, so each address may be tried several times
     */
    boolean mayTryAgain(boolean reached, long nowNanos) {
        int most = reached ? Math.max(MIN_HANDSHAKES, hosts.size()) : hosts.size();
        return tries < most && !isOver(nowNanos);
    }

    /** Returns whether the attempt has used up its time. */
    boolean isOver(long nowNanos) {
        return nowNanos - startedNanos >= timeoutNanos;
    }

    /** Returns whether the current address has used up its part of the time, and another is left. */
    boolean isHostOver(long nowNanos) {
        return hasUntriedHost() && nowNanos - hostStartedNanos >= timeoutNanos / hosts.size();
    }

    /** Returns whether the current address took so long to fail that it did not answer, rather than refuse. */
    boolean wasSilent(long nowNanos) {
        return nowNanos - hostStartedNanos >= LONG_ATTEMPT_NANOS;
    }

    /** Ends an attempt: the handshake is done. */
    void succeeded() {
        everSucceeded = true;
        pauseNanos = 0;
    }

    /** Ends an attempt that failed and begins the pause; the next attempt starts with the following address. */
    void failed(long nowNanos) {
        nextHost();
        long longer = Math.max(FIRST_PAUSE_NANOS, 2 * pauseNanos);
        long attempt = nowNanos - startedNanos;
        pauseNanos = everSucceeded || attempt < LONG_ATTEMPT_NANOS
                ? Math.min(LONGEST_PAUSE_NANOS, longer)
                : Math.min(LONGEST_FIRST_PAUSE_NANOS, Math.max(longer, PAUSE_PER_ATTEMPT * attempt));
        pausedUntilNanos = nowNanos + pauseNanos;
    }

    /** Returns the current address, for messages. */
    String currentHost() {
        return hosts.get(host) + ":" + port;
    }
}
