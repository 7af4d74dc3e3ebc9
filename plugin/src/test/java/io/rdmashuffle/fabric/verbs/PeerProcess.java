// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * A peer that is a process of its own and can be stopped or killed: a pool with one lease full of bytes, and a verbs
 * fabric.
 */
final class PeerProcess implements AutoCloseable {
    static final int BYTES = 100_000;
    private static final long SEED = 20_261_121;

    private final Process process;
    private final byte[] address;
    private final RemoteSlice data;
    private final RemoteSlice onDisk;

    private PeerProcess(Process process, byte[] address, RemoteSlice data, RemoteSlice onDisk) {
        this.process = process;
        this.address = address;
        this.data = data;
        this.onDisk = onDisk;
    }

    /**
     * Takes the directories of pool and disk tier; prints {@code address region offset region offset}, of the same
     * bytes in both, and waits to be killed.
     */
    public static void main(String[] args) throws Exception {
        Node node = new Node(Path.of(args[0]), VerbsFabric.open(TestVerbs.settings(1 << 20)));
        Lease lease = TestPools.filled(node.pool(), BYTES, new Random(SEED));
        TieredPool both = new TieredPool(node.pool(), TestPools.diskTier(0, Path.of(args[1])));
        node.fabric().serve(both);
        Lease onDisk = TestPools.filledOnDisk(both, expected());
        System.out.println("peer " + HexFormat.of().formatHex(node.fabric().localAddress()) + " " + place(lease) + " "
                + place(onDisk));
        System.in.read();
        System.exit(0);
    }

    private static String place(Lease lease) {
        return lease.region().id() + " " + lease.offset();
    }

    /** Starts one and waits until it can be read from; its disk tier lies beside its pool. */
    static PeerProcess start(Path directory) throws IOException {
        return start(directory, directory);
    }

    /** Likewise, with its disk tier in another directory. */
    static PeerProcess start(Path directory, Path disk) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        PeerProcess.class.getName(),
                        directory.toString(),
                        disk.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith("peer ")) {
                List<String> parts = List.of(line.split(" ", -1));
                return new PeerProcess(
                        process,
                        HexFormat.of().parseHex(parts.get(1)),
                        new RemoteSlice(Integer.parseInt(parts.get(2)), Long.parseLong(parts.get(3)), BYTES),
                        new RemoteSlice(Integer.parseInt(parts.get(4)), Long.parseLong(parts.get(5)), BYTES));
            }
        }
        throw new IOException(
                "the peer's process ended with " + process.onExit().join().exitValue());
    }

    byte[] address() {
        return address;
    }

    RemoteSlice data() {
        return data;
    }

    /** Returns where the same bytes lie in the peer's disk tier. */
    RemoteSlice onDisk() {
        return onDisk;
    }

    /** Returns what the peer's bytes are. */
    static byte[] expected() {
        byte[] content = new byte[BYTES];
        new Random(SEED).nextBytes(content);
        return content;
    }

    /** Sends SIGKILL; returns when the process is gone. */
    void kill() {
        process.destroyForcibly();
        process.onExit().orTimeout(30, TimeUnit.SECONDS).join();
    }

    /** Sends SIGSTOP or SIGCONT. */
    void signal(String name) throws IOException, InterruptedException {
        int exit = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .inheritIO()
                .start()
                .waitFor();
        if (exit != 0) {
            throw new IOException("kill -" + name + " failed with " + exit);
        }
    }

    @Override
    public void close() {
        kill();
    }
}
