// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.TestPools;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Process of its own that serves a lease full of bytes over TCP, and can be stopped or killed. */
final class TcpOwnerProcess implements AutoCloseable {
    static final int BYTES = 100_000;
    private static final long SEED = 20_261_128;

    private final Process process;
    private final byte[] address;
    private final RemoteSlice data;

    private TcpOwnerProcess(Process process, byte[] address, RemoteSlice data) {
        this.process = process;
        this.address = address;
        this.data = data;
    }

    /** Takes the directory of the pool; prints {@code owner address region offset} and waits to be killed. */
    public static void main(String[] args) throws Exception {
        Node node = new Node(Path.of(args[0]), TestTcp.fabric(1 << 20));
        Lease lease = TestPools.filled(node.pool(), BYTES, new Random(SEED));
        System.out.println("owner " + HexFormat.of().formatHex(node.fabric().localAddress()) + " "
                + lease.region().id() + " " + lease.offset());
        System.in.read();
        System.exit(0);
    }

    static TcpOwnerProcess start(Path directory) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        TcpOwnerProcess.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith("owner ")) {
                List<String> parts = List.of(line.split(" ", -1));
                return new TcpOwnerProcess(
                        process,
                        HexFormat.of().parseHex(parts.get(1)),
                        new RemoteSlice(Integer.parseInt(parts.get(2)), Long.parseLong(parts.get(3)), BYTES));
            }
        }
        throw new IOException(
                "the owner's process ended with " + process.onExit().join().exitValue());
    }

    byte[] address() {
        return address;
    }

    RemoteSlice data() {
        return data;
    }

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
