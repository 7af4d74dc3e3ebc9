// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import static io.rdmashuffle.fabric.ReadFixture.LONG;
import static io.rdmashuffle.fabric.ReadFixture.all;
import static io.rdmashuffle.fabric.ReadFixture.assertReadable;
import static io.rdmashuffle.fabric.ReadFixture.failure;
import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.NetworkInterface;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of a device that is removed and added while processes read over it, as by a firmware reset or a hot-unplug:
 * {@code rdma link delete} waits until everything on it is closed.
 */
@Tag("rdma")
@Tag("fault")
@Timeout(300)
@ExtendWith(LeakCheck.class)
class VerbsRemovalTest {

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadFixture fixture;

    @BeforeEach
    void open() {
        fixture = new ReadFixture(directory);
    }

    @AfterEach
    void close() {
        fixture.close();
    }

    private Node node(List<PortSelector> ports) {
        return fixture.node(TestVerbs.open(TestVerbs.settings(8 << 20, ports, 1, Secret.NONE)));
    }

    private static VerbsFabric fabric(Node node) {
        return (VerbsFabric) node.fabric();
    }

    /** A software device, which can be made anew. */
    private record Link(String device, String kind, String netdev) {
        static Link of(LocalPort port) throws Exception {
            String kind = port.device().replaceAll("[0-9]+$", "");
            Assumptions.assumeTrue(kind.equals("rxe") || kind.equals("siw"), "the device is not of software");
            return new Link(
                    port.device(),
                    kind,
                    NetworkInterface.getByInetAddress(port.address()).getName());
        }

        void delete() throws InterruptedException {
            delete(() -> {});
        }

        /** Does something again and again until the device is gone. */
        void delete(Runnable meanwhile) throws InterruptedException {
            run(meanwhile, "rdma", "link", "delete", device);
        }

        void add() throws InterruptedException {
            run(() -> {}, "rdma", "link", "add", device, "type", kind, "netdev", netdev);
        }

        private static void run(Runnable meanwhile, String... command) throws InterruptedException {
            Process process;
            try {
                process = new ProcessBuilder(command).inheritIO().start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            long deadline = System.nanoTime() + LONG.toNanos();
            boolean ended = process.waitFor(20, TimeUnit.MILLISECONDS);
            while (!ended && System.nanoTime() - deadline < 0) {
                meanwhile.run();
                ended = process.waitFor(20, TimeUnit.MILLISECONDS);
            }
            process.destroyForcibly();
            assertThat(ended).as(String.join(" ", command)).isTrue();
            assertThat(process.exitValue()).as(String.join(" ", command)).isZero();
        }
    }

    @Test
    void onlyDeviceIsLetGoAndUsedAgainWhenItIsBack() throws Exception {
        Node owner = node(List.of());
        Node reader = node(List.of());
        Lease lease = fixture.data(owner);
        byte[] announced = owner.fabric().localAddress();
        Link link = Link.of(fabric(owner).rails().get(0).port());
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            long registrations = owner.fabric().registrations();
            long work = reader.fabric().work().reads();
            link.delete();
            Lease meanwhile;
            try {
                assertThat(failure(reader, peer, LONG, all(lease)).reason()).isEqualTo(Reason.NOT_CONNECTED);
                // The second region comes while there is no device to register it with.
                meanwhile = fixture.data(owner);
                while (meanwhile.region().id() == lease.region().id()) {
                    meanwhile = fixture.data(owner);
                }
            } finally {
                link.add();
            }
            eventually()
                    .alias("both are back")
                    .until(() -> !fabric(owner).rails().isEmpty()
                            && !fabric(reader).rails().isEmpty());
            assertThat(owner.fabric().localAddress()).isEqualTo(announced);
            assertReadable(reader, peer, lease);
            assertReadable(reader, peer, meanwhile);
            assertThat(owner.fabric().registrations()).isGreaterThan(registrations);
            assertThat(reader.fabric().work().reads()).isGreaterThan(work);
        }
    }

    @Test
    void processThatStartsBeforeItsDeviceWaitsForIt() throws Exception {
        VerbsSettings settings = TestVerbs.settings(8 << 20, TestVerbs.bothRails(), 1, Secret.NONE);
        Link link;
        try (VerbsFabric before = TestVerbs.open(settings)) {
            link = Link.of(before.rails().get(1).port());
        }
        VerbsLibrary library = VerbsLibrary.load();
        AtomicInteger pauses = new AtomicInteger();
        List<LocalPort> ports;
        link.delete(() -> DeviceList.releaseRemoved(library)); // librdmacm has it open still
        try {
            ports = new PortWait(PortWait.ofThisMachine(library), System::nanoTime, millis -> {
                        if (pauses.getAndIncrement() == 1) {
                            link.add();
                        }
                        Thread.sleep(millis);
                    })
                    .choose(settings.ports(), LONG);
        } finally {
            if (pauses.get() < 2) {
                link.add();
            }
        }
        assertThat(ports).hasSize(2);
        Node owner = fixture.node(VerbsFabric.open(library, ports, settings, System::nanoTime));
        Lease lease = fixture.data(owner);
        Node reader = node(TestVerbs.bothRails());
        try (Peer peer = reader.connect(owner)) {
            assertReadable(reader, peer, lease);
            assertReadable(reader, peer, lease);
            assertThat(((VerbsPeer) peer).channels())
                    .hasSize(2)
                    .allSatisfy(channel -> assertThat(channel.connection()).isNotNull());
        }
    }

    @Test
    void oneOfTwoRailsIsLostAndBackAndNoReadFails() throws Exception {
        Node owner = node(TestVerbs.bothRails());
        Node reader = node(TestVerbs.bothRails());
        Lease lease = fixture.data(owner);
        Link link = Link.of(fabric(owner).rails().get(1).port());
        try (Peer peer = reader.connect(owner)) {
            for (int round = 0; round < 3; round++) {
                assertReadable(reader, peer, lease);
                assertReadable(reader, peer, lease);
                assertThat(((VerbsPeer) peer).channels())
                        .hasSize(2)
                        .allSatisfy(channel -> assertThat(channel.connection()).isNotNull());
                Background reads = new Background(() -> assertReadable(reader, peer, lease));
                try {
                    link.delete();
                    eventually()
                            .alias("one rail is lost")
                            .until(() -> fabric(reader).rails().size() == 1);
                    reads.awaitMore(4);
                } finally {
                    link.add();
                }
                eventually()
                        .alias("both rails are back")
                        .until(() -> fabric(owner).rails().size() == 2
                                && fabric(reader).rails().size() == 2);
                eventually()
                        .alias("the channel over the second rail is connected again")
                        .until(() -> {
                            var channels = ((VerbsPeer) peer).channels();
                            return channels.get(1)
                                            .target()
                                            .rail()
                                            .equals(fabric(reader).rails().get(1))
                                    && channels.get(1).connection() != null;
                        });
                reads.end();
            }
        }
        assertThat(reader.pool().usage().leases()).as("released targets").isZero();
    }

    /** Reads that go on meanwhile, one after another. */
    private static final class Background {
        private interface Action {
            void run() throws Exception;
        }

        private final Thread thread;
        private volatile boolean ending;
        private final AtomicInteger done = new AtomicInteger();
        private volatile @Nullable Throwable failure;

        Background(Action action) {
            thread = new Thread(
                    () -> {
                        try {
                            while (!ending) {
                                action.run();
                                done.incrementAndGet();
                            }
                        } catch (Throwable e) {
                            failure = e;
                        }
                    },
                    "background-reads");
            thread.start();
        }

        void awaitMore(int reads) throws InterruptedException {
            int before = done.get();
            eventually().alias("reads go on").until(() -> done.get() - before >= reads || failure != null);
        }

        void end() throws InterruptedException {
            ending = true;
            thread.join(LONG.toMillis());
            assertThat(failure).isNull();
            assertThat(thread.isAlive()).isFalse();
        }
    }
}
