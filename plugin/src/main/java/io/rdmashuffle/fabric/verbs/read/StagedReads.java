// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.fabric.verbs.read.PeerRegions.Lookup;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reads of one channel that need bytes of the peer's disk tier: the peer is asked to stage them, they are read by
 * READ, and released.
 *
 * <pre>
 *  idle -- the first reads are asked for --> asked -- staged --> staged -- all READs posted --> idle
 *   ^                                          |                    each completes --> released
 *   +-- no room: after a pause ----------------+
 *   +-- the first read is unreadable: it fails +
 * </pre>
 *
 * <p>One request is in flight at a time, for the first bytes that the reads need, in order; its bytes are read during
 * the next one. The owner may stage fewer bytes than requested; the rest is requested again. If READs of staged bytes
 * do not complete in time the connection ends, because the owner may have reused the memory.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> of its {@link PeerReadChannel}.
 */
final class StagedReads extends WaitingReads {
    private static final Logger LOG = LoggerFactory.getLogger(StagedReads.class);

    /** Staged and not released: enough to read one while the next is asked for. */
    private static final int MAX_STAGED = 3;

    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int MAX_DOUBLINGS = 6;

    private final Deque<StagedBytes> posted = new ArrayDeque<>();
    private @Nullable StagedBytes staged;
    private boolean asking;
    private int question;
    /** Number of first reads that the question is about; they stay until it is answered and posted. */
    private int askedReads;

    private int askedBytes;
    private long askedAt;
    private long askedDeadline;
    private int askedSequence;
    private int refusals;
    private long pauseEnd;

    /**
     * Starts without a read.
     *
     * @param peer peer of the connection, for messages
     */
    StagedReads(PendingReads reads, PeerRegions regions, Rail rail, String peer) {
        super(reads, regions, rail, peer);
    }

    /** Returns whether there is anything to advance. */
    boolean isIdle() {
        return waiting.isEmpty() && posted.isEmpty();
    }

    /** Returns whether bytes are staged that may be read, or are being read. */
    boolean isReading() {
        return staged != null || !posted.isEmpty();
    }

    /**
     * Posts READs of staged bytes, releases and requests.
     *
     * @return whether anything was done
     * @throws io.rdmashuffle.ffi.NativeException or {@link IllegalStateException} if the queue pair refuses
     */
    boolean advance(Connection on, RequestPoster poster, long now) {
        if (isIdle()) {
            return false;
        }
        boolean worked = postReads(on, poster);
        worked |= releaseRead(on, poster);
        worked |= ask(on, poster, now);
        return worked;
    }

    private boolean postReads(Connection on, RequestPoster poster) {
        poster.begin();
        while (poster.hasRoom(on)) {
            PendingRead read = waiting.first();
            if (read == null || !read.isReady() || !addPiece(on, poster, read)) {
                break;
            }
            if (read.isFullyPosted()) {
                waiting.poll();
                askedReads = Math.max(0, askedReads - 1);
            }
        }
        boolean any = !poster.isEmpty();
        if (any) {
            poster.postReads(on);
        }
        StagedBytes used = staged;
        if (used != null && used.left == 0) {
            used.endSequence = on.nextSequence();
            posted.add(used);
            staged = null;
            askedReads = 0;
        }
        return any;
    }

    private boolean addPiece(Connection on, RequestPoster poster, PendingRead read) {
        if (!read.isOnDisk()) {
            poster.addPiece(on, read, rail);
            return true;
        }
        StagedBytes from = staged;
        if (from == null || from.left == 0) {
            return false;
        }
        int bytes = read.stagedPieceBytes(Math.min(on.maxReadBytes(), from.left));
        poster.add(on, read, rail, bytes, from.address, from.key);
        from.advancePast(bytes);
        return true;
    }

    /** Releases the peer's memory. */
    private boolean releaseRead(Connection on, RequestPoster poster) {
        boolean any = false;
        StagedBytes oldest = posted.peek();
        while (oldest != null && oldest.isRead(on) && poster.hasControlRoom(on)) {
            posted.poll();
            StagingMessages.writeRelease(on.releaseAddress(), oldest.id);
            poster.postRelease(on);
            any = true;
            oldest = posted.peek();
        }
        return any;
    }

    private boolean ask(Connection on, RequestPoster poster, long now) {
        boolean may = !asking
                && staged == null
                && !waiting.isEmpty()
                && posted.size() < MAX_STAGED
                && (refusals == 0 || now - pauseEnd >= 0)
                // The last question has left its memory.
                && on.isCompletedUpTo(askedSequence)
                && poster.hasControlRoom(on);
        if (!may) {
            return false;
        }
        StagingQuestion asked = new StagingQuestion(on.questionAddress());
        int count = 0;
        long deadline = now;
        for (PendingRead read = waiting.first(); read != null && !asked.isFull(); read = read.next) {
            boolean known = read.isReady();
            Lookup found = known ? Lookup.READY : regions.lookUp(read);
            boolean first = count == 0;
            if (first && found != Lookup.READY) {
                return settle(on, poster, read, found);
            }
            if (first && !read.isOnDisk()) {
                // Its slices in memory are posted first, so that the first range always belongs to the first read.
                return !known;
            }
            if (found != Lookup.READY || read.isExpired(now)) {
                break;
            }
            read.describeStaging(asked);
            deadline = first || read.deadlineNanos() - deadline < 0 ? read.deadlineNanos() : deadline;
            count++;
        }
        if (asked.isEmpty()) {
            return false;
        }
        question = (question + 1) & Integer.MAX_VALUE;
        asking = true;
        askedReads = count;
        askedBytes = asked.bytes();
        askedAt = now;
        askedDeadline = deadline;
        poster.postQuestion(on, asked.end(question));
        askedSequence = on.nextSequence();
        return true;
    }

    /** Deals with the first read, whose regions are not known. */
    private boolean settle(Connection on, RequestPoster poster, PendingRead read, Lookup found) {
        if (found == Lookup.IMPOSSIBLE) {
            refuseFirst();
            return true;
        }
        if (regions.isQuerying()) {
            return false;
        }
        query(on, poster, read);
        return true;
    }

    /**
     * Handles an answer.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    void answered(long message, int lengthBytes, long now) {
        Answer answer = StagingMessages.readAnswer(message, lengthBytes);
        if (!asking || answer.id() != question || answer.bytes() > askedBytes) {
            throw new IllegalArgumentException("an answer to a staging question that was not asked: " + answer);
        }
        asking = false;
        PendingRead first = waiting.first();
        switch (answer.status()) {
            case OK -> {
                refusals = 0;
                long deadline = askedAt + TimeUnit.MILLISECONDS.toNanos(answer.withinMillis());
                staged = new StagedBytes(answer.id(), answer.address(), answer.key(), answer.bytes(), deadline);
            }
            case NO_ROOM -> {
                askedReads = 0;
                pauseEnd = now + (FIRST_PAUSE_NANOS << Math.min(refusals, MAX_DOUBLINGS));
                refusals++;
            }
            case UNREADABLE, UNKNOWN -> {
                askedReads = 0;
                refusals = 0;
                if (first != null) {
                    waiting.poll();
                    fail(first, unreadable(answer));
                }
            }
        }
    }

    private void fail(PendingRead read, ReadFailedException failure) {
        if (read.isOutstanding()) {
            // The device still writes into its target; the read ends when it does not.
            read.doom(failure);
        } else {
            reads.fail(read, failure);
        }
    }

    private ReadFailedException unreadable(Answer answer) {
        String why = answer.status() == StagingMessages.Status.UNKNOWN
                ? " no longer has the bytes in its disk tier"
                : " cannot read the bytes in its disk tier (spark.local.dir there)";
        return new ReadFailedException(Reason.UNREADABLE, peer + why);
    }

    /**
     * Returns whether the connection must end: a question was not answered before a read expired, or staged bytes were
     * not read before their owner may use the memory anew.
     */
    boolean isLate(long now) {
        StagedBytes oldest = posted.peek();
        StagedBytes current = staged;
        return ((asking || current != null) && now - askedDeadline >= 0)
                || (current != null && current.isLate(now))
                || (oldest != null && oldest.isLate(now));
    }

    /**
     * Fails reads whose deadline has passed and of which nothing is asked or outstanding.
     *
     * @param connecting whether it is a connection that they have waited for
     */
    void expire(long now, boolean connecting) {
        int kept = asking || staged != null ? askedReads : 0;
        for (int left = waiting.size(); left > 0; left--) {
            PendingRead read = take();
            if (kept <= 0 && read.isExpired(now) && !read.isOutstanding()) {
                reads.fail(read, refusals == 0 ? expired(peer, connecting) : noRoom());
            } else {
                waiting.add(read);
            }
            kept--;
        }
    }

    private ReadFailedException noRoom() {
        return new ReadFailedException(
                Reason.NO_ROOM,
                peer + " has no memory to stage blocks on its disk" + " (spark.shuffle.rdma.pool.maxSize there)");
    }

    /** Drops requested and staged bytes with the connection; moves its reads to {@code outstanding}. */
    void reset(ReadFifo outstanding) {
        if (asking || isReading()) {
            LOG.debug("{}: the connection ended while bytes of its disk tier were asked for", peer);
        }
        asking = false;
        staged = null;
        askedReads = 0;
        posted.clear();
        for (int left = waiting.size(); left > 0; left--) {
            PendingRead read = take();
            (read.isOutstanding() ? outstanding : waiting).add(read);
        }
    }

    /** Starts with a new connection. */
    void connected(Connection on) {
        askedSequence = on.nextSequence();
    }

    /**
     * Bytes that a peer has staged for this process: bytes at an address, to be read in order and in time.
     *
     * <p><b>Threading:</b> the data thread.
     *
     * <p><b>Ownership:</b> the peer owns the bytes and keeps them until they are released, the connection ends, or they
     * have expired.
     */
    private static final class StagedBytes {
        private final int id;
        private final int key;
        private final long deadline;
        /** Address of the next bytes. */
        private long address;
        /** Bytes not posted yet. */
        private int left;
        /** All READs, once they are posted, have sequence numbers below this one. */
        private int endSequence;

        /**
         * Takes the place of an answer.
         *
         * @param id number of the question
         * @param deadline when the last READ of these bytes must have completed
         */
        StagedBytes(int id, long address, int key, int bytes, long deadline) {
            this.id = id;
            this.address = address;
            this.key = key;
            this.left = bytes;
            this.deadline = deadline;
        }

        /** Counts bytes as posted. */
        void advancePast(int bytes) {
            address += bytes;
            left -= bytes;
        }

        /** Returns whether all READs have completed. */
        boolean isRead(Connection on) {
            return on.isCompletedUpTo(endSequence);
        }

        /** Returns whether the peer may have given the bytes to others. */
        boolean isLate(long now) {
            return now - deadline >= 0;
        }
    }
}
