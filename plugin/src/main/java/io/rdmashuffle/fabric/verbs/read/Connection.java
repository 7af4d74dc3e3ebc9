// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.verbs.connect.EstablishedPair;
import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.verbs.QueuePair;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Established queue pair for reads of this process, with its outstanding requests.
 *
 * <p>Requests of a reliable queue pair complete in order, so one completion covers all earlier requests. A control
 * message's completion covers only itself, because software iWARP completes it before earlier READs:
 *
 * <pre>
 *  ring  | .. | done | outstanding | outstanding | free | ..
 *                     ^tail                       ^head        sequence numbers, modulo the ring's length
 *  work request id:  63..32 serial of the connection | 31 receive | 30..0 sequence number, or number of the buffer
 *
 *  slot  | 0 region query | 16 release | .. | 64 two receive buffers of 784 bytes | 1632 staging question | 2048
 * </pre>
 *
 * A region query and a staging question may be in flight together; answers arrive in any order, and their first bytes
 * determine their kind.
 *
 * <p><b>Threading:</b> the data thread.
 *
 * <p><b>Ownership:</b> owns the queue pair, which the device no longer writes through after {@link #closePair}; id and
 * slot then go back to the control thread.
 */
public final class Connection {
    private static final Logger LOG = LoggerFactory.getLogger(Connection.class);
    private static final long RECEIVE = 1L << 31;
    private static final int SEQUENCE_MASK = 0x7fffffff;
    private static final int RELEASE_OFFSET = 16;
    private static final int RECEIVE_OFFSET = 64;
    private static final int RECEIVE_BUFFERS = 2;
    /** Holds either answer. */
    static final int RECEIVE_BYTES = RegionTable.MAX_RESPONSE_BYTES;

    private static final int QUESTION_OFFSET = RECEIVE_OFFSET + RECEIVE_BUFFERS * RECEIVE_BYTES;

    static {
        if (QUESTION_OFFSET + StagingMessages.MAX_QUESTION_BYTES > ControlMemory.SLOT_BYTES
                || StagingMessages.ANSWER_BYTES > RECEIVE_BYTES) {
            throw new AssertionError("control messages do not fit into a slot");
        }
    }

    private final Owner owner;
    private final EstablishedPair established;
    private final QueuePair pair;
    private final int maxReadBytes;
    private final PendingRead[] ring;
    /** Control messages that have completed before a READ that was posted earlier. */
    private final boolean[] early;

    private final int mask;
    private long serial;
    private int head;
    private int tail;
    /** Bit by buffer: 1 where a receive is posted. */
    private int receiving;

    /** Listener of a connection's events. */
    interface Owner {
        /** Handles a completion that stands for this request and all before it. */
        void completed(Connection on, long workRequestId);

        /** Handles a message of the peer, which is in this receive buffer of the slot. */
        void responded(Connection on, int buffer, int lengthBytes);

        /** Handles the end of the connection. */
        void broken(Connection on, ReadFailedException failure);

        /** Returns the peer, for messages. */
        String describePeer();
    }

    /** Wraps a connected queue pair. */
    Connection(Owner owner, EstablishedPair established) {
        this.owner = owner;
        this.established = established;
        this.pair = established.pair();
        this.maxReadBytes = established.maxReadBytes();
        this.ring = new PendingRead[established.depth()];
        this.early = new boolean[established.depth()];
        this.mask = established.depth() - 1;
    }

    Owner owner() {
        return owner;
    }

    EstablishedPair established() {
        return established;
    }

    /** Returns the queue pair. */
    public QueuePair pair() {
        return pair;
    }

    int slotKey() {
        return established.slot().localKey();
    }

    /** Returns the address for a region query. */
    long queryAddress() {
        return established.slot().address();
    }

    /** Returns the address for a release. */
    long releaseAddress() {
        return established.slot().address() + RELEASE_OFFSET;
    }

    /** Returns the address for a staging question. */
    long questionAddress() {
        return established.slot().address() + QUESTION_OFFSET;
    }

    long receiveAddress(int buffer) {
        return established.slot().address() + RECEIVE_OFFSET + (long) buffer * RECEIVE_BYTES;
    }

    /** Allocates a receive buffer, for the answer to a question that is about to be sent. */
    int takeReceive() {
        for (int buffer = 0; buffer < RECEIVE_BUFFERS; buffer++) {
            if ((receiving & 1 << buffer) == 0) {
                receiving |= 1 << buffer;
                return buffer;
            }
        }
        throw new IllegalStateException(pair + " waits for " + RECEIVE_BUFFERS + " answers already");
    }

    /** Returns the number of posted receives. */
    int receiving() {
        return Integer.bitCount(receiving);
    }

    /** Releases a buffer, whose message has been read. */
    void releaseReceive(int buffer) {
        receiving &= ~(1 << buffer);
    }

    int maxReadBytes() {
        return maxReadBytes;
    }

    /** Sets the number by which completions find this connection. */
    void registeredAs(int number) {
        serial = Integer.toUnsignedLong(number) << 32;
    }

    static int serialOf(long workRequestId) {
        return (int) (workRequestId >>> 32);
    }

    static boolean isReceive(long workRequestId) {
        return (workRequestId & RECEIVE) != 0;
    }

    int serial() {
        return serialOf(serial);
    }

    static int receiveBuffer(long workRequestId) {
        return (int) workRequestId & SEQUENCE_MASK;
    }

    long receiveId(int buffer) {
        return serial | RECEIVE | buffer;
    }

    int outstanding() {
        return head - tail;
    }

    /** Returns whether another READ fits; one place is kept for a control message. */
    boolean hasRoom() {
        return head - tail < ring.length - 1;
    }

    /** Returns whether another control message fits. */
    boolean hasControlRoom() {
        return head - tail < ring.length;
    }

    /** Returns the sequence number that the next request gets. */
    int nextSequence() {
        return head;
    }

    /** Returns whether all requests before this sequence number have completed. */
    boolean isCompletedUpTo(int sequence) {
        return tail - sequence >= 0;
    }

    /**
     * Allocates the next place in the ring; returns the id to post with. {@code read} is null for a control message.
     */
    @SuppressWarnings("NullAway") // a control message has no read
    long add(@Nullable PendingRead read) {
        if (head - tail == ring.length) {
            throw new IllegalStateException(pair + " has " + ring.length + " requests outstanding");
        }
        ring[head & mask] = read;
        early[head & mask] = false;
        long workRequest = serial | (head & SEQUENCE_MASK);
        head++;
        return workRequest;
    }

    /** Records a completion; returns the number of oldest requests that are complete with it. */
    int completedBy(long workRequestId) {
        int before = ((int) workRequestId - tail) & SEQUENCE_MASK;
        int place = (tail + before) & mask;
        if (before > 0 && ring[place] == null) {
            early[place] = true;
            return 0;
        }
        int completed = before + 1;
        while (completed < outstanding() && early[(tail + completed) & mask]) {
            completed++;
        }
        return completed;
    }

    /** Removes the oldest request from the ring; null if that was a control message. */
    @SuppressWarnings("NullAway") // a place is emptied when it is left
    @Nullable
    PendingRead retire() {
        PendingRead read = ring[tail & mask];
        ring[tail & mask] = null;
        tail++;
        return read;
    }

    /** Returns a request that is outstanding, counted from the oldest; null for a control message. */
    @Nullable
    PendingRead peek(int index) {
        return ring[(tail + index) & mask];
    }

    /**
     * Destroys the queue pair. Returns whether the device has let go, so that whatever was outstanding is written
     * nowhere any more.
     */
    boolean closePair() {
        try {
            pair.close();
            return true;
        } catch (RuntimeException e) {
            LOG.error("{} could not be destroyed; the memory of its reads is kept", pair, e);
            return false;
        }
    }
}
