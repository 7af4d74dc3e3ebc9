// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Completions;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.read.PeerRegions.Lookup;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of damaged region queries and responses: no read is posted outside the announced regions. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class RegionTableFuzzTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private NativeBuffer slot;

    @BeforeEach
    void allocate() {
        slot = new NativeBuffer(ControlMemory.SLOT_BYTES);
    }

    @AfterEach
    void free() {
        slot.close();
    }

    @Test
    void everyDamagedAnswerIsRefusedOrContinuesTheTable() {
        try (FuzzRun run = new FuzzRun("answer about regions", IllegalArgumentException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (int regions : new int[] {1, 3, 40}) {
                RegionTable before = table(regions > 33 ? 33 : 0);
                byte[] valid = answer(table(regions), before.bound());
                mutations.all(
                        valid,
                        run.times(300),
                        input -> run.attempt(input, () -> {
                            RegionTable after = received(before, input);
                            assertThat(after.bound()).isBetween(before.bound(), Region.FIRST_ON_DISK);
                            assertThat(after.present()).isBetween(before.present(), before.present() + 32);
                            for (int region : present(after)) {
                                assertThat(after.lengthBytes(region)).isPositive();
                            }
                            return true;
                        }));
            }
            assertThat(run.harmless())
                    .as("other addresses, lengths and keys than were sent")
                    .isPositive();
        }
    }

    @Test
    void everyDamagedQuestionIsIgnoredOrAnswered() {
        try (FuzzRun run = new FuzzRun("question about regions")) {
            RegionTable.writeQuery(slot.address(), 3);
            byte[] valid = bytes(RegionTable.QUERY_BYTES);
            RegionTable table = table(40);
            new Mutations(run.random())
                    .all(
                            valid,
                            run.times(1000),
                            input -> run.attempt(input, () -> {
                                int length = put(input, (byte) -1);
                                int first = RegionTable.readQuery(slot.address(), length);
                                if (first < 0) {
                                    return false;
                                }
                                int answered = table.writeResponse(slot.address(), first);
                                assertThat(answered).isBetween(16, RegionTable.MAX_RESPONSE_BYTES);
                                int known = Math.min(first, table.bound());
                                RegionTable after = table(known).withResponse(slot.address(), answered);
                                // Region 1 is absent, if there is another one.
                                int most = known + 32 + (known < 2 ? 1 : 0);
                                assertThat(after.bound()).isEqualTo(Math.min(most, table.bound()));
                                return true;
                            }));
        }
    }

    @Test
    void whateverAPeerAnswersReadsStayInsideOfIt() throws Exception {
        try (FuzzRun run = new FuzzRun("answers and reads", IllegalArgumentException.class);
                Pool pool = TestPools.create(directory, 1 << 20, 1 << 20);
                Lease target = TestPools.reserve(pool, Purpose.RECEIVE, 4096)) {
            Mutations mutations = new Mutations(run.random());
            byte[][] valid = {answer(table(3), 0), answer(table(40), 0), answer(table(40), 33), answer(table(3), 3)};
            for (int round = 0; round < run.times(4000); round++) {
                PeerRegions regions = new PeerRegions();
                List<byte[]> answers = new ArrayList<>();
                PendingRead read = new PendingRead();
                ReadRequest request = new ReadRequest(
                        List.of(slice(run.random(), mutations)), target, Long.MAX_VALUE, new Completions());
                read.start(request, new NoChannels(), 0);
                Supplier<String> what = () -> request.sources() + " after " + answers.size() + " answers";
                run.attempt(what, ControlMemory.SLOT_BYTES, () -> {
                    Lookup verdict = regions.lookUp(read);
                    while (verdict == Lookup.UNKNOWN) {
                        assertThat(answers.size()).as("questions for one read").isLessThan(10);
                        read.countQuery();
                        regions.writeQuery(slot.address());
                        byte[] good = valid[run.random().nextInt(valid.length)];
                        byte[] input = run.random().nextInt(3) == 0 ? good : mutations.atRandom(good);
                        answers.add(input);
                        answered(regions, input);
                        verdict = regions.lookUp(read);
                    }
                    if (verdict == Lookup.IMPOSSIBLE) {
                        assertThat(regions.reasonAgainst(read)).isNotBlank();
                        return false;
                    }
                    RemoteSlice source = read.source();
                    long length = read.regions().lengthBytes(source.regionId());
                    assertThat(source.offset()).isBetween(0L, length - source.lengthBytes());
                    return true;
                });
            }
        }
    }

    /** As a channel does it: a response that makes no sense is dropped. */
    private void answered(PeerRegions regions, byte[] input) {
        try {
            boolean unused = regions.takeResponse(slot.address(), put(input, (byte) 0));
        } catch (IllegalArgumentException e) {
            assertThat(e).hasMessageContaining("damaged");
        }
    }

    private static RemoteSlice slice(Random random, Mutations mutations) {
        long offset = random.nextBoolean() ? random.nextInt(4096) : mutations.hostile() & Long.MAX_VALUE;
        return new RemoteSlice(random.nextInt(random.nextBoolean() ? 4 : 64), offset, 1 + random.nextInt(4096));
    }

    /** Decodes a response twice, followed by different bytes, which must not matter. */
    private RegionTable received(RegionTable before, byte[] input) {
        int length = put(input, (byte) 0);
        RegionTable first = before.withResponse(slot.address(), length);
        put(input, (byte) -1);
        RegionTable second = before.withResponse(slot.address(), length);
        assertThat(second.bound()).isEqualTo(first.bound());
        assertThat(present(second)).isEqualTo(present(first));
        for (int region : present(first)) {
            assertThat(second.address(region)).isEqualTo(first.address(region));
            assertThat(second.lengthBytes(region)).isEqualTo(first.lengthBytes(region));
            assertThat(second.key(region)).isEqualTo(first.key(region));
        }
        return first;
    }

    private static List<Integer> present(RegionTable table) {
        // Damaged ids may be as high as any.
        return IntStream.range(0, Math.min(table.bound(), 1 << 10))
                .filter(region -> !table.isAbsent(region))
                .boxed()
                .toList();
    }

    /** Returns a table of which a region is absent, if it has three. */
    private static RegionTable table(int regions) {
        RegionTable table = RegionTable.EMPTY;
        for (int i = 0; i < regions; i++) {
            table = table.with(i, 0x7f0000000000L + ((long) i << 20), 4096L * (i + 1), 100 + i);
        }
        return regions > 2 ? table.without(1) : table;
    }

    private byte[] answer(RegionTable table, int first) {
        return bytes(table.writeResponse(slot.address(), first));
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        slot.getBytes(0, bytes, 0, length);
        return bytes;
    }

    /** Puts a message where the device would; a longer one than the slot is cut, as the device refuses those. */
    private int put(byte[] input, byte behind) {
        byte[] whole = new byte[ControlMemory.SLOT_BYTES];
        Arrays.fill(whole, behind);
        int length = Math.min(input.length, whole.length);
        System.arraycopy(input, 0, whole, 0, length);
        slot.putBytes(0, whole, 0, whole.length);
        return length;
    }
}
