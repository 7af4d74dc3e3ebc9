// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * Executor of rdma-core's device searches on one thread of the process.
 *
 * <p>librdmacm 30 to 51, that of Debian 12 too, sorts the devices that it knows by the low 32 bits of their addresses
 * in memory, and goes through them as if by whole addresses. Memory that glibc gives to two threads can lie more than 2
 * GiB apart; with devices that two threads found, librdmacm can forget one for good when another is removed, or keep
 * one open, for which the kernel waits: {@code rdma link delete} and later device queries do not return. Devices that
 * one thread found lie close together, as a rule.
 *
 * <p><b>Threading:</b> thread-safe. A caller waits as long as the call takes, as if it had made it itself; an interrupt
 * does not end that, and is kept.
 *
 * <p><b>Ownership:</b> the thread is a daemon and lives as long as the libraries, which are never unloaded; a new one
 * would find devices elsewhere.
 *
 * <p><b>Source:</b> librdmacm/cma.c (sync_devices_list, dev_cmp), fixed by c4a5ac8bb in rdma-core 52.0, 51.1, 50.1,
 * 44.6.
 */
final class DeviceSearch {
    private static final ExecutorService THREAD = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "rdma-device-search");
        thread.setDaemon(true);
        return thread;
    });

    private DeviceSearch() {}

    /** Makes calls of rdma-core, which give nothing, on that thread. */
    static void run(Runnable calls) {
        call(() -> {
            calls.run();
            return true;
        });
    }

    /**
     * Executes calls of rdma-core, and reads their {@code errno}, on that thread.
     *
     * @return their result
     */
    static <T> T call(Supplier<T> calls) {
        try {
            return CompletableFuture.supplyAsync(calls, THREAD).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            if (e.getCause() instanceof Error failure) {
                throw failure;
            }
            throw e;
        }
    }
}
