// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.slice.Mapping;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of readers of a peer that releases regions. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ShmAbsentRegionsTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private Node owner;
    private Node reader;
    private Peer peer;
    private Lease first;
    private Lease second;

    @BeforeEach
    void open() throws Exception {
        owner = new Node(directory, new ShmFabric(1, 1 << 20, true));
        reader = new Node(directory, new ShmFabric(1, 1 << 20, true));
        peer = reader.connect(owner);
        first = TestPools.reserve(owner.pool(), Purpose.MAP_OUTPUT, Node.REGION_BYTES);
        second = TestPools.reserve(owner.pool(), Purpose.MAP_OUTPUT, Node.REGION_BYTES);
        second.memory().putInt(64, 77);
    }

    @AfterEach
    void close() {
        peer.close();
        first.close();
        reader.close();
        owner.close();
    }

    private RemoteView map(int regionId) throws ReadFailedException {
        RemoteView view = peer.region(regionId);
        assertThat(view).isNotNull();
        return view;
    }

    @Test
    void releasedRegionIsUnmappedAfterItsLastReader() throws Exception {
        map(0).close();
        RemoteView used = map(1);
        second.close();
        peer.releaseAbsentRegions();
        assertThat(peer.openRegions()).as("both are there").isEqualTo(2);
        assertThat(owner.pool().giveBackIdle(Duration.ZERO)).isOne();
        long mapped = Mapping.live();
        peer.releaseAbsentRegions();
        assertThat(peer.openRegions()).isOne();
        assertThat(Mapping.live()).as("in use").isEqualTo(mapped);
        assertThat(((MemorySlice) used.bytes()).getInt(64)).isEqualTo(77);
        used.close();
        assertThat(Mapping.live()).isEqualTo(mapped - 1);
        assertThatThrownBy(() -> map(1))
                .isInstanceOfSatisfying(
                        ReadFailedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.REGION_ABSENT));
        map(0).close();
    }

    @Test
    void regionsWhoseFilesAnotherProgramHasRemovedStay() throws Exception {
        map(0).close();
        map(1).close();
        for (Region region : owner.pool().regions()) {
            Files.delete(region.file());
        }
        peer.releaseAbsentRegions();
        assertThat(peer.openRegions()).isEqualTo(2);
        peer.releaseRegions();
        assertThatThrownBy(() -> map(1))
                .isInstanceOfSatisfying(
                        ReadFailedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.PEER_GONE));
        second.close();
    }
}
