// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.kenai.jffi.MemoryIO;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Copies with and without the JVM's intrinsic are equal. */
@Tag("unit")
@Timeout(120)
class ArrayCopyTest {
    /** Longer than a piece. */
    private static final int BYTES = (1 << 20) + 77;

    @Test
    void roundTrip() {
        assertThat(Copies.areRight()).isTrue();
        assertThat(ArrayCopy.isIntrinsic()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"allow, true", "deny, false"})
    void aJavaThatDeniesUnsafeCopiesWithoutIt(String access, boolean intrinsic, @TempDir Path folder)
            throws IOException, InterruptedException {
        Optional<Path> java = java25();
        assumeTrue(java.isPresent(), "no JDK 25: set JDK25_HOME to one");
        Path log = folder.resolve("log");
        Process process = new ProcessBuilder(
                        java.get().resolve("bin/java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=" + access,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Copies.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            assertThat(process.waitFor(100, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(Files.readString(log, StandardCharsets.UTF_8)).contains("right: true, intrinsic: " + intrinsic);
    }

    private static Optional<Path> java25() throws IOException {
        String named = System.getenv("JDK25_HOME");
        Path installed = Path.of("/usr/lib/jvm");
        if (named != null || !Files.isDirectory(installed)) {
            return Optional.ofNullable(named).map(Path::of);
        }
        try (Stream<Path> all = Files.list(installed)) {
            return all.filter(home -> home.getFileName().toString().matches("(.*\\D)?25(\\D.*)?"))
                    .filter(home -> Files.isExecutable(home.resolve("bin/java")))
                    .findFirst();
        }
    }

    /** Also runs in a separate JVM. */
    static final class Copies {
        private Copies() {}

        public static void main(String[] arguments) {
            System.out.println("right: " + areRight() + ", intrinsic: " + ArrayCopy.isIntrinsic());
        }

        static boolean areRight() {
            byte[] source = new byte[BYTES];
            for (int i = 0; i < BYTES; i++) {
                source[i] = (byte) (i * 31 + i / 1000);
            }
            byte[] target = new byte[BYTES + 2];
            long address = MemoryIO.getInstance().allocateMemory(BYTES, true);
            try {
                ArrayCopy.toMemory(address, source, 0, BYTES);
                ArrayCopy.fromMemory(address, target, 1, BYTES);
            } finally {
                MemoryIO.getInstance().freeMemory(address);
            }
            return Arrays.equals(source, Arrays.copyOfRange(target, 1, BYTES + 1))
                    && target[0] == 0
                    && target[BYTES + 1] == 0;
        }
    }
}
