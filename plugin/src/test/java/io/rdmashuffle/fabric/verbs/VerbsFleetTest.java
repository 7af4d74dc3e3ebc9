// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Connections of a fleet, on a device: those that nothing uses, and those that are not made in time. */
@Tag("rdma")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class VerbsFleetTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private static byte[] read(Node reader, Peer peer, RemoteSlice slice) throws Exception {
        BlockingReads reads = new BlockingReads(new ReceiveLeases(reader.pool(), Duration.ofSeconds(5)), TIMEOUT);
        try (RemoteBytes bytes = reads.read(peer, List.of(slice))) {
            return TestPools.bytes(bytes.memory(0));
        }
    }

    private static boolean isConnected(Peer peer) throws InterruptedException {
        PeerReadChannel channel = ((VerbsPeer) peer).channels().get(0);
        AtomicBoolean connected = new AtomicBoolean();
        CountDownLatch seen = new CountDownLatch(1);
        channel.execute(() -> {
            connected.set(channel.connection() != null);
            seen.countDown();
        });
        assertThat(seen.await(30, TimeUnit.SECONDS)).isTrue();
        return connected.get();
    }

    @Test
    void connectionThatNothingReadsThroughIsClosedAndOpenedAgain() throws Exception {
        try (Node reader = new Node(
                        directory,
                        TestVerbs.open(TestVerbs.settings(TestVerbs.CONNECT_TIMEOUT, Duration.ofMillis(400))));
                PeerProcess owner = PeerProcess.start(directory);
                Peer peer = reader.fabric().connect("owner", owner.address())) {
            for (int round = 0; round < 3; round++) {
                assertThat(read(reader, peer, owner.data())).isEqualTo(PeerProcess.expected());
                eventually().until(() -> !isConnected(peer));
            }
        }
    }

    @Test
    void peerThatDoesNotAnswerARequestToConnectIsNotToBlame() throws Exception {
        try (Node reader =
                        new Node(directory, TestVerbs.open(TestVerbs.settings(Duration.ofSeconds(3), Duration.ZERO)));
                PeerProcess slow = PeerProcess.start(directory);
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            slow.signal("STOP");
            ReadFailedException failure =
                    catchThrowableOfType(ReadFailedException.class, () -> read(reader, peer, slow.data()));
            assertThat(failure.reason()).isEqualTo(Reason.NOT_CONNECTED);
            slow.signal("CONT");
            byte[] bytes = null;
            while (bytes == null) {
                try {
                    bytes = read(reader, peer, slow.data());
                } catch (ReadFailedException e) {
                    assertThat(e.reason()).as("in the pause").isEqualTo(Reason.NOT_CONNECTED);
                    Thread.sleep(100);
                }
            }
            assertThat(bytes).isEqualTo(PeerProcess.expected());
        }
    }
}
