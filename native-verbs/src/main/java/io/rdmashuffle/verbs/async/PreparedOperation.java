// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An operation that was checked once and is posted any number of times, one at a time, without garbage: for programs
 * that go over the same few pieces of memory again and again.
 *
 * <pre>
 *  idle --post()--> outstanding --its handler is called--> idle
 *    \__at(), expect()
 * </pre>
 *
 * <p>The memory is in use from {@link #post()} until the handler is called, and the region can be closed before and
 * after. Each post that does not throw ends with one call of the handler: with success, or with the exception of a
 * future. That includes connections that have ended. The handler must not post again then, because it would be called
 * again, without end.
 *
 * <p>Between posts the operation may {@linkplain #at(long, long) move}, so that a few stream through a large region.
 *
 * <p><b>Threading:</b> thread-safe. The handler runs on the connection's progress thread and must not block; it may
 * post this operation again, or others. Other threads should wait for the handler: the operation can be posted again a
 * moment before the handler is called, and the next post discards results.
 *
 * <p><b>Ownership:</b> needs no close: an idle operation holds no resources.
 */
public final class PreparedOperation extends Operation {
    private final ConnectionState connection;
    private final Handler handler;
    private final boolean receives;
    private final List<Operation> alone = List.of(this);
    private final AtomicBoolean claimed = new AtomicBoolean();

    /** Handler of completed posts. If a method throws, the connection ends for that reason. */
    public interface Handler {
        /**
         * Handles the success of a posting.
         *
         * @param operation may be posted again; knows the result until then
         */
        void succeeded(PreparedOperation operation);

        /**
         * Handles the failure of a posting; the connection has ended, or is about to.
         *
         * @param operation names itself in messages
         * @param reason {@link io.rdmashuffle.verbs.WorkFailedException}, or another {@link java.io.IOException} if it
         *     was not posted because the connection had ended
         */
        void failed(PreparedOperation operation, Throwable reason);
    }

    PreparedOperation(ConnectionState connection, Work work, Handler handler) {
        super(work);
        this.connection = connection;
        this.handler = handler;
        this.receives = work instanceof Receive;
    }

    /**
     * Posts the operation; never waits. If this throws, nothing has happened and the handler is not called.
     *
     * @throws IllegalStateException if the operation is outstanding, or its region closed
     * @throws java.util.concurrent.RejectedExecutionException if as many operations are in flight on the connection as
     *     the endpoint allows
     */
    public void post() {
        if (receives) {
            connection.postReceive(alone);
        } else {
            connection.post(alone);
        }
    }

    /**
     * Moves later posts to other memory of the same regions, with the same length.
     *
     * @param localOffset of the first byte in the local region; 0 for an atomic
     * @param remoteOffset of the first byte in the remote memory that it was prepared with; 0 for a SEND or a receive
     * @return this operation
     * @throws IndexOutOfBoundsException if the memory is not inside; nothing has changed then
     * @throws IllegalArgumentException if an atomic is not aligned to 8
     * @throws IllegalStateException if the operation is outstanding
     */
    public PreparedOperation at(long localOffset, long remoteOffset) {
        return at(localOffset, remoteOffset, work().lengthBytes());
    }

    /**
     * Moves later posts to other memory of the same regions.
     *
     * @param localOffset of the first byte in the local region; 0 for an atomic
     * @param remoteOffset of the first byte in the remote memory that it was prepared with; 0 for a SEND or a receive
     * @param lengthBytes at least 0, of a receive the longest message; 8 for an atomic
     * @return this operation
     * @throws IndexOutOfBoundsException if the memory is not inside; nothing has changed then
     * @throws IllegalArgumentException if an atomic is not aligned to 8, or not of 8 bytes
     * @throws IllegalStateException if the operation is outstanding
     */
    public PreparedOperation at(long localOffset, long remoteOffset, int lengthBytes) {
        claim();
        try {
            work().move(localOffset, remoteOffset, lengthBytes);
        } finally {
            unclaim();
        }
        return this;
    }

    /**
     * Sets what a compare-and-swap compares with and sets from now on.
     *
     * @param expected the value to compare with
     * @param desired the value to set
     * @return this operation
     * @throws UnsupportedOperationException if this is another operation
     * @throws IllegalStateException if the operation is outstanding
     */
    public PreparedOperation expect(long expected, long desired) {
        if (!(work() instanceof Atomic atomic) || !atomic.swaps()) {
            throw new UnsupportedOperationException(name() + " compares nothing");
        }
        claim();
        try {
            atomic.expect(expected, desired);
        } finally {
            unclaim();
        }
        return this;
    }

    /** {@return whether it was posted, and its handler is still to be called} */
    public boolean isOutstanding() {
        return claimed.get();
    }

    /**
     * {@return the bytes that a receive brought; of a write with immediate data, those written}
     *
     * @throws UnsupportedOperationException if this is no receive
     */
    public int receivedBytes() {
        return receive().arrived();
    }

    /**
     * {@return whether the sender added 32 bits to what a receive brought}
     *
     * @throws UnsupportedOperationException if this is no receive
     */
    public boolean hasImmediate() {
        return receive().hasImmediate();
    }

    /**
     * {@return the 32 bits that the sender added, 0 if it did not}
     *
     * @throws UnsupportedOperationException if this is no receive
     */
    public int immediate() {
        return receive().immediate();
    }

    /**
     * {@return the value before a fetch-and-add or compare-and-swap}
     *
     * @throws UnsupportedOperationException if this is another operation
     */
    public long valueBefore() {
        if (work() instanceof Atomic atomic) {
            return atomic.before();
        }
        throw new UnsupportedOperationException(name() + " brings no value");
    }

    private Receive receive() {
        if (work() instanceof Receive receive) {
            return receive;
        }
        throw new UnsupportedOperationException(name() + " receives no message");
    }

    @Override
    void claim() {
        if (!claimed.compareAndSet(false, true)) {
            throw new IllegalStateException(
                    name() + " is outstanding; wait until its handler is called, or prepare another");
        }
    }

    @Override
    void unclaim() {
        claimed.set(false);
    }

    @Override
    void succeeded() {
        try {
            handler.succeeded(this);
        } catch (RuntimeException | Error e) {
            connection.handlerThrew(this, e);
        }
    }

    @Override
    void failed(Throwable reason) {
        try {
            handler.failed(this, reason);
        } catch (RuntimeException | Error e) {
            connection.handlerThrew(this, e);
        }
    }

    /** Not at once: a handler that posts again must not be called inside itself. */
    @Override
    void refuse(Throwable reason, Progress progress) {
        progress.execute(() -> fail(reason));
    }

    @Override
    public String toString() {
        return name();
    }
}
