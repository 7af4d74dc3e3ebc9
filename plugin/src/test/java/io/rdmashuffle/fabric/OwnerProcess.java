// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static io.rdmashuffle.lifecycle.Eventually.eventually;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Owner that is a process of its own, so that it can be stopped and killed. {@link #content} lies in its pool, and once
 * more in its disk tier.
 */
public final class OwnerProcess implements AutoCloseable {
    /** State of a thread, after its name. Source: proc(5). */
    private static final Pattern STOPPED = Pattern.compile("\\) [Tt] ");

    private final Process process;
    private final byte[] address;
    private final RemoteSlice data;
    private final RemoteSlice onDisk;

    private OwnerProcess(Process process, byte[] address, RemoteSlice data, RemoteSlice onDisk) {
        this.process = process;
        this.address = address;
        this.data = data;
        this.onDisk = onDisk;
    }

    /** The main method of an owner; ends when its parent closes its standard input, or has gone. */
    public static void serve(String[] args, Fabric fabric) throws IOException, InterruptedException {
        Node node = new Node(Path.of(args[0]), fabric);
        byte[] content = content();
        Lease lease = TestPools.reserve(node.pool(), Purpose.MAP_OUTPUT, content.length);
        lease.memory().putBytes(0, content, 0, content.length);
        TieredPool both = new TieredPool(node.pool(), TestPools.diskTier(0, Path.of(args[1])));
        fabric.serve(both);
        Lease onDisk = TestPools.filledOnDisk(both, content);
        System.out.println(
                "owner " + HexFormat.of().formatHex(fabric.localAddress()) + " " + place(lease) + " " + place(onDisk));
        int unused = System.in.read();
        System.exit(0);
    }

    private static String place(Lease lease) {
        return lease.region().id() + " " + lease.offset();
    }

    /**
     * Starts an owner and waits until it can be read from.
     *
     * @param main class whose main method calls {@link #serve}
     * @param directory of its pool
     * @param disk of its disk tier
     */
    public static OwnerProcess start(Class<?> main, Path directory, Path disk) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName(),
                        directory.toString(),
                        disk.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith("owner ")) {
                List<String> parts = List.of(line.split(" ", -1));
                return new OwnerProcess(
                        process, HexFormat.of().parseHex(parts.get(1)), slice(parts, 2), slice(parts, 4));
            }
        }
        throw new IOException(
                "the owner's process ended with " + process.onExit().join().exitValue());
    }

    private static RemoteSlice slice(List<String> parts, int first) {
        return new RemoteSlice(
                Integer.parseInt(parts.get(first)), Long.parseLong(parts.get(first + 1)), ReadFixture.BYTES);
    }

    public byte[] address() {
        return address;
    }

    /** Returns {@value ReadFixture#BYTES} bytes that are always the same. */
    public static byte[] content() {
        // Without AssertJ: the start of the process takes long enough in QEMU.
        byte[] content = new byte[ReadFixture.BYTES];
        new Random(20_261_128).nextBytes(content);
        return content;
    }

    /** Returns where its bytes lie in its pool. */
    public RemoteSlice data() {
        return data;
    }

    /** Returns where the same bytes lie in its disk tier. */
    public RemoteSlice onDisk() {
        return onDisk;
    }

    /** Sends SIGKILL; returns when the process is gone. */
    public void kill() {
        process.destroyForcibly();
        process.onExit().orTimeout(30, TimeUnit.SECONDS).join();
    }

    /** Sends SIGSTOP or SIGCONT. */
    public void signal(String name) throws IOException, InterruptedException {
        int exit = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .inheritIO()
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IOException("kill -" + name + " failed with " + exit);
        }
        if (name.equals("STOP")) {
            // Threads that run on another processor stop a moment later.
            eventually().until(this::isStopped);
        }
    }

    private boolean isStopped() throws IOException {
        try (Stream<Path> threads = Files.list(Path.of("/proc/" + process.pid() + "/task"))) {
            for (Path thread : threads.toList()) {
                if (!STOPPED.matcher(Files.readString(thread.resolve("stat"))).find()) {
                    return false;
                }
            }
        }
        return true;
    }

    @Override
    public void close() {
        kill();
    }
}
