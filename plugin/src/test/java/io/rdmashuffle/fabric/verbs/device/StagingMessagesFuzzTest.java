// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Question;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Region;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of intact and damaged staging messages: accepted ones are within bounds. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class StagingMessagesFuzzTest {
    private static final List<RemoteSlice> RANGES = List.of(
            new RemoteSlice(Region.FIRST_ON_DISK, 4096, 77),
            new RemoteSlice(Region.FIRST_ON_DISK + 3, 1L << 40, 100_000),
            new RemoteSlice(Region.FIRST_ON_DISK, 0, 1));

    private NativeBuffer slot;

    @BeforeEach
    void allocate() {
        slot = new NativeBuffer(ControlMemory.SLOT_BYTES);
    }

    @AfterEach
    void free() {
        slot.close();
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        slot.getBytes(0, bytes, 0, length);
        return bytes;
    }

    private int put(byte[] input) {
        byte[] whole = new byte[ControlMemory.SLOT_BYTES];
        Arrays.fill(whole, (byte) -1);
        int length = Math.min(input.length, whole.length);
        System.arraycopy(input, 0, whole, 0, length);
        slot.putBytes(0, whole, 0, whole.length);
        return length;
    }

    private byte[] question(int id, List<RemoteSlice> ranges) {
        for (int i = 0; i < ranges.size(); i++) {
            RemoteSlice range = ranges.get(i);
            StagingMessages.writeRange(slot.address(), i, range.regionId(), range.offset(), (int) range.lengthBytes());
        }
        return bytes(StagingMessages.writeQuestion(slot.address(), id, ranges.size()));
    }

    @Test
    void messagesRoundTripAndStayDistinct() {
        int length = put(question(5, RANGES));
        assertThat(StagingMessages.readQuestion(slot.address(), length)).isEqualTo(new Question(5, RANGES));
        assertThat(StagingMessages.isAnswer(slot.address(), length)).isFalse();
        assertThat(StagingMessages.readRelease(slot.address(), length)).isNegative();
        assertThat(RegionTable.readQuery(slot.address(), length)).isNegative();
        Answer answer = new Answer(Integer.MAX_VALUE, Status.OK, 9, 1L << 47, -3, 30_000);
        StagingMessages.writeAnswer(slot.address(), answer);
        assertThat(StagingMessages.isAnswer(slot.address(), StagingMessages.ANSWER_BYTES))
                .isTrue();
        assertThat(StagingMessages.readAnswer(slot.address(), StagingMessages.ANSWER_BYTES))
                .isEqualTo(answer);
        for (Status status : List.of(Status.NO_ROOM, Status.UNREADABLE, Status.UNKNOWN)) {
            StagingMessages.writeAnswer(slot.address(), Answer.refusal(3, status));
            assertThat(StagingMessages.readAnswer(slot.address(), StagingMessages.ANSWER_BYTES))
                    .isEqualTo(Answer.refusal(3, status));
        }
        StagingMessages.writeRelease(slot.address(), 8);
        assertThat(StagingMessages.readRelease(slot.address(), StagingMessages.RELEASE_BYTES))
                .isEqualTo(8);
        assertThat(RegionTable.readQuery(slot.address(), StagingMessages.RELEASE_BYTES))
                .isNegative();
        assertThat(StagingMessages.readQuestion(slot.address(), StagingMessages.RELEASE_BYTES))
                .isNull();
        RegionTable.writeQuery(slot.address(), 2);
        assertThat(StagingMessages.readRelease(slot.address(), RegionTable.QUERY_BYTES))
                .isNegative();
        assertThat(StagingMessages.readQuestion(slot.address(), RegionTable.QUERY_BYTES))
                .isNull();
    }

    @Test
    void questionForMoreThanTheBoundHasNoRanges() {
        int half = StagingMessages.MAX_BYTES / 2 + 1;
        RemoteSlice range = new RemoteSlice(Region.FIRST_ON_DISK, 0, half);
        int length = put(question(1, List.of(range, range)));
        assertThat(StagingMessages.readQuestion(slot.address(), length)).isEqualTo(new Question(1, List.of()));
    }

    @Test
    void everyDamagedQuestionIsIgnoredOrWithinItsBounds() {
        try (FuzzRun run = new FuzzRun("staging question")) {
            byte[] valid = question(5, RANGES);
            new Mutations(run.random())
                    .all(
                            valid,
                            run.times(1000),
                            input -> run.attempt(input, () -> {
                                Question question = StagingMessages.readQuestion(slot.address(), put(input));
                                if (question == null) {
                                    return false;
                                }
                                assertThat(question.id()).isNotNegative();
                                assertThat(question.ranges()).hasSizeLessThanOrEqualTo(StagingMessages.MAX_RANGES);
                                assertThat(question.ranges().stream()
                                                .mapToLong(RemoteSlice::lengthBytes)
                                                .sum())
                                        .isLessThanOrEqualTo(StagingMessages.MAX_BYTES);
                                return true;
                            }));
        }
    }

    @Test
    void everyDamagedAnswerIsRefusedOrWithinItsBounds() {
        try (FuzzRun run = new FuzzRun("staging answer", IllegalArgumentException.class)) {
            for (Answer answer :
                    List.of(new Answer(1, Status.OK, 100, 4096, 7, 1000), Answer.refusal(1, Status.NO_ROOM))) {
                StagingMessages.writeAnswer(slot.address(), answer);
                new Mutations(run.random())
                        .all(
                                bytes(StagingMessages.ANSWER_BYTES),
                                run.times(1000),
                                input -> run.attempt(input, () -> {
                                    Answer read = StagingMessages.readAnswer(slot.address(), put(input));
                                    assertThat(read.id()).isNotNegative();
                                    assertThat(read.bytes()).isBetween(0, StagingMessages.MAX_BYTES);
                                    assertThat(read.bytes() > 0).isEqualTo(read.status() == Status.OK);
                                    return true;
                                }));
            }
        }
    }

    @Test
    void everyDamagedReleaseIsIgnoredOrNamesAQuestion() {
        try (FuzzRun run = new FuzzRun("staging release")) {
            StagingMessages.writeRelease(slot.address(), 9);
            new Mutations(run.random())
                    .all(
                            bytes(StagingMessages.RELEASE_BYTES),
                            run.times(500),
                            input -> run.attempt(
                                    input, () -> StagingMessages.readRelease(slot.address(), put(input)) >= 0));
        }
    }
}
