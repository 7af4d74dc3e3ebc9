// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.WorkFailedException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The caller's buffers, files and mappings as source and target of a device. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class CallerMemoryDeviceTest {
    private static final int LENGTH = 10_000;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private ConnectedEndpoints endpoints;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaConnection connection;

    private final byte[] content = new byte[LENGTH];

    @BeforeEach
    void connect() throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT);
        connection = endpoints.connect().client();
        for (int i = 0; i < LENGTH; i++) {
            content[i] = (byte) ((i * 31) >> 3);
        }
    }

    @AfterEach
    void close() {
        if (endpoints != null) { // null if the test was skipped
            endpoints.close();
        }
    }

    @Test
    void buffersAreReadAndWritten() throws Exception {
        ByteBuffer source = ByteBuffer.allocateDirect(LENGTH + 7).position(7);
        source.put(7, content);
        ByteBuffer target = ByteBuffer.allocateDirect(LENGTH);
        LocalRegion there = endpoints.server.register(source);
        LocalRegion here = endpoints.client.register(target);
        ConnectedEndpoints.get(connection.read(here.slice(0, LENGTH), there.describe()));
        byte[] arrived = new byte[LENGTH];
        target.get(0, arrived);
        assertThat(arrived).isEqualTo(content);

        RemoteRegion described = there.describe();
        there.close();
        assertThat(source.get(8)).isEqualTo(content[1]);
        CompletableFuture<Void> late = connection.read(here.slice(0, LENGTH), described);
        assertThatThrownBy(() -> ConnectedEndpoints.get(late))
                .cause()
                .isInstanceOfSatisfying(
                        WorkFailedException.class,
                        failure -> assertThat(failure.status()).isEqualTo(endpoints.refused()));
    }

    @Test
    void mappedFilesAreReadAndWritten() throws Exception {
        Path file = Files.createTempFile(Path.of("/dev/shm"), "native-verbs", ".mapped");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            LocalRegion here = endpoints.client.allocate(LENGTH);
            here.put(0, content);
            LocalRegion written = endpoints.server.register(channel.map(MapMode.READ_WRITE, 4096, LENGTH));
            ConnectedEndpoints.get(connection.write(here.slice(0, LENGTH), written.describe()));
            ConnectedEndpoints.awaitArrival(connection, here, written.describe());
            ByteBuffer inFile = ByteBuffer.allocate(LENGTH);
            channel.read(inFile, 4096);
            assertThat(inFile.array()).isEqualTo(content);

            RemoteRegion readOnly = registerReadOnly(channel.map(MapMode.READ_ONLY, 4096, LENGTH));
            if (readOnly != null) {
                here.put(0, new byte[LENGTH]);
                ConnectedEndpoints.get(connection.read(here.slice(0, LENGTH), readOnly));
                assertThat(here.get(0, LENGTH)).isEqualTo(content);
            }
        } finally {
            Files.delete(file);
        }
    }

    /** Linux before 6.2 pins read-only memory for writing, and refuses shared read-only mappings. */
    private @Nullable RemoteRegion registerReadOnly(ByteBuffer mapped) {
        try {
            return endpoints.server.register(mapped).describe();
        } catch (NativeException e) {
            assertThat(Errno.EFAULT.is(e.errno())).as(e.getMessage()).isTrue();
            return null;
        }
    }

    @Test
    void mappingsOfTheCallerAreReadByAddress() throws Exception {
        Path file = Files.createTempFile(Path.of("/dev/shm"), "native-verbs", ".mapped");
        Files.write(file, content);
        LibC libc = LibC.load();
        int descriptor = libc.open(file.toString(), LibC.O_RDWR, 0);
        long mapped = LibC.mapFile(LENGTH, LibC.PROT_READ | LibC.PROT_WRITE, LibC.MAP_SHARED, descriptor);
        try {
            assertThat(mapped).isNotEqualTo(LibC.MAP_FAILED);
            LocalRegion there = endpoints.server.register(mapped, LENGTH, Set.of(Access.REMOTE_READ));
            LocalRegion here = endpoints.client.allocate(LENGTH);
            ConnectedEndpoints.get(connection.read(here.slice(0, LENGTH), there.describe()));
            assertThat(here.get(0, LENGTH)).isEqualTo(content);
            there.close();
        } finally {
            libc.munmap(mapped, LENGTH);
            libc.close(descriptor);
            Files.delete(file);
        }
    }
}
