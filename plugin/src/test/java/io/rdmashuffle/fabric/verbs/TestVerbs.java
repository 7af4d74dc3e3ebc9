// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.verbs.QueuePairTuning;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Assumptions;

/** Verbs fabrics for tests; without a device the test is skipped, and failed where {@code REQUIRE_RDMA=1} is set. */
final class TestVerbs {
    static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    private TestVerbs() {}

    static VerbsSettings settings(long maxBytesInFlight) {
        return settings(maxBytesInFlight, List.of(), 1, Secret.NONE);
    }

    static VerbsSettings settings(long maxBytesInFlight, List<PortSelector> ports, int threads, Secret secret) {
        return new VerbsSettings(
                ports,
                Duration.ZERO,
                threads,
                Duration.ofNanos(20_000),
                16,
                64,
                16 << 10,
                new QueuePairTuning(
                        14, 7, QueuePairTuning.AS_PROPOSED, QueuePairTuning.AS_PROPOSED, QueuePairTuning.AS_PROPOSED),
                CONNECT_TIMEOUT,
                Duration.ZERO,
                maxBytesInFlight,
                maxBytesInFlight / 4,
                Duration.ofSeconds(30),
                false,
                true,
                OptionalInt.empty(),
                secret);
    }

    /** Returns settings with other times. */
    static VerbsSettings settings(Duration connectTimeout, Duration idleTimeout) {
        VerbsSettings usual = settings(8 << 20);
        return new VerbsSettings(
                usual.ports(),
                usual.deviceTimeout(),
                usual.threads(),
                usual.pollTime(),
                usual.initiatorDepth(),
                usual.queueDepth(),
                usual.readBytes(),
                usual.tuning(),
                connectTimeout,
                idleTimeout,
                usual.maxBytesInFlight(),
                usual.maxBytesStaged(),
                usual.readTimeout(),
                usual.onDemandPaging(),
                usual.relaxedOrdering(),
                usual.completionVector(),
                usual.secret());
    }

    /** Returns the two software devices that bin/rxe makes. */
    static List<PortSelector> bothRails() {
        String kind = System.getenv().getOrDefault("RXE_DEVICE", "rxe");
        return List.of(new PortSelector(kind + "0", -1, -1), new PortSelector(kind + "1", -1, -1));
    }

    /** Returns whether a fabric's device speaks iWARP. */
    static boolean isIwarp(Fabric fabric) {
        return ((VerbsFabric) fabric).rails().get(0).context().transport() == Transport.IWARP;
    }

    /** Opens a fabric, or skips the test with the reason why there is none. */
    static VerbsFabric open(VerbsSettings settings) {
        try {
            return VerbsFabric.open(settings);
        } catch (RdmaUnavailableException e) {
            if ("1".equals(System.getenv("REQUIRE_RDMA"))) {
                throw new AssertionError("REQUIRE_RDMA=1, but there is no RDMA", e);
            }
            Assumptions.abort(String.valueOf(e.getMessage()));
            throw new IllegalStateException("abort always throws", e);
        }
    }
}
