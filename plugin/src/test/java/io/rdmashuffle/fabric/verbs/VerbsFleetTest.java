// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.OwnerProcess;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.read.PeerReadChannel;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of a fleet's connections on a device: idle ones, and connection timeouts. */
@Tag("rdma")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class VerbsFleetTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

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
    void idleConnectionIsClosedAndReopened() throws Exception {
        try (Node reader = new Node(
                        directory,
                        TestVerbs.open(TestVerbs.settings(TestVerbs.CONNECT_TIMEOUT, Duration.ofMillis(400))));
                OwnerProcess owner = OwnerProcess.start(VerbsOwner.class, directory, directory);
                Peer peer = reader.fabric().connect("owner", owner.address())) {
            for (int round = 0; round < 3; round++) {
                assertThat(read(reader, peer, LONG, owner.data())).isEqualTo(OwnerProcess.content());
                eventually().until(() -> !isConnected(peer));
            }
        }
    }

    @Test
    void peerThatDoesNotAnswerARequestToConnectIsNotToBlame() throws Exception {
        try (Node reader =
                        new Node(directory, TestVerbs.open(TestVerbs.settings(Duration.ofSeconds(3), Duration.ZERO)));
                OwnerProcess slow = OwnerProcess.start(VerbsOwner.class, directory, directory);
                Peer peer = reader.fabric().connect("slow", slow.address())) {
            slow.signal("STOP");
            assertThat(failure(reader, peer, LONG, slow.data()).reason()).isEqualTo(Reason.NOT_CONNECTED);
            slow.signal("CONT");
            byte[] bytes = null;
            while (bytes == null) {
                try {
                    bytes = read(reader, peer, LONG, slow.data());
                } catch (ReadFailedException e) {
                    assertThat(e.reason()).as("in the pause").isEqualTo(Reason.NOT_CONNECTED);
                    Thread.sleep(100);
                }
            }
            assertThat(bytes).isEqualTo(OwnerProcess.content());
        }
    }
}
