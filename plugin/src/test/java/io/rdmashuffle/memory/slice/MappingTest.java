// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Closing while others read: the wrong order would crash the JVM here. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class MappingTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @Test
    void closingUnderReadersUnmapsAfterTheLastOne() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20)) {
            AtomicLong reads = new AtomicLong();
            for (int round = 0; round < 200; round++) {
                Mapping mapping = TestPools.mapAsPeer(pool, 0);
                List<CompletableFuture<Void>> readers = new ArrayList<>();
                long before = reads.get();
                for (int r = 0; r < 3; r++) {
                    readers.add(CompletableFuture.runAsync(() -> {
                        while (mapping.retain()) {
                            reads.addAndGet(1 + mapping.memory().getLong((1 << 20) - 8));
                            mapping.release();
                        }
                    }));
                }
                while (reads.get() == before) {
                    Thread.onSpinWait();
                }
                mapping.close();
                mapping.close();
                readers.forEach(CompletableFuture::join);
            }
        }
    }

    @Test
    void theActionRunsOnceAndNobodyGetsInAfterwards() {
        for (int round = 0; round < 500; round++) {
            AtomicInteger ran = new AtomicInteger();
            ReferenceCounted count = new ReferenceCounted() {
                @Override
                protected void free() {
                    ran.incrementAndGet();
                }
            };
            List<CompletableFuture<Void>> users = new ArrayList<>();
            for (int u = 0; u < 3; u++) {
                users.add(CompletableFuture.runAsync(() -> {
                    for (int i = 0; i < 50 && count.retain(); i++) {
                        assertThat(ran).hasValue(0);
                        count.release();
                    }
                }));
            }
            count.close();
            users.forEach(CompletableFuture::join);
            assertThat(ran).hasValue(1);
            assertThat(count.retain()).isFalse();
            assertThatThrownBy(count::release).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void slicesCheckTheirBounds() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20);
                Lease lease = TestPools.reserve(pool, Purpose.RECEIVE, 64)) {
            MemorySlice slice = lease.memory();
            List<Runnable> outside = List.of(
                    () -> slice.getLong(57),
                    () -> slice.getInt(-1),
                    () -> slice.putLong(Long.MAX_VALUE, 1),
                    () -> slice.slice(1, 64),
                    () -> slice.slice(64, -1),
                    () -> slice.getBytes(0, new byte[10], 5, 6),
                    () -> slice.putBytes(60, new byte[10], 0, 5),
                    () -> slice.copyTo(slice.slice(0, 63)));
            assertThat(outside)
                    .allSatisfy(
                            access -> assertThatThrownBy(access::run).isInstanceOf(IndexOutOfBoundsException.class));
        }
    }
}
