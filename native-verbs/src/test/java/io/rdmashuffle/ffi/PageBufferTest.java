// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import jnr.ffi.LibraryLoader;
import jnr.ffi.types.uintptr_t;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Memory for devices: whole pages, which a fork does not have copied. */
@Tag("abi")
@Timeout(60)
class PageBufferTest {
    private static final String SOURCE = """
            #include <stdint.h>
            #include <sys/wait.h>
            #include <unistd.h>
            int seen_by_child(volatile int64_t *at) {
                int to_child[2], status = 0;
                char go = 0;
                if (pipe(to_child)) return -1;
                pid_t child = fork();
                if (child < 0) return -1;
                if (child == 0) {
                    if (read(to_child[0], &go, 1) != 1) _exit(99);
                    _exit((int) *at);
                }
                *at = 42;
                if (write(to_child[1], &go, 1) != 1) return -1;
                waitpid(child, &status, 0);
                close(to_child[0]);
                close(to_child[1]);
                return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            }
            """;

    /** What the C code exports. */
    public interface Forks {
        int seen_by_child(@uintptr_t long at);
    }

    @TempDir
    Path directory;

    /** Both ways, so that the test would notice if it could not tell them apart. */
    @Test
    void parentAndChildHaveOnePage() throws Exception {
        Requirements.compiler(directory);
        Path library = CCompiler.library(directory, "forks", SOURCE);
        Forks forks = LibraryLoader.create(Forks.class).failImmediately().load(library.toString());
        try (NativeBuffer copied = NativeBuffer.allocate(8192);
                NativeBuffer shared = NativeBuffer.ofPages(8192)) {
            copied.putLong(0, 7);
            shared.putLong(0, 7);
            assertThat(forks.seen_by_child(copied.address())).isEqualTo(7);
            assertThat(forks.seen_by_child(shared.address())).isEqualTo(42);
        }
    }

    @Test
    void startsZeroedOnPagesOfItsOwn() {
        int page = LibC.load().getpagesize();
        for (int length : new int[] {1, page, page + 1, 1 << 20}) {
            try (NativeBuffer buffer = NativeBuffer.ofPages(length)) {
                assertThat(buffer.lengthBytes()).isEqualTo(length);
                assertThat(buffer.address() % page).isZero();
                byte[] content = new byte[length];
                buffer.getBytes(0, content, 0, length);
                assertThat(content).containsOnly(0);
                buffer.putByte(length - 1, (byte) 1);
                assertThatThrownBy(() -> buffer.putByte(length, (byte) 1))
                        .isInstanceOf(IndexOutOfBoundsException.class);
            }
        }
    }

    @Test
    void endsWithClose() throws IOException {
        NativeBuffer buffer = NativeBuffer.ofPages(1 << 20);
        Pattern mapping = Pattern.compile("(?m)^0*" + Long.toHexString(buffer.address()) + "-\\p{XDigit}+ rw-s ");
        assertThat(Files.readString(Path.of("/proc/self/maps"))).containsPattern(mapping);
        buffer.close();
        buffer.close();
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContainPattern(mapping);
        assertThatThrownBy(buffer::address).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void mappingFailureNamesTheSize() {
        assertThatThrownBy(() -> NativeBuffer.ofPages(1L << 60))
                .isInstanceOf(NativeException.class)
                .hasMessageContaining("mmap(length=1152921504606846976, MAP_SHARED): ENOMEM (12)");
        assertThatThrownBy(() -> NativeBuffer.ofPages(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> NativeBuffer.ofPages(Long.MAX_VALUE)).isInstanceOf(IllegalArgumentException.class);
    }
}
