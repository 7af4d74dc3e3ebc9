// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.connect.ConnectSettings;
import io.rdmashuffle.fabric.verbs.device.RailSettings;
import io.rdmashuffle.verbs.QueuePairTuning;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;

/**
 * Settings of the verbs fabric.
 *
 * @param ports which ports to use, one rail each; empty for the best one
 * @param deviceTimeout how long to wait for ports that are named; zero if not at all
 * @param threads data threads for each port, each with a queue pair to each peer that is read from
 * @param pollTime how long a data thread looks for completions before it sleeps
 * @param initiatorDepth most READs that one queue pair has under way at the device
 * @param queueDepth most READs that one queue pair has posted
 * @param readBytes longest single READ; longer requests are split
 * @param tuning what connections change of the proposed values
 * @param connectTimeout deadline of one attempt to connect
 * @param idleTimeout after how long a queue pair is closed through which nothing was read; zero if never
 * @param maxBytesInFlight bound on bytes being read at once
 * @param maxBytesStaged bound on bytes of the disk tier that lie in memory for peers to read
 * @param readTimeout how long peers may read them
 * @param onDemandPaging register without pinning where the device can
 * @param relaxedOrdering ask devices to let their accesses pass one another on the bus
 * @param completionVector the completion vector of a rail's first queue; empty if any will do
 * @param secret what peers must prove to know
 */
public record VerbsSettings(
        List<PortSelector> ports,
        Duration deviceTimeout,
        int threads,
        Duration pollTime,
        int initiatorDepth,
        int queueDepth,
        int readBytes,
        QueuePairTuning tuning,
        Duration connectTimeout,
        Duration idleTimeout,
        long maxBytesInFlight,
        long maxBytesStaged,
        Duration readTimeout,
        boolean onDemandPaging,
        boolean relaxedOrdering,
        OptionalInt completionVector,
        Secret secret) {
    public VerbsSettings {
        ports = List.copyOf(ports);
    }

    /** Returns the settings of devices. */
    RailSettings forRails() {
        return new RailSettings(onDemandPaging, relaxedOrdering, completionVector);
    }

    /** Returns the settings of connections. */
    ConnectSettings forConnecting() {
        return new ConnectSettings(tuning, connectTimeout, initiatorDepth, queueDepth, readBytes, secret);
    }
}
