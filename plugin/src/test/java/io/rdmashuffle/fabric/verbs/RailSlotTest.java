// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.read.PendingReads;
import io.rdmashuffle.fabric.verbs.stage.DiskStaging;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.verbs.PortAttributes;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A rail whose device fails, stays away and is back, on a fake device. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RailSlotTest {
    private static final long REGION_BYTES = 128 << 10;
    private static final String BIND = "rdma_bind_addr";

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final FakeRdma rdma = new FakeRdma();
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
    private final AtomicInteger told = new AtomicInteger();
    private final AtomicBoolean servedUnseen = new AtomicBoolean();
    private final RegisteredRegions regions = new RegisteredRegions();
    private RailSlot slot;

    @BeforeEach
    void open() throws Exception {
        RailParts parts = new RailParts(
                rdma.library(),
                7,
                TestVerbs.settings(1 << 20),
                new PendingReads(1 << 20),
                new DiskStaging(1 << 20, 1, Duration.ofSeconds(30), (name, body) -> {}),
                new Admissions(),
                told::incrementAndGet,
                this::now);
        PortAttributes attributes = new PortAttributes(1, true, 4096, 1L << 30, 100, 0, true);
        InetAddress address = InetAddress.getByName("192.0.2.1");
        slot = new RailSlot(
                parts, regions, 0, new LocalPort("fake0", 1, address, List.of(), PortSelector.ANY, attributes));
        slot.start();
    }

    @AfterEach
    void close() {
        assertThat(slot.close()).isTrue();
        rdma.close();
    }

    /** The control thread asks for the time before it sleeps. */
    private long now() {
        RailSlot opened = slot;
        if (opened != null
                && opened.running() == null
                && Thread.currentThread().getName().startsWith("rdma-control-")) {
            servedUnseen.set(true);
        }
        return clock.get();
    }

    private RunningRail running() {
        return Objects.requireNonNull(slot.running(), "lost");
    }

    private void lose() {
        RunningRail before = running();
        rdma.asyncEvent(VerbsConstants.IBV_EVENT_DEVICE_FATAL);
        eventually().until(() -> before.whyLost() != null);
        rdma.fail(BIND, Errno.ENODEV);
        slot.recover();
        assertThat(slot.isLost()).isTrue();
        assertThat(before.dataThreads()).noneMatch(thread -> thread.isAlive());
    }

    private void pass(long nanos) {
        clock.addAndGet(nanos);
    }

    @Test
    void deviceThatIsThereIsLeftAlone() {
        RunningRail before = running();
        slot.recover();
        assertThat(slot.running()).isSameAs(before);
        assertThat(told).hasValue(0);
    }

    @Test
    void lostRailListensAgainWhereItDid() {
        Rail before = running().rail();
        lose();
        assertThat(told).hasValue(1);
        rdma.repair(BIND);
        slot.recover();
        assertThat(slot.isLost()).as("not at once").isTrue();
        pass(RailSlot.FIRST_PAUSE_NANOS);
        int bound = rdma.notes().listenPorts().size();
        slot.recover();
        assertThat(slot.isLost()).isFalse();
        assertThat(running().rail()).isNotSameAs(before);
        assertThat(running().dataThreads()).allMatch(thread -> thread.isAlive());
        int listenPort = slot.address().getPort();
        assertThat(rdma.notes().listenPorts().subList(bound, bound + 2))
                .as("to find the port, then to listen")
                .containsExactly(0, listenPort);
        assertThat(running().rail().address()).isEqualTo(slot.address());
    }

    @Test
    void deviceThatStaysAwayIsLookedForLessAndLessOften() {
        lose();
        long[] pauses = {1, 2, 4, 8, 16, 30, 30};
        for (long seconds : pauses) {
            long before = rdma.calls(BIND);
            pass(TimeUnit.SECONDS.toNanos(seconds) - 1);
            slot.recover();
            assertThat(rdma.calls(BIND)).isEqualTo(before);
            pass(1);
            slot.recover();
            assertThat(rdma.calls(BIND)).isEqualTo(before + 1);
        }
        rdma.repair(BIND);
        pass(RailSlot.LAST_PAUSE_NANOS);
        slot.recover();
        assertThat(slot.isLost()).isFalse();
        // It fails again soon: the previous pause continues to count.
        lose();
        pass(RailSlot.LAST_PAUSE_NANOS - 1);
        long before = rdma.calls(BIND);
        slot.recover();
        assertThat(rdma.calls(BIND)).isEqualTo(before);
        rdma.repair(BIND);
        pass(1);
        slot.recover();
        pass(RailSlot.STEADY_NANOS);
        lose();
        before = rdma.calls(BIND);
        pass(RailSlot.FIRST_PAUSE_NANOS);
        slot.recover();
        assertThat(rdma.calls(BIND)).as("it was there for long").isEqualTo(before + 1);
    }

    /** What waits for completions is not woken by one core for all. */
    @Test
    void eachThreadHasACompletionVectorOfItsOwn() {
        rdma.completionVectors(8);
        lose();
        rdma.repair(BIND);
        pass(RailSlot.FIRST_PAUSE_NANOS);
        int before = rdma.notes().vectors().size();
        slot.recover();
        List<Integer> all = rdma.notes().vectors();
        assertThat(all.subList(before, all.size()))
                .hasSize(1 + running().dataThreads().size())
                .doesNotHaveDuplicates();
    }

    @Test
    void railThatCannotBeUsedYetIsTriedAgainAndHoldsNothing() {
        lose();
        rdma.repair(BIND);
        rdma.fail("rdma_listen", Errno.EADDRINUSE);
        pass(RailSlot.FIRST_PAUSE_NANOS);
        slot.recover();
        assertThat(slot.isLost()).isTrue();
        rdma.repair("rdma_listen");
        pass(2 * RailSlot.FIRST_PAUSE_NANOS);
        slot.recover();
        assertThat(slot.isLost()).isFalse();
    }

    /** A process that is revoked meanwhile would go on reading. */
    @Test
    void railServesNobodyBeforeTheFabricKnowsIt() {
        for (int i = 0; i < 3; i++) {
            lose();
            rdma.repair(BIND);
            pass(RailSlot.LAST_PAUSE_NANOS);
            slot.recover();
            assertThat(slot.isLost()).isFalse();
        }
        assertThat(servedUnseen).isFalse();
    }

    @Test
    void openingThatFailsHalfWayLeavesNoDescriptor() throws Exception {
        lose();
        rdma.repair(BIND);
        long before = eventDescriptors();
        for (int i = 0; i < 20; i++) {
            rdma.failAfter(1, "ibv_create_cq", Errno.ENOMEM);
            pass(RailSlot.LAST_PAUSE_NANOS);
            long attempts = rdma.calls("ibv_create_cq");
            slot.recover();
            assertThat(slot.isLost()).isTrue();
            assertThat(rdma.calls("ibv_create_cq")).isEqualTo(attempts + 2);
        }
        assertThat(eventDescriptors()).isLessThan(before + 20);
    }

    /** Of eventfd(2); other threads of this process may have some. */
    private static long eventDescriptors() throws IOException {
        long count = 0;
        for (String descriptor :
                Objects.requireNonNull(new File("/proc/self/fd").list(), "a process may see its descriptors")) {
            try {
                Path target = Files.readSymbolicLink(Path.of("/proc/self/fd", descriptor));
                count += target.endsWith("anon_inode:[eventfd]") ? 1 : 0;
            } catch (NoSuchFileException e) {
                // That of the listing itself, or of another thread.
            }
        }
        return count;
    }

    /** As the pool grows, shrinks and grows while there is no device. */
    @Test
    void regionsThatCameAndWentMeanwhileAreKnown() throws Exception {
        RegionListener listener = new RegionListener() {
            @Override
            public void regionAdded(Region region) {
                regions.add(region);
            }

            @Override
            public void regionRemoved(Region region) {
                regions.remove(region);
            }
        };
        try (Pool pool = TestPools.create(directory, 4 * REGION_BYTES, REGION_BYTES, listener)) {
            TestPools.fill(pool).forEach(lease -> lease.close());
            int before = running().rail().table().bound();
            assertThat(before).isGreaterThan(1);
            assertThat(rdma.notes().rights())
                    .as("relaxed ordering, as the fabric's settings have it")
                    .anyMatch(rights -> (rights & VerbsConstants.IBV_ACCESS_RELAXED_ORDERING) != 0);
            Region second = pool.regions().get(1);
            lose();
            regions.remove(second);
            rdma.repair(BIND);
            pass(RailSlot.FIRST_PAUSE_NANOS);
            slot.recover();
            assertThat(running().rail().table().bound()).isEqualTo(before);
            assertThat(running().rail().table().isAbsent(1)).isTrue();
            assertThat(running().rail().table().present()).isEqualTo(before - 1);
            assertThat(slot.registrations()).isEqualTo(2L * before - 1);
        }
    }
}
