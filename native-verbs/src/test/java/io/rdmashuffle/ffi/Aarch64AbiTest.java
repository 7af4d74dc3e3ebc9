// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** On 64-bit Arm, by a cross compiler: nothing is run, the values are read out of the object file. */
class Aarch64AbiTest extends AbiContract {
    private static final String COMPILER = "aarch64-linux-gnu-gcc";
    private static final String ARCHITECTURE = "os.arch";

    /** Loads the layouts again, for the architecture that this JVM reports. */
    private static final class Layouts extends ClassLoader {
        Layouts() {
            super(Aarch64AbiTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> known = findLoadedClass(name);
            if (known != null || !name.matches("io\\.rdmashuffle\\.ffi\\.(\\w*Layout|LibC)(\\$.*)?")) {
                return known != null ? known : super.loadClass(name, resolve);
            }
            String file = name.replace('.', '/') + ".class";
            try (InputStream in = Objects.requireNonNull(getResourceAsStream(file), file)) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Override
    Class<?> onTarget(Class<?> layouts) throws Exception {
        String here = System.setProperty(ARCHITECTURE, "aarch64");
        try {
            Class<?> anew = Class.forName(layouts.getName(), true, new Layouts());
            for (Class<?> struct : anew.getDeclaredClasses()) {
                // Not what binds functions: they are of the architecture that runs this.
                if (Modifier.isPublic(struct.getModifiers())) {
                    Class.forName(struct.getName(), true, struct.getClassLoader());
                }
            }
            return anew;
        } finally {
            System.setProperty(ARCHITECTURE, here);
        }
    }

    @Override
    CCompiler.Result compile(String name, List<String> expressions) throws Exception {
        Requirements.verbsHeaders(directory);
        Path headers = headersOfRdma();
        StringBuilder source = new StringBuilder(INCLUDES)
                .append("const long long values[] __attribute__((section(\"probe\"), used)) = {\n");
        expressions.forEach(expression ->
                source.append("    (long long) (").append(expression).append("),\n"));
        Path file = Files.writeString(directory.resolve(name + "-arm.c"), source.append("};\n"));
        CCompiler.Result compiled = CCompiler.run(
                directory,
                List.of(
                        COMPILER,
                        "-c",
                        "-I",
                        headers.toString(),
                        "-o",
                        object(name).toString(),
                        file.toString()));
        Requirements.require(
                compiled.ok() || !compiled.output().contains("Cannot run program"),
                "no compiler for aarch64: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross");
        return compiled;
    }

    private Path object(String name) {
        return directory.resolve(name + "-arm.o");
    }

    @Override
    List<Long> evaluate(String name, List<String> expressions) throws Exception {
        CCompiler.Result compiled = compile(name, expressions);
        assertThat(compiled.ok()).as(compiled.output()).isTrue();
        Path values = directory.resolve(name + "-arm.bin");
        CCompiler.Result copied = CCompiler.run(
                directory,
                List.of(
                        "aarch64-linux-gnu-objcopy",
                        "-O",
                        "binary",
                        "-j",
                        "probe",
                        object(name).toString(),
                        "" + values));
        assertThat(copied.ok()).as(copied.output()).isTrue();
        LongBuffer longs = ByteBuffer.wrap(Files.readAllBytes(values))
                .order(ByteOrder.LITTLE_ENDIAN)
                .asLongBuffer();
        List<Long> result = new ArrayList<>();
        while (longs.hasRemaining()) {
            result.add(longs.get());
        }
        return result;
    }

    /** Copies the headers of rdma-core, which are the same on all architectures, away from those of the C library. */
    private Path headersOfRdma() throws IOException {
        Path headers = directory.resolve("include");
        for (String folder : List.of("infiniband", "rdma")) {
            Path from = Path.of("/usr/include", folder);
            Files.createDirectories(headers.resolve(folder));
            try (Stream<Path> files = Files.list(from)) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    Path to = headers.resolve(folder).resolve(file.getFileName());
                    if (!Files.exists(to)) {
                        Files.copy(file, to);
                    }
                }
            }
        }
        return headers;
    }
}
