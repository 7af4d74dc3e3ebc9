// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.VerbsLayout.pollfd;
import java.util.concurrent.TimeUnit;

/**
 * Sleeps until one of several file descriptors is readable, {@link #wake()} is called, or a timeout passes.
 *
 * <p><b>Threading:</b> one thread waits; any thread wakes. After close a wake does nothing.
 *
 * <p><b>Ownership:</b> the waiting thread closes it. The descriptors are their owners' and must stay open while waited
 * on.
 *
 * <p><b>Source:</b> poll(2), eventfd(2).
 */
public final class WaitSet implements AutoCloseable {
    private static final long NANOS_PER_MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final LibC libc = LibC.load();
    private final int capacity;
    private final NativeBuffer entries;
    private final NativeBuffer counter = new NativeBuffer(Long.BYTES);
    private final NativeBuffer one = new NativeBuffer(Long.BYTES);
    private final int event;
    private int size;
    private boolean closed;

    /**
     * Makes room.
     *
     * @param capacity most descriptors
     */
    public WaitSet(int capacity) {
        this.capacity = capacity;
        this.entries = new NativeBuffer((long) (capacity + 1) * pollfd.SIZEOF);
        this.event = libc.eventfd(0, LibC.EFD_NONBLOCK | LibC.EFD_CLOEXEC);
        NativeResult.checkSet(event < 0 ? -1 : 0, () -> "eventfd()");
        one.putLong(0, 1);
        put(event);
    }

    /**
     * Adds a descriptor.
     *
     * @param descriptor stays open as long as this set is waited on
     * @return its number for {@link #isReady}
     * @throws IllegalStateException if the set is full
     */
    public int add(int descriptor) {
        if (size > capacity) {
            throw new IllegalStateException("this set has at most " + capacity + " descriptors");
        }
        return put(descriptor) - 1;
    }

    /**
     * Stops waiting on a descriptor; it is not ready from now on. For the waiting thread.
     *
     * @param number what {@link #add} returned
     */
    public void ignore(int number) {
        long entry = (long) (number + 1) * pollfd.SIZEOF;
        entries.putInt(entry + pollfd.fd, -1); // poll skips it, and reports nothing
        entries.putShort(entry + pollfd.revents, (short) 0);
    }

    /**
     * Waits until a descriptor is ready, {@link #wake()} is called, or the timeout passes.
     *
     * @param timeoutNanos rounded up to a millisecond, at most 24 days; 0 looks without waiting
     * @return false if the timeout passed, or a signal interrupted the wait
     */
    public boolean await(long timeoutNanos) {
        long rounded = timeoutNanos / NANOS_PER_MILLI + (timeoutNanos % NANOS_PER_MILLI > 0 ? 1 : 0);
        int millis = (int) Math.min(Integer.MAX_VALUE, rounded);
        int ready = libc.poll(entries.address(), size, Math.max(0, millis));
        if (ready < 0) {
            int errno = NativeException.lastErrno();
            if (!Errno.EINTR.is(errno)) {
                throw new NativeException("poll(" + size + " descriptors)", errno, "");
            }
            clear();
            return false;
        }
        if (entries.getShort(pollfd.revents) != 0) {
            libc.read(event, counter.address(), Long.BYTES);
        }
        return ready > 0;
    }

    /**
     * {@return whether the last wait found this descriptor readable or broken}
     *
     * @param number what {@link #add} returned
     */
    public boolean isReady(int number) {
        return entries.getShort((long) (number + 1) * pollfd.SIZEOF + pollfd.revents) != 0;
    }

    /** Ends the present wait, or the next one if there is none. */
    public void wake() {
        synchronized (one) {
            if (!closed) {
                libc.write(event, one.address(), Long.BYTES);
            }
        }
    }

    @Override
    public void close() {
        synchronized (one) {
            if (closed) {
                return;
            }
            closed = true;
            libc.close(event);
            one.close();
        }
        counter.close();
        entries.close();
    }

    private int put(int descriptor) {
        long entry = (long) size * pollfd.SIZEOF;
        entries.putInt(entry + pollfd.fd, descriptor);
        entries.putShort(entry + pollfd.events, (short) LibC.POLLIN);
        return size++;
    }

    private void clear() {
        for (int i = 0; i < size; i++) {
            entries.putShort((long) i * pollfd.SIZEOF + pollfd.revents, (short) 0);
        }
    }
}
