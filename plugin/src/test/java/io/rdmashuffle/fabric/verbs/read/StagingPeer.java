// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Question;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Status;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.TestPools;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Fake owner of a disk tier. Staged bytes are overwritten as soon as the owner may reuse the memory, so that a late
 * reader reads other bytes.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns staged bytes.
 */
final class StagingPeer implements AutoCloseable {
    static final int WITHIN_MILLIS = 30_000;

    private final ReadRig rig;
    private final List<Staged> staged = new ArrayList<>();
    private final List<Question> questions = new ArrayList<>();
    private Function<Question, @Nullable Reply> policy = StagingPeer::all;
    private int released;

    /**
     * Outcome of a staging question.
     *
     * @param bytes number of staged bytes
     */
    record Reply(Status status, int bytes, int withinMillis) {}

    private record Staged(int pair, int id, Lease lease, long until) {}

    StagingPeer(ReadRig rig) {
        this.rig = rig;
    }

    /** Stages everything. */
    static Reply all(Question question) {
        return new Reply(Status.OK, bytes(question), WITHIN_MILLIS);
    }

    static Reply refuse(Status status) {
        return new Reply(status, 0, 0);
    }

    static int bytes(Question question) {
        return Math.toIntExact(
                question.ranges().stream().mapToLong(RemoteSlice::lengthBytes).sum());
    }

    /** Has questions answered like this from now on; null is no answer. */
    void policy(Function<Question, @Nullable Reply> newPolicy) {
        policy = newPolicy;
    }

    /** Returns the questions so far. */
    List<Question> questions() {
        return questions;
    }

    int staged() {
        return staged.size();
    }

    int released() {
        return released;
    }

    /** Handles a message if it is about staging; returns the answer, empty for none, null if it is something else. */
    byte @Nullable [] take(int pair, byte[] message) {
        try (NativeBuffer buffer = new NativeBuffer(StagingMessages.MAX_QUESTION_BYTES)) {
            buffer.putBytes(0, message, 0, message.length);
            Question question = StagingMessages.readQuestion(buffer.address(), message.length);
            int id = StagingMessages.readRelease(buffer.address(), message.length);
            if (question != null) {
                return answer(pair, question);
            }
            if (id < 0) {
                return null;
            }
            released++;
            end(each -> each.pair() == pair && each.id() == id);
            return new byte[0];
        }
    }

    private byte[] answer(int pair, Question question) {
        questions.add(question);
        Reply reply = policy.apply(question);
        if (reply == null) {
            return new byte[0];
        }
        return encoded(
                reply.status() == Status.OK
                        ? stage(pair, question, reply)
                        : Answer.refusal(question.id(), reply.status()));
    }

    static byte[] encoded(Answer answer) {
        try (NativeBuffer buffer = new NativeBuffer(StagingMessages.ANSWER_BYTES)) {
            StagingMessages.writeAnswer(buffer.address(), answer);
            byte[] bytes = new byte[StagingMessages.ANSWER_BYTES];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    private Answer stage(int pair, Question question, Reply reply) {
        byte[] content = new byte[bytes(question)];
        int at = 0;
        for (RemoteSlice range : question.ranges()) {
            for (long i = 0; i < range.lengthBytes(); i++) {
                content[at] = rig.sourceByte(range.offset() + i);
                at++;
            }
        }
        Lease lease;
        try {
            lease = TestPools.reserve(rig.pool(), Purpose.STAGING, reply.bytes());
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        lease.memory().putBytes(0, content, 0, reply.bytes());
        staged.add(new Staged(pair, question.id(), lease, rig.now() + 2_000_000L * reply.withinMillis()));
        RegionTable table = rig.rail().table();
        int region = lease.region().id();
        return new Answer(
                question.id(),
                Status.OK,
                reply.bytes(),
                table.address(region) + lease.offset(),
                table.key(region),
                reply.withinMillis());
    }

    /** Uses memory anew whose time is over, or whose queue pair is gone. */
    void expire() {
        List<Integer> alive = rig.queues().pairNumbers();
        end(each -> rig.now() - each.until() >= 0 || !alive.contains(each.pair()));
    }

    private void end(Function<Staged, Boolean> which) {
        for (Iterator<Staged> all = staged.iterator(); all.hasNext(); ) {
            Staged each = all.next();
            if (which.apply(each)) {
                byte[] other = new byte[Math.toIntExact(each.lease().lengthBytes())];
                Arrays.fill(other, (byte) 0x5a);
                each.lease().memory().putBytes(0, other, 0, other.length);
                each.lease().close();
                all.remove();
            }
        }
    }

    @Override
    public void close() {
        end(each -> true);
    }
}
