// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Factory of daemon threads named {@code rdma-<role>-<n>}, counted from 0.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns no thread; the part that starts one ends it.
 */
public final class DaemonThreads implements ThreadFactory {
    private final String role;
    private final AtomicInteger started = new AtomicInteger();

    /** Creates threads named after {@code role}, for thread dumps. */
    public DaemonThreads(String role) {
        this.role = role;
    }

    @Override
    public Thread newThread(Runnable task) {
        Thread thread = new Thread(task, "rdma-" + role + "-" + started.getAndIncrement());
        thread.setDaemon(true);
        return thread;
    }
}
