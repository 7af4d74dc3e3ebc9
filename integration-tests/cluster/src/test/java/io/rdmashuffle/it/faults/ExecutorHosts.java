// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import io.rdmashuffle.harness.Workspace;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;

/**
 * Hosts for the executors of a local cluster, as network namespaces on a bridge of their own: the driver stays outside,
 * executor N is on host N modulo their number, and any host can be cut off. They share disks, and memory unless each
 * has its own.
 *
 * <p>A local cluster starts executors with the {@code java} of their {@code JAVA_HOME}; here that is a script which
 * enters the namespace and gives the executor the namespace's address.
 *
 * <p>Needs root and ip(8).
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> closing takes everything away.
 *
 * <p><b>Source:</b> ip-netns(8), veth(4), nsenter(1).
 */
final class ExecutorHosts implements AutoCloseable {
    private static final int ATTEMPTS = 100;

    private final String prefix;
    private final String network;
    private final int hosts;
    private final Path javaHome;
    private final Deque<List<String>> undos = new ArrayDeque<>();
    /** Processes in whose mount namespaces executors run, by host; empty if hosts share memory. */
    private final List<Process> memories = new ArrayList<>();

    private ExecutorHosts(int number, int hosts) throws IOException {
        this.prefix = "rsit" + number;
        this.network = "10.78." + number + ".";
        this.hosts = hosts;
        this.javaHome =
                Files.createDirectories(Workspace.find().target("cluster").resolve("it/hosts"));
    }

    /**
     * Makes hosts, or skips the test where that is not allowed. Another run of these tests on the same machine, or what
     * is left of one that was killed, may have the number that was drawn: then another one is.
     */
    static ExecutorHosts make(int hosts) throws IOException {
        return make(hosts, false);
    }

    /** Makes hosts of which each has a {@code /dev/shm} of its own. */
    static ExecutorHosts withOwnMemory(int hosts) throws IOException {
        return make(hosts, true);
    }

    private static ExecutorHosts make(int hosts, boolean ownMemory) throws IOException {
        for (int attempt = 1; ; attempt++) {
            ExecutorHosts made = new ExecutorHosts(ThreadLocalRandom.current().nextInt(1, 250), hosts);
            try {
                made.make(
                        List.of("ip", "link", "add", made.prefix, "type", "bridge"),
                        List.of("ip", "link", "del", made.prefix));
            } catch (IOException e) {
                if (attempt < ATTEMPTS && String.valueOf(e.getMessage()).contains("File exists")) {
                    continue;
                }
                Commands.skip(e);
            }
            try {
                if (ownMemory) {
                    made.makeMemories();
                }
                made.build();
            } catch (IOException e) {
                try {
                    made.close();
                } catch (IOException left) {
                    e.addSuppressed(left);
                }
                throw e;
            }
            return made;
        }
    }

    private void build() throws IOException {
        Commands.run("ip", "addr", "add", network + "1/24", "dev", prefix);
        Commands.run("ip", "link", "set", prefix, "up");
        for (int host = 0; host < hosts; host++) {
            String namespace = prefix + "n" + host;
            make(List.of("ip", "netns", "add", namespace), List.of("ip", "netns", "del", namespace));
            make(
                    List.of(
                            "ip",
                            "link",
                            "add",
                            outside(host),
                            "type",
                            "veth",
                            "peer",
                            "name",
                            "eth0",
                            "netns",
                            namespace),
                    List.of("ip", "link", "del", outside(host)));
            Commands.run("ip", "link", "set", outside(host), "master", prefix, "up");
            Commands.run("ip", "-n", namespace, "addr", "add", network + (10 + host) + "/24", "dev", "eth0");
            Commands.run("ip", "-n", namespace, "link", "set", "eth0", "up");
            Commands.run("ip", "-n", namespace, "link", "set", "lo", "up");
        }
        writeJava();
    }

    /** Each process ends with this one, whose end closes its standard input. */
    private void makeMemories() throws IOException {
        for (int host = 0; host < hosts; host++) {
            Process memory = new ProcessBuilder(
                            "unshare",
                            "--mount",
                            "--propagation",
                            "private",
                            "bash",
                            "-c",
                            "mount -t tmpfs -o size=1g rdma-it /dev/shm && echo mounted && exec cat")
                    .start();
            memories.add(memory);
            BufferedReader output =
                    new BufferedReader(new InputStreamReader(memory.getInputStream(), StandardCharsets.UTF_8));
            if (!"mounted".equals(output.readLine())) {
                throw new IOException("cannot mount a /dev/shm of its own for host " + host);
            }
        }
    }

    /** Returns the names of pools in a host's own memory. */
    List<String> pools(int host) {
        // Of the process's file system as it sees it: proc(5), root.
        String[] names = Path.of("/proc", Long.toString(memories.get(host).pid()), "root", "dev", "shm")
                .toFile()
                .list((folder, name) -> name.startsWith("rdma-shuffle-"));
        return names == null ? List.of() : List.of(names);
    }

    private String outside(int host) {
        return prefix + "v" + host;
    }

    private void writeJava() throws IOException {
        Path java = Files.createDirectories(javaHome.resolve("bin")).resolve("java");
        Files.writeString(java, """
                #!/bin/bash
                # Starts an executor on its host; the worker, which stays outside, is not to be watched from there.
                arguments=() id=0
                for ((i = 1; i <= $#; i++)); do
                  [ "${!i}" != --executor-id ] || { next=$((i + 1)); id=${!next}; }
                done
                host=$((id %% %d))
                while [ $# -gt 0 ]; do
                  case $1 in
                    --hostname | --bind-address) arguments+=("$1" "%s$((10 + host))"); shift 2 ;;
                    --worker-url) shift 2 ;;
                    *) arguments+=("$1"); shift ;;
                  esac
                done
                memories=(%s)
                mount=()
                [ ${#memories[@]} = 0 ] || mount=(--mount="/proc/${memories[host]}/ns/mnt")
                # Entering a mount namespace leaves the working directory.
                exec nsenter --net="/run/netns/%sn$host" "${mount[@]}" \\
                  bash -c 'cd "$0" && exec "$@"' "$PWD" "%s" "${arguments[@]}"
                """.formatted(
                hosts,
                network,
                memories.stream().map(memory -> Long.toString(memory.pid())).collect(Collectors.joining(" ")),
                prefix,
                Path.of(System.getProperty("java.home"), "bin", "java")));
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Returns configuration that puts executors here, and more. The map is the caller's. */
    Map<String, String> conf(Map<String, String> more) {
        Map<String, String> conf = new HashMap<>(more);
        conf.put("spark.executorEnv.JAVA_HOME", javaHome.toString());
        conf.put("spark.driver.host", network + "1");
        conf.put("spark.driver.bindAddress", network + "1");
        return conf;
    }

    /** Takes hosts off the network for a while: packets to and from them are dropped without an error. */
    void cutOff(long millis, int... cut) throws IOException, InterruptedException {
        for (int host : cut) {
            Commands.run("ip", "link", "set", outside(host), "down");
        }
        try {
            Thread.sleep(millis);
        } finally {
            for (int host : cut) {
                Commands.run("ip", "link", "set", outside(host), "up");
            }
        }
    }

    /** Returns on which host an executor is. */
    int hostOf(String executorId) {
        return Integer.parseInt(executorId) % hosts;
    }

    /** Runs a command and remembers the one that takes its effect away. */
    private void make(List<String> command, List<String> undo) throws IOException {
        Commands.run(command.toArray(String[]::new));
        undos.push(undo);
    }

    /**
     * Removes namespaces and links. A namespace remains for minutes while the kernel retries unsent data, so links are
     * removed separately.
     */
    @Override
    public void close() throws IOException {
        memories.forEach(Process::destroyForcibly);
        IOException failure = null;
        while (!undos.isEmpty()) {
            try {
                Commands.run(undos.pop().toArray(String[]::new));
            } catch (IOException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
