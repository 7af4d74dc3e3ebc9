// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a data thread visits only active channels, however many are connected. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class ActiveChannelsTest {
    private static final int IDLE = 1000;
    private static final int TURNS = 100;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadRig rig;
    private final List<PeerReadChannel> channels = new ArrayList<>();
    private final List<Integer> pairs = new ArrayList<>();

    @BeforeEach
    void connect() throws InterruptedException {
        rig = new ReadRig(directory, new Random(5));
        for (int i = 0; i < IDLE; i++) {
            PeerReadChannel channel =
                    rig.thread().createChannel("peer " + i, i, InetSocketAddress.createUnresolved("peer", i));
            channels.add(channel);
            submit(channel, ReadRig.TIMEOUT_NANOS);
            int pair = rig.connect();
            rig.queues().succeed(pair, 1);
            rig.settle();
            pairs.add(pair);
        }
        assertThat(rig.outcomes().successes()).isEqualTo(IDLE);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void submit(PeerReadChannel channel, long timeoutNanos) throws InterruptedException {
        rig.submit(rig.request(rig.slice(0, 100)), channel, timeoutNanos);
    }

    private long visits() {
        return rig.thread().channels().visits();
    }

    /** Lets turns go by, with an expiry in each. */
    private long visitsOfTurns() {
        long before = visits();
        for (int i = 0; i < TURNS; i++) {
            rig.pass(Duration.ofMillis(10));
            rig.turn();
        }
        return visits() - before;
    }

    @Test
    void idleChannelsAreNotVisited() {
        assertThat(rig.queues().pairNumbers()).hasSize(IDLE);
        assertThat(visitsOfTurns()).isZero();
    }

    @Test
    void onlyTheOneThatReadsIsVisited() throws Exception {
        submit(channels.get(500), ReadRig.TIMEOUT_NANOS);
        rig.settle();
        assertThat(visitsOfTurns()).as("to go on, and to look at deadlines").isEqualTo(2 * TURNS);
        rig.queues().succeed(pairs.get(500), 1);
        rig.settle();
        assertThat(rig.outcomes().successes()).isEqualTo(IDLE + 1);
        assertThat(visitsOfTurns()).isZero();
    }

    /** A fleet that starts waits for hundreds of connections at once. */
    @Test
    void connectingChannelsOnlyHaveDeadlines() throws Exception {
        PeerReadChannel unconnected =
                rig.thread().createChannel("new", 7, InetSocketAddress.createUnresolved("new", 1));
        submit(unconnected, ReadRig.TIMEOUT_NANOS);
        rig.settle();
        assertThat(visitsOfTurns()).isEqualTo(TURNS);
        submit(unconnected, ReadRig.TIMEOUT_NANOS);
        rig.settle();
        int pair = rig.connect();
        rig.queues().succeed(pair, 2);
        rig.settle();
        assertThat(rig.outcomes().successes()).isEqualTo(IDLE + 2);
        assertThat(visitsOfTurns()).isZero();
    }

    @Test
    void deadlinesAreWatchedOfWhatIsPostedAndOfWhatWaits() throws Exception {
        submit(channels.get(3), Duration.ofSeconds(1).toNanos());
        PeerReadChannel unconnected =
                rig.thread().createChannel("new", 7, InetSocketAddress.createUnresolved("new", 1));
        submit(unconnected, Duration.ofSeconds(2).toNanos());
        rig.settle();
        rig.pass(Duration.ofMillis(999));
        rig.settle();
        assertThat(rig.outcomes().failures()).isEmpty();
        rig.pass(Duration.ofMillis(10));
        rig.settle();
        assertThat(rig.outcomes().failures())
                .singleElement()
                .satisfies(failure -> assertThat(failure.reason()).isEqualTo(Reason.TIMED_OUT));
        rig.pass(Duration.ofSeconds(1));
        rig.settle();
        assertThat(rig.outcomes().lastFailure())
                .hasValueSatisfying(failure -> assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED));
        assertThat(rig.outcomes().count()).isEqualTo(IDLE + 2);
        rig.turn();
        assertThat(visitsOfTurns()).as("nothing is left to do").isZero();
    }

    @Test
    void allAreClosedWithTheirThread() {
        rig.thread().stop();
        rig.thread().run();
        assertThat(rig.queues().pairNumbers()).isEmpty();
        assertThat(rig.control().alive()).isEmpty();
    }

    @Test
    void channelsThatAreClosedAreForgotten() {
        List<PeerReadChannel> open = new ArrayList<>();
        ReadFailedException failure = new ReadFailedException(Reason.CLOSED, "closed");
        channels.subList(0, 10).forEach(channel -> channel.close(failure));
        rig.thread().channels().forEachOpen(open::add);
        assertThat(open).hasSize(IDLE - 10).doesNotContainAnyElementsOf(channels.subList(0, 10));
    }
}
