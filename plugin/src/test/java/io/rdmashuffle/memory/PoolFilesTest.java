// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Whose files stay and whose go, with owners that are other processes and die. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class PoolFilesTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endProcesses() throws InterruptedException {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
    }

    private List<Path> files() {
        try (Stream<Path> files = Files.list(directory)) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Starts a process that holds a pool of four regions in the directory. */
    private Process holder() throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        PoolHolder.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        started.add(process);
        BufferedReader out = process.inputReader();
        String line = out.readLine();
        while (line != null && !line.equals("ready")) {
            line = out.readLine();
        }
        assertThat(line).isEqualTo("ready");
        return process;
    }

    @Test
    void filesOfAKilledProcessGoAndThoseOfLivingOnesStay() throws Exception {
        Process living = holder();
        List<Path> livingFiles = files();
        assertThat(livingFiles).hasSize(4);
        Process victim = holder();
        assertThat(files())
                .as("a new pool keeps the files of the other process")
                .hasSize(8);
        victim.destroyForcibly().waitFor();
        assertThat(files()).as("nobody has swept yet").hasSize(8);
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20)) {
            assertThat(files()).hasSize(5).containsAll(livingFiles);
            assertThat(pool.regions()).hasSize(1);
            assertThat(PoolFiles.removeAbandoned(directory)).isZero();
            assertThat(files()).hasSize(5);
        }
        assertThat(files()).isEqualTo(livingFiles);
        living.destroyForcibly().waitFor();
        assertThat(PoolFiles.removeAbandoned(directory)).isOne();
        assertThat(files()).isEmpty();
    }

    @Test
    void aProcessThatExitsWithoutClosingRemovesItsFiles() throws Exception {
        Process process = holder();
        assertThat(files()).hasSize(4);
        process.getOutputStream().close();
        assertThat(process.waitFor()).isZero();
        assertThat(files()).isEmpty();
    }

    @Test
    void aProcessThatIsTerminatedRemovesItsFiles() throws Exception {
        Process process = holder();
        process.destroy();
        process.waitFor();
        assertThat(files()).isEmpty();
    }

    @Test
    void mappedBytesOutliveTheirKilledOwner() throws Exception {
        Process victim = holder();
        try (Mapping peer = PeerFile.map(files().get(0))) {
            victim.destroyForcibly().waitFor();
            PoolFiles.removeAbandoned(directory);
            assertThat(files()).isEmpty();
            assertThat(peer.memory().getLong(0)).isZero();
        }
    }

    @Test
    void poolsOfOneProcessDoNotMeet() throws Exception {
        try (Pool first = TestPools.create(directory, 1 << 20, 1 << 20);
                Pool second = TestPools.create(directory, 1 << 20, 1 << 20)) {
            assertThat(files()).hasSize(2);
            assertThat(first.regions().get(0).file())
                    .isNotEqualTo(second.regions().get(0).file());
            assertThat(PoolFiles.removeAbandoned(directory)).isZero();
            assertThat(files()).hasSize(2);
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void sweepersNeverTakeAFileThatIsJustBeingCreated() {
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Void> sweeping = CompletableFuture.runAsync(() -> {
            while (!done.get()) {
                PoolFiles.removeAbandoned(directory);
            }
        });
        for (int i = 0; i < 2000; i++) {
            PoolFiles files = PoolFiles.create(directory);
            for (int region = 0; region < 3; region++) {
                files.createRegion(region, 4096, false).close();
            }
            assertThat(List.of(files.path(0), files.path(1), files.path(2)))
                    .allSatisfy(file -> assertThat(file).exists());
            files.close();
        }
        done.set(true);
        sweeping.join();
        assertThat(files()).isEmpty();
    }

    @Test
    void regionsWhoseFirstIsGoneAreRemoved() throws Exception {
        Process living = holder();
        List<Path> livingFiles = files();
        Process victim = holder();
        victim.destroyForcibly().waitFor();
        List<Path> left = new ArrayList<>(files());
        left.removeAll(livingFiles);
        assertThat(left).hasSize(4);
        Files.delete(left.get(0));
        assertThat(PoolFiles.removeAbandoned(directory)).isOne();
        assertThat(files()).isEqualTo(livingFiles);
        assertThat(PoolFiles.removeAbandoned(directory)).isZero();
        assertThat(living.isAlive()).isTrue();
    }

    /** As logind does at logout. The owner keeps its memory, and what it creates later is known to be its own again. */
    @Test
    void aPoolWhoseFilesWereRemovedLocksAnotherBeforeItGrows() throws Exception {
        try (Pool pool = TestPools.create(directory, 1 << 20, 256 << 10)) {
            Lease first = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 256 << 10);
            for (Path file : files()) {
                Files.delete(file);
            }
            Lease second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 256 << 10);
            assertThat(files()).hasSize(2);
            assertThat(PoolFiles.removeAbandoned(directory))
                    .as("the owner lives")
                    .isZero();
            assertThat(files()).hasSize(2);
            first.memory().putInt(0, 7);
            first.close();
            second.close();
        }
        assertThat(files()).isEmpty();
    }

    /** Names that a pattern would take for more than themselves, or that are no pattern at all. */
    @Test
    void namesThatNoPoolGivesHarmNobody() throws Exception {
        String mine = "rdma-shuffle-" + LibC.load().geteuid() + "-";
        List<Path> strange = new ArrayList<>();
        for (String token : List.of("*", "?", "[", "{a,", "\\", "", "0-0", "*-*-*-*-*", "-new")) {
            strange.add(Files.createFile(directory.resolve(mine + token + ".0")));
        }
        for (String suffix : List.of("", ".", ".1x", ".01", ".-1", ".1.1", ".0-new")) {
            strange.add(Files.createFile(directory.resolve(mine + UUID.randomUUID() + suffix)));
        }
        strange.add(Files.createDirectory(directory.resolve(mine + UUID.randomUUID() + ".0")));
        strange.add(Files.createSymbolicLink(directory.resolve(mine + "*.1"), Path.of("/nowhere")));
        try (Pool pool = TestPools.create(directory, 1 << 20, 256 << 10)) {
            TestPools.fill(pool).forEach(Lease::close);
            List<Path> all = files();
            assertThat(all).hasSize(strange.size() + 4).containsAll(strange);
            assertThat(PoolFiles.removeAbandoned(directory)).isZero();
            assertThat(files()).isEqualTo(all);
        }
        assertThat(files()).containsExactlyInAnyOrderElementsOf(strange);
    }

    private static long openFiles() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(each -> {
                        try {
                            return Files.readSymbolicLink(each).toString().contains("rdma-shuffle-");
                        } catch (IOException closedMeanwhile) {
                            return false;
                        }
                    })
                    .count();
        }
    }

    @Test
    void aRegionForWhichThereIsNoRoomLeavesNeitherFileNorDescriptor() throws Exception {
        try (PoolFiles files = PoolFiles.create(directory)) {
            long before = openFiles();
            assertThatThrownBy(() -> files.createRegion(0, 1L << 50, false))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContainingAll("fallocate(", "ENOSPC", "--shm-size");
            long mappings = Mapping.live();
            assertThatThrownBy(() -> files.createRegion(0, 1L << 50, true)).isInstanceOf(NativeException.class);
            assertThat(Mapping.live()).isEqualTo(mappings);
            assertThat(files()).isEmpty();
            assertThat(openFiles()).isEqualTo(before);
            Mapping first = files.createRegion(0, 4096, false);
            assertThat(openFiles()).as("the lock").isEqualTo(before + 1);
            assertThatThrownBy(() -> files.createRegion(1, 1L << 50, false)).isInstanceOf(NativeException.class);
            files.createRegion(1, 4096, false).close();
            assertThat(files()).containsExactly(files.path(0), files.path(1));
            assertThat(openFiles()).isEqualTo(before + 1);
            files.removeRegion(0);
            assertThat(openFiles()).isEqualTo(before);
            files.removeRegion(1);
            assertThat(files()).isEmpty();
            first.close();
        }
    }

    @Test
    void nothingIsCreatedOrRemovedAfterTheEnd() throws Exception {
        PoolFiles files = PoolFiles.create(directory);
        files.createRegion(0, 4096, false).close();
        files.close();
        files.close();
        assertThat(files()).isEmpty();
        Files.createFile(files.path(0));
        files.removeRegion(0);
        assertThat(files()).containsExactly(files.path(0));
        assertThatThrownBy(() -> files.createRegion(1, 4096, false)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void whatCannotBeOpenedOrRemovedIsSaidAndNotCounted() throws Exception {
        String mine = "rdma-shuffle-" + LibC.load().geteuid() + "-";
        Path loop = directory.resolve(mine + UUID.randomUUID() + ".0");
        Files.createSymbolicLink(loop, loop);
        Path full = Files.createDirectory(directory.resolve(mine + UUID.randomUUID() + ".1"));
        Files.createFile(full.resolve("file"));
        Path nowhere = directory.resolve(mine + UUID.randomUUID() + ".0");
        Files.createSymbolicLink(nowhere, directory.resolve("none"));
        try (LoggedLines lines = LoggedLines.of(PoolFiles.class)) {
            assertThat(PoolFiles.removeAbandoned(directory)).isZero();
            assertThat(lines.all())
                    .hasSize(2)
                    .anyMatch(line -> line.contains(loop.toString()))
                    .anyMatch(line -> line.contains(full.toString()));
        }
        assertThat(files()).hasSize(3);
    }

    @Test
    void strangersFilesAreNotTouched() throws Exception {
        Path other = Files.createFile(directory.resolve("something.0"));
        Path otherUser = Files.createFile(directory.resolve("rdma-shuffle-4294000000-token.0"));
        PoolFiles.removeAbandoned(directory);
        assertThat(files()).containsExactlyInAnyOrder(other, otherUser);
    }
}
