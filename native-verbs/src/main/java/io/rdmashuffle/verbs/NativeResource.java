// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Native object with a count of the calls inside it, so that closing waits for them.
 *
 * <p><b>Threading:</b> thread-safe. A close waits for calls in flight, at most {@value #CLOSE_TIMEOUT_SECONDS} s;
 * after that it throws and the native object is kept, since a leak is better than a freed object in use.
 *
 * <p><b>Ownership:</b> owned by its parents, each of which closes it before itself; {@link #close()} may come earlier.
 */
public abstract class NativeResource implements AutoCloseable {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final int CLOSE_TIMEOUT_SECONDS = 10;
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private final String name;
    private final long handle;
    private final List<NativeResource> parents;
    private final Set<NativeResource> children = new LinkedHashSet<>();
    /** Calls in flight; negative once closed. */
    private final AtomicInteger calls = new AtomicInteger();

    private volatile @Nullable Throwable closedAt;
    private volatile boolean gone;

    NativeResource(String name, long handle, NativeResource... parents) {
        this.name = name;
        this.handle = handle;
        this.parents = List.of(parents);
        ResourceLedger.opened(getClass());
    }

    /** Makes this object known to its parents; the last act of a factory method, which destroys it if this throws. */
    final <T extends NativeResource> T adoptedBy(Class<T> type) {
        int adopted = 0;
        try {
            for (NativeResource parent : parents) {
                parent.adopt(this);
                adopted++;
            }
        } finally {
            if (adopted < parents.size()) {
                close();
            }
        }
        return type.cast(this);
    }

    private void adopt(NativeResource child) {
        enter();
        try {
            synchronized (children) {
                children.add(child);
            }
        } finally {
            exit();
        }
    }

    /** Starts a native call; {@link #exit()} must follow. Throws {@link IllegalStateException} after close. */
    final long enter() {
        if (calls.incrementAndGet() < 0) {
            calls.decrementAndGet();
            throw new IllegalStateException(name + " is closed", closedAt);
        }
        return handle;
    }

    /** Ends a native call. */
    final void exit() {
        calls.decrementAndGet();
    }

    /** Returns the address of the native object, for messages and tables; not for use without {@link #enter()}. */
    final long handle() {
        return handle;
    }

    /** {@return whether {@link #close()} was called} */
    public final boolean isClosed() {
        return calls.get() < 0;
    }

    /** {@return how messages name this object, for example {@code queue pair 17 of rxe0}} */
    public final String name() {
        return name;
    }

    @Override
    public String toString() {
        return name;
    }

    /** Frees the native object; called once, after the children and when no call is in flight. */
    abstract void destroy(long handle);

    /**
     * Closes the children, newest first, then this object; idempotent, also while another thread is closing it.
     *
     * @throws RuntimeException the first failure, with later ones suppressed; what could be closed is closed
     */
    @Override
    public final void close() {
        int before = calls.getAndUpdate(count -> count < 0 ? count : count + CLOSED);
        if (before < 0) {
            return;
        }
        closedAt = new IllegalStateException("closed here");
        await(() -> calls.get() == CLOSED, "still in use");
        RuntimeException failure = closeChildren();
        failure = closing(() -> destroy(handle), failure);
        gone = true;
        parents.forEach(parent -> parent.forget(this));
        ResourceLedger.closed(getClass());
        if (failure != null) {
            throw failure;
        }
    }

    /**
     * Closes the remaining children, and waits for children that another thread is closing.
     *
     * @throws IllegalStateException if a child is still alive, so that this object must stay
     */
    private @Nullable RuntimeException closeChildren() {
        List<NativeResource> left;
        synchronized (children) {
            left = new ArrayList<>(children);
        }
        RuntimeException failure = null;
        for (int i = left.size() - 1; i >= 0; i--) {
            failure = closing(left.get(i)::close, failure);
        }
        for (NativeResource child : left) {
            try {
                child.await(() -> child.gone, "not gone");
            } catch (IllegalStateException e) {
                IllegalStateException kept = new IllegalStateException(name + " is kept because of " + child.name, e);
                if (failure != null) {
                    kept.addSuppressed(failure);
                }
                throw kept;
            }
        }
        return failure;
    }

    private void forget(NativeResource child) {
        synchronized (children) {
            children.remove(child);
        }
    }

    private void await(BooleanSupplier condition, String otherwise) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(CLOSE_TIMEOUT_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline >= 0) {
                throw new IllegalStateException(
                        name + " is " + otherwise + " " + CLOSE_TIMEOUT_SECONDS + " s after close; its memory is kept");
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private static @Nullable RuntimeException closing(Runnable close, @Nullable RuntimeException earlier) {
        try {
            close.run();
        } catch (RuntimeException e) {
            if (earlier == null) {
                return e;
            }
            if (e != earlier) {
                earlier.addSuppressed(e);
            }
        }
        return earlier;
    }
}
