// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.EventChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a rail asks of devices of different abilities. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RailTest {
    private static final int USUAL = VerbsConstants.IBV_ACCESS_LOCAL_WRITE | VerbsConstants.IBV_ACCESS_REMOTE_READ;
    private static final int RELAXED = VerbsConstants.IBV_ACCESS_RELAXED_ORDERING;
    private static final long REGION_BYTES = 1 << 20;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private FakeRdma rdma;
    private EventChannel events;

    @BeforeEach
    void open() {
        rdma = new FakeRdma();
        events = EventChannel.open(rdma.library());
    }

    @AfterEach
    void close() {
        events.close();
        rdma.close();
    }

    /** Returns the access flags of a pool's two regions; what the fabric registers for messages comes before them. */
    private List<Integer> rightsOfTwoRegions(RailSettings settings) throws Exception {
        try (Rail rail = FakeRdma.rail(events, 0, settings)) {
            int before = rdma.notes().rights().size();
            RegionListener listener = rail::register;
            try (Pool pool = TestPools.create(directory, 2 * REGION_BYTES, REGION_BYTES, listener)) {
                assertThat(TestPools.fillable(pool)).isEqualTo(2 * REGION_BYTES);
            }
            return rdma.notes().rights().subList(before, before + 2);
        }
    }

    @Test
    void relaxedOrderingIsAskedForUnlessItIsNotWanted() throws Exception {
        assertThat(rightsOfTwoRegions(RailSettings.DEFAULT)).containsOnly(USUAL | RELAXED);
        assertThat(rightsOfTwoRegions(new RailSettings(false, false, OptionalInt.empty())))
                .containsOnly(USUAL);
    }

    /** As rdma-core before 28, which hands the flag to a kernel that may not know it. */
    @Test
    void worksWithoutRelaxedOrdering() throws Exception {
        rdma.refuseRights(RELAXED);
        assertThat(rightsOfTwoRegions(RailSettings.DEFAULT)).containsOnly(USUAL);
    }

    @Test
    void aRefusalForAnotherReasonIsOne() {
        try (Rail rail = FakeRdma.rail(events, 0)) {
            rdma.fail("ibv_reg_mr", Errno.ENOMEM);
            assertThatThrownBy(() -> TestPools.create(directory, REGION_BYTES, REGION_BYTES, rail::register))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("ENOMEM");
            assertThat(rail.registrations()).isZero();
        }
    }

    /** The setting asks for it; the device, here one that cannot, says. */
    @Test
    void aDeviceThatTakesNoPageFaultsPins() throws Exception {
        RailSettings onDemand = new RailSettings(true, false, OptionalInt.empty());
        try (Rail rail = FakeRdma.rail(events, 0, onDemand)) {
            assertThat(rail.pins()).isTrue();
        }
        assertThat(rightsOfTwoRegions(onDemand)).containsOnly(USUAL);
    }

    @Test
    void aDeviceThatTakesThemPinsNothing() throws Exception {
        rdma.onDemandPaging();
        RailSettings onDemand = new RailSettings(true, false, OptionalInt.empty());
        try (Rail rail = FakeRdma.rail(events, 0, onDemand)) {
            assertThat(rail.pins()).isFalse();
        }
        assertThat(rightsOfTwoRegions(onDemand)).containsOnly(USUAL | VerbsConstants.IBV_ACCESS_ON_DEMAND);
        try (Rail rail = FakeRdma.rail(events, 0)) {
            assertThat(rail.pins()).as("not asked to").isTrue();
        }
    }

    private List<Integer> vectorsOfFourQueues(OptionalInt first) {
        try (Rail rail = FakeRdma.rail(events, 0, new RailSettings(false, true, first))) {
            int before = rdma.notes().vectors().size();
            for (int turn = 0; turn < 4; turn++) {
                rail.createCompletionQueue(16, rail.context().createCompletionChannel(), turn);
            }
            return rdma.notes().vectors().subList(before, before + 4);
        }
    }

    @Test
    void queuesTakeVectorsInTurn() {
        assertThat(vectorsOfFourQueues(OptionalInt.of(5)))
                .as("a device with one")
                .containsOnly(0);
        rdma.completionVectors(3);
        assertThat(vectorsOfFourQueues(OptionalInt.of(1))).containsExactly(1, 2, 0, 1);
        assertThat(vectorsOfFourQueues(OptionalInt.of(7)))
                .as("of a larger device")
                .containsExactly(1, 2, 0, 1);
    }

    /** Executors of a host know nothing of each other. */
    @Test
    void executorsBeginAtDifferentVectors() {
        rdma.completionVectors(64);
        long different = IntStream.range(0, 20)
                .map(executor -> vectorsOfFourQueues(OptionalInt.empty()).get(0))
                .distinct()
                .count();
        assertThat(different).isGreaterThan(3);
    }

    /** There a READ's data is written by the right that a peer's WRITE needs. */
    @Test
    void targetsAreRemotelyWritableOnlyOnIwarp() throws Exception {
        try (Rail rail = FakeRdma.rail(events, 0)) {
            assertThat(rail.rightsOfReadPeers()).isEmpty();
        }
        rdma.transport(VerbsConstants.IBV_TRANSPORT_IWARP);
        try (Rail rail = FakeRdma.rail(events, 0)) {
            assertThat(rail.rightsOfReadPeers()).containsExactly(Access.REMOTE_WRITE);
        }
        assertThat(rightsOfTwoRegions(new RailSettings(false, false, OptionalInt.empty())))
                .containsOnly(USUAL | VerbsConstants.IBV_ACCESS_REMOTE_WRITE);
    }
}
