// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.all;
import static io.rdmashuffle.fabric.ReadFixture.read;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.PeerFiles;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a fabric does that serves the pool of a process which has ended; each provider that can runs it by extending it.
 */
@Tag("contract")
@Timeout(120)
@ExtendWith(LeakCheck.class)
public abstract class InheritanceContract {
    private static final long BYTES_IN_FLIGHT = 256 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @TempDir
    Path disk;

    @TempDir
    Path diskOfHeir;

    private ReadFixture fixture;
    private Node owner;
    private Node heir;
    private Node reader;
    private Lease inMemory;
    private Lease onDisk;
    private byte[] diskContent;
    private EndedPool ended;
    private byte[] before;

    /** Creates a fabric with this bound. */
    protected abstract Fabric fabric(long maxBytesInFlight);

    @BeforeEach
    void open() throws Exception {
        fixture = new ReadFixture(directory);
        owner = fixture.node(fabric(BYTES_IN_FLIGHT));
        heir = fixture.node(fabric(BYTES_IN_FLIGHT));
        reader = fixture.node(fabric(BYTES_IN_FLIGHT));
        heir.pool().setAside(0, 64 << 10);
        fixture.serveDisk(heir, diskOfHeir, new byte[ReadFixture.BYTES]);
        inMemory = fixture.data(owner);
        diskContent = new byte[ReadFixture.BYTES];
        new Random(5).nextBytes(diskContent);
        onDisk = fixture.serveDisk(owner, disk, diskContent);
        before = owner.fabric().localAddress();
        owner.fabric().close();
        int diskRegion = onDisk.region().id();
        Path diskFile = onDisk.region().file();
        ended = EndedPool.open(
                PeerFiles.of(owner.pool().regions().get(0)), region -> region == diskRegion ? diskFile : null);
    }

    @AfterEach
    void close() {
        if (ended != null) {
            ended.close();
        }
        fixture.close();
    }

    private Peer connect() throws PeerUnreachableException {
        byte[] now = Objects.requireNonNull(heir.fabric().inherit(before, ended), "not served");
        return reader.fabric().connect("3", now);
    }

    private boolean isReadable(Peer peer) throws Exception {
        try {
            ReadFixture.assertReadable(reader, peer, inMemory);
            return true;
        } catch (ReadFailedException e) {
            return false;
        }
    }

    @Test
    void othersReadMemoryAndDiskOfTheEndedProcess() throws Exception {
        try (Peer peer = connect()) {
            ReadFixture.assertReadable(reader, peer, inMemory);
            assertThat(read(reader, peer, LONG, all(onDisk))).isEqualTo(diskContent);
        }
    }

    @Test
    void theHeirsOwnPoolIsReadBesideIt() throws Exception {
        Lease own = fixture.data(heir);
        try (Peer peer = connect();
                Peer toHeir = reader.connect(heir)) {
            for (int i = 0; i < 3; i++) {
                ReadFixture.assertReadable(reader, peer, inMemory);
                ReadFixture.assertReadable(reader, toHeir, own);
            }
        }
    }

    @Test
    void whatIsRenouncedIsReadNoMore() throws Exception {
        Lease own = fixture.data(heir);
        try (Peer peer = connect();
                Peer toHeir = reader.connect(heir)) {
            assertThat(isReadable(peer)).isTrue();
            heir.fabric().renounce(before, ended);
            ended.close();
            eventually().until(() -> !isReadable(peer));
            eventually().until(() -> isUnmapped(ended));
            ReadFixture.assertReadable(reader, toHeir, own);
        }
    }

    private static boolean isUnmapped(EndedPool closed) {
        if (!closed.retain()) {
            return true;
        }
        closed.release();
        return false;
    }

    @Test
    void oneThatIsInheritedAgainIsReadAgain() throws Exception {
        try (Peer peer = connect()) {
            assertThat(isReadable(peer)).isTrue();
            heir.fabric().renounce(before, ended);
            eventually().until(() -> !isReadable(peer));
        }
        try (Peer peer = connect()) {
            eventually().until(() -> isReadable(peer));
        }
    }

    @Test
    void processThatLeftReadsNoMore() throws Exception {
        try (Peer peer = connect()) {
            assertThat(isReadable(peer)).isTrue();
            heir.fabric().revoke(reader.fabric().localAddress());
            eventually().until(() -> !isReadable(peer));
            heir.fabric().admit(reader.fabric().localAddress());
            eventually().until(() -> isReadable(peer));
        }
    }

    @Test
    void itsOwnPoolAndAddressesThatAreNoneAreNotInherited() throws Exception {
        assertThat(heir.fabric().inherit(heir.fabric().localAddress(), ended)).isNull();
        assertThatThrownBy(() -> heir.fabric().inherit(new byte[] {1, 2, 3}, ended))
                .isInstanceOf(PeerUnreachableException.class);
        heir.fabric().renounce(new byte[] {1, 2, 3}, ended);
        heir.fabric().renounce(before, ended);
        Lease own = fixture.data(heir);
        try (Peer toHeir = reader.connect(heir)) {
            ReadFixture.assertReadable(reader, toHeir, own);
        }
    }
}
