// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.FakeQueues;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Question;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.fabric.verbs.read.StagingPeer.Reply;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random events on two data threads: whatever happens in whatever order, every read ends exactly once, with the right
 * bytes or a failure, and no lease goes back to the pool while the device may write into it.
 */
@Tag("unit")
@Timeout(180)
@ExtendWith(LeakCheck.class)
class ReadModelTest {
    private static final int RUNS = 40;
    private static final int EVENTS = 600;
    private static final int LANES = 2;
    private static final int[] ERRORS = {
        VerbsConstants.IBV_WC_WR_FLUSH_ERR,
        VerbsConstants.IBV_WC_REM_ACCESS_ERR,
        VerbsConstants.IBV_WC_RETRY_EXC_ERR,
        VerbsConstants.IBV_WC_RNR_RETRY_EXC_ERR
    };

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @Test
    void everyReadEndsOnceWhateverHappens() throws Exception {
        long seed = Long.getLong("rdma.test.seed", System.nanoTime());
        System.out.println("ReadModelTest seed " + seed + " (-Drdma.test.seed)");
        int succeeded = 0;
        int failed = 0;
        for (int run = 0; run < RUNS; run++) {
            try (Model model = new Model(new Random(seed + run))) {
                model.play();
                succeeded += model.rig.outcomes().successes();
                failed += model.rig.outcomes().failures().size();
            } catch (RuntimeException | Error e) {
                throw new AssertionError("seed " + seed + ", run " + run, e);
            }
        }
        System.out.println("ReadModelTest: " + succeeded + " reads succeeded, " + failed + " failed");
        assertThat(succeeded).isPositive();
        assertThat(failed).isPositive();
    }

    /** One run. */
    private final class Model implements AutoCloseable {
        private final Random random;
        private final ReadRig rig;
        private final List<ReadRequest> alive = new ArrayList<>();
        private final Map<ReadRequest, Integer> offsets = new HashMap<>();
        private final Set<FakeQueues.Send> failed = Collections.newSetFromMap(new IdentityHashMap<>());
        private int submitted;
        private boolean lossless;

        Model(Random random) throws InterruptedException {
            this.random = random;
            FakeRdma rdma = new FakeRdma();
            rdma.maxCompletions(random.nextBoolean() ? 1 << 10 : 10);
            this.rig = new ReadRig(directory, random, rdma, 1 << (2 + random.nextInt(3)), LANES);
            rig.peer().policy(this::reply);
        }

        /** What the owner of the disk tier does: mostly, it stages everything. */
        private Reply reply(Question question) {
            int bytes = StagingPeer.bytes(question);
            if (lossless) {
                return StagingPeer.all(question);
            }
            return switch (random.nextInt(10)) {
                case 0 -> StagingPeer.refuse(Status.NO_ROOM);
                case 1 -> StagingPeer.refuse(random.nextBoolean() ? Status.UNREADABLE : Status.UNKNOWN);
                case 2, 3 -> new Reply(Status.OK, 1 + random.nextInt(bytes), StagingPeer.WITHIN_MILLIS);
                case 4 -> new Reply(Status.OK, bytes, random.nextInt(500));
                default -> StagingPeer.all(question);
            };
        }

        void play() throws InterruptedException {
            for (int i = 0; i < EVENTS; i++) {
                event();
                if (random.nextInt(3) > 0) {
                    rig.threads().get(random.nextInt(LANES)).turn();
                }
                check();
            }
            switch (random.nextInt(3)) {
                case 0 -> drain();
                case 1 -> stall();
                default -> rig.turn();
            }
        }

        private void event() throws InterruptedException {
            switch (random.nextInt(20)) {
                case 0, 1 -> submit();
                case 2, 15, 16, 17 -> succeed();
                case 3, 4, 5, 6, 7 -> succeed();
                case 8 -> fail();
                case 9, 10, 11 -> connect();
                case 12 -> disconnect();
                case 13, 18 -> rig.pass(Duration.ofMillis(random.nextInt(200)));
                case 14 -> oddities();
                default -> rig.turn();
            }
        }

        private void submit() throws InterruptedException {
            for (int left = 1 + random.nextInt(6); left > 0; left--) {
                List<RemoteSlice> slices = new ArrayList<>();
                int offset = random.nextInt(ReadRig.SOURCE_BYTES / 2);
                int end = offset;
                for (int slice = 1 + random.nextInt(3); slice > 0; slice--) {
                    int length = 1 + random.nextInt(random.nextInt(4) == 0 ? 9000 : 500);
                    boolean onDisk = random.nextInt(3) == 0;
                    slices.add(onDisk ? ReadRig.onDisk(end, length) : rig.slice(end, length));
                    end += length;
                }
                boolean impossible = random.nextInt(40) == 0;
                if (impossible) {
                    slices.add(new RemoteSlice(
                            random.nextInt(3), rig.pool().usage().capBytes() - 1, 2));
                }
                Duration timeout = Duration.ofMillis(random.nextInt(random.nextInt(4) == 0 ? 3_000 : 60_000));
                submit(random.nextInt(LANES), slices, offset, timeout.toNanos());
            }
        }

        private void submit(int lane, List<RemoteSlice> slices, int offset, long timeoutNanos)
                throws InterruptedException {
            ReadRequest request = rig.submit(rig.request(slices.toArray(RemoteSlice[]::new)), lane, timeoutNanos);
            alive.add(request);
            submitted++;
            offsets.put(request, offset);
        }

        private int anyPair() {
            List<Integer> pairs = rig.queues().pairNumbers();
            return pairs.isEmpty() ? -1 : pairs.get(random.nextInt(pairs.size()));
        }

        private void succeed() {
            int pair = anyPair();
            List<FakeQueues.Send> posted = pair < 0 ? List.of() : rig.queues().posted(pair);
            if (posted.stream().anyMatch(failed::contains)) {
                return; // in error: the device flushes the rest, and reports nothing twice
            }
            int count = posted.isEmpty() ? 0 : 1 + random.nextInt(posted.size());
            for (int i = 0; i < count; i++) {
                FakeQueues.Send send = posted.get(i);
                if (send.isRead()) {
                    rig.queues().succeed(pair, 1);
                } else {
                    // Now and then the response is lost.
                    rig.answer(pair, send, !lossless && random.nextInt(8) == 0);
                }
            }
        }

        /** One request fails; those behind it are flushed, told in any order, of which some perhaps never are. */
        private void fail() {
            int pair = anyPair();
            if (pair < 0 || random.nextBoolean()) {
                return;
            }
            List<FakeQueues.Send> left = new ArrayList<>(rig.queues().posted(pair));
            while (!left.isEmpty() && random.nextInt(8) > 0) {
                FakeQueues.Send send = left.remove(random.nextInt(left.size()));
                // A device reports each request once.
                if (!failed.add(send)) {
                    continue;
                }
                rig.queues().fail(pair, send.id(), ERRORS[random.nextInt(ERRORS.length)]);
            }
        }

        private void connect() {
            if (rig.control().hasAttempt()) {
                if (random.nextInt(5) == 0) {
                    rig.control().refuse("refused");
                } else {
                    rig.control().accept();
                }
            }
        }

        private void disconnect() {
            List<FakeControl.Established> alive = rig.control().alive();
            if (!alive.isEmpty() && random.nextInt(3) == 0) {
                rig.control().disconnect(alive.get(random.nextInt(alive.size())));
            }
        }

        private void oddities() {
            switch (random.nextInt(8)) {
                case 0 -> {
                    rig.queues().failPost(Errno.ENOMEM.number(), random.nextInt(3));
                    rig.turn();
                    rig.queues().failPost(0, 0);
                }
                case 1 -> rig.channels().get(random.nextInt(LANES)).regions().forget();
                case 2 -> rig.pass(Duration.ofSeconds(random.nextInt(6)));
                case 3 -> {
                    if (random.nextInt(10) == 0) {
                        PeerReadChannel channel = rig.channels().get(random.nextInt(LANES));
                        channel.execute(
                                () -> channel.close(new ReadFailedException(Reason.CLOSED, "closed in the middle")));
                    }
                }
                default -> rig.threads().forEach(DataThread::turn);
            }
        }

        /**
         * The device writes into targets of reads that have not ended, and nowhere else: the pool may lend the rest.
         */
        private void check() {
            rig.peer().expire();
            alive.removeIf(rig.outcomes()::hasEnded);
            for (FakeQueues.Send send : rig.queues().posted()) {
                assertThat(send.isRead() && alive.stream().noneMatch(request -> isInside(send, request.target())))
                        .as("%s writes outside of the targets of living reads", send)
                        .isFalse();
            }
        }

        private static boolean isInside(FakeQueues.Send send, Lease lease) {
            long start = lease.region().memory().address() + lease.offset();
            return send.local() >= start && send.local() + send.length() <= start + lease.lengthBytes();
        }

        /** Lets nothing happen but time pass, until all reads have ended by their deadlines. */
        private void stall() {
            for (int i = 0; i < 1_000 && rig.outcomes().count() < submitted; i++) {
                rig.pass(Duration.ofMillis(100));
                rig.turn();
                check();
            }
            assertThat(rig.outcomes().count()).as("ended by their deadlines").isEqualTo(submitted);
        }

        /** Lets everything go well until all reads have ended, and one more on each lane that is open has succeeded. */
        private void drain() throws InterruptedException {
            finish();
            int successes = rig.outcomes().successes();
            int open = 0;
            for (int lane = 0; lane < LANES; lane++) {
                if (!rig.channels().get(lane).isClosed()) {
                    submit(lane, List.of(rig.slice(0, 64)), 0, ReadRig.TIMEOUT_NANOS);
                    open++;
                }
            }
            lossless = true;
            finish();
            assertThat(rig.outcomes().successes())
                    .as("when all goes well, %s", rig.outcomes().lastFailure())
                    .isEqualTo(successes + open);
        }

        private void finish() {
            for (int i = 0; i < 10_000 && rig.outcomes().count() < submitted; i++) {
                if (rig.control().hasAttempt()) {
                    rig.control().accept();
                }
                succeed();
                rig.turn();
                rig.pass(Duration.ofMillis(10));
                check();
            }
            assertThat(rig.outcomes().count()).as("all reads ended").isEqualTo(submitted);
        }

        @Override
        public void close() {
            rig.outcomes().verify(rig, offsets);
            rig.close();
            assertThat(rig.outcomes().count()).as("ended, the rest by closing").isEqualTo(submitted);
        }
    }
}
