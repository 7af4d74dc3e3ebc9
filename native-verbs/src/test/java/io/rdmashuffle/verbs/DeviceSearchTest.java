// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import jnr.ffi.LastError;
import jnr.ffi.Runtime;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** On which thread rdma-core looks for devices. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DeviceSearchTest {
    private static final Set<String> SEARCHES =
            Set.of("rdma_create_event_channel", "rdma_bind_addr", "rdma_get_devices", "ibv_get_device_list");

    private final FakeDevice device = new FakeDevice();

    @BeforeEach
    void script() {
        device.answer("ibv_get_device_list", arguments -> device.create());
    }

    @AfterEach
    void close() {
        device.close();
    }

    private void search() {
        try (EventChannel channel = EventChannel.open(device.library);
                CmId id = channel.createId()) {
            id.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        }
        DeviceList.releaseRemoved(device.library);
        try (DeviceList list = DeviceList.read(device.library)) {
            assertThat(list.devices()).isEmpty();
        }
    }

    private static void onAThreadOfItsOwn(Runnable action) throws Exception {
        FutureTask<@Nullable Void> task = new FutureTask<>(action, null);
        new Thread(task, "test-search").start();
        task.get(30, TimeUnit.SECONDS);
    }

    @Test
    void oneThreadOfTheProcessSearchesForAll() throws Exception {
        Map<String, Set<Thread>> threads = new ConcurrentHashMap<>();
        for (String search : SEARCHES) {
            device.answer(search, arguments -> {
                threads.computeIfAbsent(search, name -> ConcurrentHashMap.newKeySet())
                        .add(Thread.currentThread());
                return search.equals("ibv_get_device_list") ? device.create() : null;
            });
        }
        search();
        onAThreadOfItsOwn(this::search);
        assertThat(threads.keySet()).isEqualTo(SEARCHES);
        assertThat(threads.values().stream().flatMap(Set::stream).distinct())
                .singleElement()
                .satisfies(thread -> assertThat(thread.isDaemon()).isTrue());
    }

    @Test
    void searchFailureReachesItsCaller() {
        device.answer("ibv_get_device_list", arguments -> {
            LastError.setLastError(Runtime.getSystemRuntime(), Errno.ENOSYS.number());
            return 0;
        });
        assertThatThrownBy(() -> DeviceList.read(device.library))
                .isInstanceOfSatisfying(
                        NativeException.class,
                        failure -> assertThat(failure.errno()).isEqualTo(Errno.ENOSYS.number()));
    }

    @Test
    void anInterruptIsKeptAndEndsNoSearch() {
        Thread.currentThread().interrupt();
        try {
            search();
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }
}
