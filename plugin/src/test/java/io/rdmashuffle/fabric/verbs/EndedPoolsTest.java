// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import io.rdmashuffle.fabric.verbs.stage.DiskStaging;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.PeerFiles;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.verbs.PortAttributes;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Pools of ended processes on a rail whose device is a fake. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class EndedPoolsTest {
    private static final long ENDED = 99;
    private static final long REGION_BYTES = 128 << 10;
    private static final int RIGHTS =
            VerbsConstants.IBV_ACCESS_REMOTE_READ | VerbsConstants.IBV_ACCESS_RELAXED_ORDERING;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final FakeRdma rdma = new FakeRdma();
    private final AtomicLong clock = new AtomicLong();
    private final RegisteredRegions regions = new RegisteredRegions();
    private final EndedPools pools = new EndedPools(this::tend);
    private boolean isBusy;
    private RailSlot slot;
    private Pool owners;
    private EndedPool ended;

    @BeforeEach
    void open() throws Exception {
        RailParts parts = new RailParts(
                rdma.library(),
                7,
                TestVerbs.settings(1 << 20),
                new PendingReads(1 << 20),
                new DiskStaging(1 << 20, 1, Duration.ofSeconds(30), (name, body) -> {}),
                new Admissions(),
                () -> {},
                clock::get);
        PortAttributes attributes = new PortAttributes(1, true, 4096, 1L << 30, 100, 0, true);
        InetAddress address = InetAddress.getByName("192.0.2.1");
        slot = new RailSlot(
                parts, regions, 0, new LocalPort("fake0", 1, address, List.of(), PortSelector.ANY, attributes));
        slot.start();
        owners = TestPools.create(directory, REGION_BYTES, REGION_BYTES);
        ended = EndedPool.open(PeerFiles.of(owners.regions().get(0)), region -> null);
    }

    @AfterEach
    void close() {
        assertThat(slot.close()).isTrue();
        rdma.close();
        ended.close();
        owners.close();
    }

    /** As the thread of the rails does when it is woken. */
    private void tend() {
        if (!isBusy) {
            pools.tend(Stream.ofNullable(slot.running()).toList());
        }
    }

    private boolean isServed() {
        return running().rail().serves(ENDED, ended);
    }

    private RunningRail running() {
        return Objects.requireNonNull(slot.running(), "lost");
    }

    @Test
    void devicesMayReadItAndNotWrite() {
        int before = rdma.notes().rights().size();
        assertThat(pools.inherit(ENDED, ended)).isTrue();
        assertThat(isServed()).isTrue();
        assertThat(rdma.notes().rights().subList(before, before + 1)).containsExactly(RIGHTS);
        pools.renounce(ENDED);
        assertThat(isServed()).isFalse();
        assertThat(rdma.calls("ibv_dereg_mr")).isOne();
    }

    @Test
    void anotherOpeningOfThePoolTakesThePlaceOfTheFirst() throws Exception {
        assertThat(pools.inherit(ENDED, ended)).isTrue();
        try (EndedPool again = EndedPool.open(PeerFiles.of(owners.regions().get(0)), region -> null)) {
            assertThat(pools.inherit(ENDED, again)).isTrue();
            assertThat(isServed()).isFalse();
            assertThat(running().rail().serves(ENDED, again)).isTrue();
            pools.renounce(ENDED);
        }
    }

    @Test
    void oneThatCannotBeRegisteredIsNotServed() {
        rdma.fail("ibv_reg_mr", Errno.ENOMEM);
        assertThat(pools.inherit(ENDED, ended)).isFalse();
        rdma.repair("ibv_reg_mr");
        tend();
        assertThat(isServed()).as("not tried again").isFalse();
    }

    @Test
    void oneThatTakesLongIsServedLater() {
        isBusy = true;
        assertThat(pools.inherit(ENDED, ended))
                .as("the caller does not wait for it")
                .isTrue();
        assertThat(isServed()).isFalse();
        isBusy = false;
        tend();
        assertThat(isServed()).isTrue();
    }

    @Test
    void railThatIsBackServesItAgain() {
        assertThat(pools.inherit(ENDED, ended)).isTrue();
        RunningRail lost = running();
        rdma.asyncEvent(VerbsConstants.IBV_EVENT_DEVICE_FATAL);
        eventually().until(() -> lost.whyLost() != null);
        slot.recover();
        tend();
        clock.addAndGet(RailSlot.FIRST_PAUSE_NANOS);
        slot.recover();
        assertThat(running()).isNotSameAs(lost);
        assertThat(isServed()).isFalse();
        rdma.fail("ibv_reg_mr", Errno.ENOMEM);
        tend();
        assertThat(isServed()).isFalse();
        rdma.repair("ibv_reg_mr");
        tend();
        assertThat(isServed()).as("tried again").isTrue();
    }
}
