// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What every fabric does with processes that have left the membership; each provider runs it by extending it. */
@Tag("contract")
@Timeout(120)
@ExtendWith(LeakCheck.class)
public abstract class RevocationContract {
    private static final long BYTES_IN_FLIGHT = 256 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadFixture fixture;
    private Node owner;
    private Node reader;
    private Node other;
    private Lease data;

    /** Creates a fabric with this bound. */
    protected abstract Fabric fabric(long maxBytesInFlight);

    /** Returns whether a process can keep others from reading, rather than leaving that to the kernel. */
    protected abstract boolean revokes();

    @BeforeEach
    void open() throws InterruptedException {
        fixture = new ReadFixture(directory);
        owner = fixture.node(fabric(BYTES_IN_FLIGHT));
        reader = fixture.node(fabric(BYTES_IN_FLIGHT));
        other = fixture.node(fabric(BYTES_IN_FLIGHT));
        data = fixture.data(owner);
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    private boolean reads(Node through, Peer peer) throws Exception {
        try {
            ReadFixture.assertReadable(through, peer, data);
            return true;
        } catch (ReadFailedException e) {
            return false;
        }
    }

    /** A revocation takes effect on another thread. */
    private void await(Peer peer, boolean works) {
        eventually().until(() -> reads(reader, peer) == works);
    }

    @Test
    void processThatLeftReadsNoMoreUntilItIsAdmittedAgain() throws Exception {
        try (Peer peer = reader.connect(owner);
                Peer another = other.connect(owner)) {
            await(peer, true);
            assertThat(reads(other, another)).isTrue();
            owner.fabric().revoke(reader.fabric().localAddress());
            await(peer, !revokes());
            assertThat(reads(other, another)).as("another process").isTrue();
            owner.fabric().admit(reader.fabric().localAddress());
            await(peer, true);
        }
    }

    @Test
    void processThatLeftBeforeItsFirstReadIsRefused() throws Exception {
        owner.fabric().revoke(reader.fabric().localAddress());
        try (Peer peer = reader.connect(owner);
                Peer another = other.connect(owner)) {
            await(peer, !revokes());
            assertThat(reads(other, another)).isTrue();
        }
    }

    @Test
    void addressesThatAreNoneAreIgnored() throws Exception {
        owner.fabric().revoke(new byte[] {1, 2, 3});
        owner.fabric().admit(new byte[0]);
        try (Peer peer = reader.connect(owner)) {
            assertThat(reads(reader, peer)).isTrue();
        }
    }

    @Test
    void closedFabricRevokesNothing() {
        byte[] address = reader.fabric().localAddress();
        owner.fabric().close();
        owner.fabric().revoke(address);
        owner.fabric().admit(address);
    }
}
