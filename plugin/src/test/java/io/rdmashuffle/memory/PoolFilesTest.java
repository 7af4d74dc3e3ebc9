// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.slice.FileStatus;
import io.rdmashuffle.memory.slice.Mapping;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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
    private static final String MINE = "rdma-shuffle-" + LibC.load().geteuid() + "-";

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
        return TestPools.files(directory);
    }

    /** Starts a process that holds a pool of four regions in the directory, perhaps one of an application. */
    private Process holder(String... application) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                PoolHolder.class.getName(),
                directory.toString()));
        command.addAll(List.of(application));
        Process process = new ProcessBuilder(command)
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
        assertThat(files()).as("not swept yet").hasSize(8);
        try (Pool pool = TestPools.create(directory, 1 << 20, 1 << 20)) {
            assertThat(files()).hasSize(5).containsAll(livingFiles);
            assertThat(pool.regions()).hasSize(1);
            assertThat(Pool.removeAbandoned(directory)).isZero();
            assertThat(files()).hasSize(5);
        }
        assertThat(files()).isEqualTo(livingFiles);
        living.destroyForcibly().waitFor();
        assertThat(Pool.removeAbandoned(directory)).isOne();
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void filesOutliveTheirProcessAsLongAsTheirApplicationExists(@TempDir Path application) throws Exception {
        Process victim = holder(application.toString());
        Path pool = Objects.requireNonNull(files().get(0).getParent());
        victim.destroyForcibly().waitFor();
        assertThat(Pool.removeAbandoned(directory)).isZero();
        assertThat(Pool.removeAbandoned(directory, (path, of) -> {
                    assertThat(path).isEqualTo(pool);
                    assertThat(of).isEqualTo(new PoolApplication("app-1", application));
                    return true;
                }))
                .isZero();
        assertThat(files()).hasSize(5);
        Files.delete(application);
        assertThat(Pool.removeAbandoned(directory)).isOne();
        assertThat(directory).isEmptyDirectory();
        Files.createDirectory(application);
    }

    /** A cluster manager that was killed does not remove the directory. */
    @Test
    void filesWaitADayForAnotherProcessOfTheirApplication(@TempDir Path application) throws Exception {
        Process victim = holder(application.toString());
        Path pool = Objects.requireNonNull(files().get(0).getParent());
        victim.destroyForcibly().waitFor();
        Files.setLastModifiedTime(pool, FileTime.from(Instant.now().minus(Duration.ofHours(23))));
        assertThat(Pool.removeAbandoned(directory)).isZero();
        Files.setLastModifiedTime(pool, FileTime.from(Instant.now().minus(Duration.ofHours(25))));
        Process other = holder(application.toString());
        assertThat(Pool.removeAbandoned(directory))
                .as("one of the application lives")
                .isZero();
        Pool.touch(pool);
        other.destroyForcibly().waitFor();
        assertThat(Pool.removeAbandoned(directory)).as("one lived just now").isZero();
        Files.setLastModifiedTime(pool, FileTime.from(Instant.now().minus(Duration.ofHours(25))));
        assertThat(Pool.removeAbandoned(directory)).isOne();
        assertThat(files()).as("those of the other").hasSize(5);
    }

    @Test
    void aPoolShowsThatItsOwnerLives(@TempDir Path application) throws Exception {
        PoolSettings settings = new PoolSettings(directory, 1 << 20, 0, 256 << 10, false)
                .outliving(new PoolApplication("app-1", application));
        FileTime past = FileTime.from(Instant.now().minus(Duration.ofDays(2)));
        try (Pool pool = Pool.create(settings, region -> {})) {
            Path files = Objects.requireNonNull(pool.filesPath());
            Files.setLastModifiedTime(files, past);
            pool.checkFiles();
            assertThat(Files.getLastModifiedTime(files)).isGreaterThan(past);
        }
    }

    @Test
    void withoutADirectoryFilesOutliveTheirProcessAsLongAsAnotherOneOfTheApplicationLives() throws Exception {
        Process victim = holder("");
        Process other = holder("");
        Process stranger = holder();
        victim.destroyForcibly().waitFor();
        assertThat(Pool.removeAbandoned(directory)).isZero();
        other.destroyForcibly().waitFor();
        Process heir = holder("");
        assertThat(files()).as("it may have to serve them").hasSize(3 * 5 + 4);
        heir.destroyForcibly().waitFor();
        assertThat(Pool.removeAbandoned(directory))
                .as("one of another application lives")
                .isEqualTo(3);
        stranger.destroyForcibly().waitFor();
        assertThat(Pool.removeAbandoned(directory)).isOne();
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void aFileThatNamesNoApplicationKeepsNothing(@TempDir Path application) throws Exception {
        Process victim = holder(application.toString());
        Path pool = Objects.requireNonNull(files().get(0).getParent());
        victim.destroyForcibly().waitFor();
        Files.writeString(pool.resolve("application"), "app-1");
        assertThat(Pool.removeAbandoned(directory)).isOne();
    }

    @Test
    void aProcessThatExitsWithoutClosingRemovesItsFiles() throws Exception {
        Process process = holder();
        assertThat(files()).hasSize(4);
        process.getOutputStream().close();
        assertThat(process.waitFor()).isZero();
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void aProcessThatIsTerminatedRemovesItsFiles() throws Exception {
        Process process = holder();
        process.destroy();
        process.waitFor();
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void mappedBytesOutliveTheirKilledOwner() throws Exception {
        Process victim = holder();
        Path region0 = files().get(0);
        FileStatus status = FileStatus.of(region0);
        PeerFiles files = new PeerFiles(
                Objects.requireNonNull(region0.getParent()), status.uid(), status.identity(), status.bytes());
        try (Mapping peer = files.map(0)) {
            victim.destroyForcibly().waitFor();
            Pool.removeAbandoned(directory);
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
            assertThat(Pool.removeAbandoned(directory)).isZero();
            assertThat(files()).hasSize(2);
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void sweepersNeverTakeAFileThatIsJustBeingCreated() {
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Void> sweeping = CompletableFuture.runAsync(() -> {
            while (!done.get()) {
                Pool.removeAbandoned(directory);
            }
        });
        for (int i = 0; i < 2000; i++) {
            PoolFiles files = PoolFiles.create(directory, null);
            for (int region = 0; region < 3; region++) {
                files.createRegion(region, 4096, false).close();
            }
            assertThat(List.of(files.path(0), files.path(1), files.path(2)))
                    .allSatisfy(file -> assertThat(file).exists());
            files.close();
        }
        done.set(true);
        sweeping.join();
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void sweepersRemoveADeadPoolOnce() throws Exception {
        for (int round = 0; round < 20; round++) {
            Path dead = leave("1-2-3", "new");
            List<CompletableFuture<Integer>> sweepers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                sweepers.add(CompletableFuture.supplyAsync(() -> Pool.removeAbandoned(directory)));
            }
            int removed = 0;
            for (CompletableFuture<Integer> sweeper : sweepers) {
                removed += sweeper.get(30, TimeUnit.SECONDS);
            }
            assertThat(removed).isOne();
            assertThat(dead).doesNotExist();
        }
    }

    /** Leaves a directory as a process does that was killed at some moment of creating or removing it. */
    private Path leave(String... files) throws IOException {
        Path dead = directory.resolve(MINE + UUID.randomUUID());
        Files.createDirectory(dead, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        for (String file : files) {
            Files.createFile(dead.resolve(file));
        }
        return dead;
    }

    @Test
    void removesWhatAnInterruptedRemovalLeft() throws Exception {
        leave();
        leave("new");
        leave("3-4-5");
        assertThat(Pool.removeAbandoned(directory)).isEqualTo(3);
        assertThat(directory).isEmptyDirectory();
    }

    /** As logind does at logout. The owner keeps its memory, and grows in the same place. */
    @Test
    void growsAfterAnotherProgramRemovedItsFiles() throws Exception {
        try (LoggedLines lines = LoggedLines.of(PoolFiles.class);
                Pool pool = TestPools.create(directory, 1 << 20, 256 << 10)) {
            Lease first = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 256 << 10);
            Path own = files().get(0).getParent();
            for (Path file : files()) {
                Files.delete(file);
            }
            Files.delete(own);
            Lease second = TestPools.reserve(pool, Purpose.MAP_OUTPUT, 256 << 10);
            assertThat(files())
                    .singleElement()
                    .satisfies(file -> assertThat(file).hasParentRaw(own));
            assertThat(pool.removedFiles()).isOne();
            assertThat(lines.all()).singleElement().asString().contains("RemoveIPC=no");
            assertThat(Pool.removeAbandoned(directory)).as("the owner lives").isZero();
            assertThat(files()).hasSize(1);
            first.memory().putInt(0, 7);
            first.close();
            second.close();
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void countsFilesThatAnotherProgramRemoved() throws Exception {
        try (LoggedLines lines = LoggedLines.of(PoolFiles.class);
                Pool pool = TestPools.create(directory, 1 << 20, 256 << 10)) {
            TestPools.fill(pool).forEach(Lease::close);
            pool.checkFiles();
            assertThat(pool.removedFiles()).isZero();
            Files.delete(files().get(1));
            pool.checkFiles();
            pool.checkFiles();
            assertThat(pool.removedFiles()).isOne();
            Files.delete(files().get(0));
            pool.checkFiles();
            assertThat(pool.removedFiles()).isEqualTo(2);
            assertThat(lines.all()).hasSize(1);
        }
    }

    /** Names that a pattern would take for more than themselves, or that are no pattern at all. */
    @Test
    void namesThatNoPoolGivesHarmNobody() throws Exception {
        List<Path> strange = new ArrayList<>();
        for (String token : List.of("*", "?", "[", "{a,", "\\", "", "0-0", "*-*-*-*-*", "-new")) {
            strange.add(Files.createDirectory(directory.resolve(MINE + token)));
        }
        for (String suffix : List.of("", ".", ".1", "-1", ".0-new")) {
            strange.add(Files.createFile(directory.resolve(MINE + UUID.randomUUID() + suffix)));
        }
        strange.add(Files.createSymbolicLink(directory.resolve(MINE + UUID.randomUUID()), Path.of("/nowhere")));
        Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
        Files.createFile(elsewhere.resolve("0-1-2"));
        strange.add(Files.createSymbolicLink(directory.resolve(MINE + UUID.randomUUID()), elsewhere));
        strange.add(elsewhere);
        Path open = leave("0-1-2");
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        strange.add(open);
        try (Pool pool = TestPools.create(directory, 1 << 20, 256 << 10)) {
            TestPools.fill(pool).forEach(Lease::close);
            List<Path> all = files();
            assertThat(Pool.removeAbandoned(directory)).isZero();
            assertThat(files()).isEqualTo(all);
        }
        try (Stream<Path> left = Files.list(directory)) {
            assertThat(left).containsExactlyInAnyOrderElementsOf(strange);
        }
        assertThat(elsewhere.resolve("0-1-2")).exists();
    }

    /** Counts open files below this test's directory; other tests of the JVM may have pools of their own. */
    private long openFiles() throws IOException {
        Path here = directory.toRealPath();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(each -> {
                        try {
                            return Files.readSymbolicLink(each).startsWith(here);
                        } catch (IOException closedMeanwhile) {
                            return false;
                        }
                    })
                    .count();
        }
    }

    @Test
    void failedRegionLeavesNoFileOrDescriptor() throws Exception {
        try (PoolFiles files = PoolFiles.create(directory, null)) {
            files.createRegion(5, 4096, false).close();
            files.removeRegion(5);
            long before = openFiles();
            assertThat(before).as("the lock").isOne();
            assertThatThrownBy(() -> files.createRegion(0, 1L << 50, false))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContainingAll("fallocate(", "ENOSPC", "--shm-size");
            long mappings = Mapping.live();
            assertThatThrownBy(() -> files.createRegion(0, 1L << 50, true)).isInstanceOf(NativeException.class);
            assertThat(Mapping.live()).isEqualTo(mappings);
            assertThat(files()).isEmpty();
            assertThat(openFiles()).isEqualTo(before);
            Mapping first = files.createRegion(0, 4096, false);
            assertThat(openFiles()).isEqualTo(before);
            assertThatThrownBy(() -> files.createRegion(1, 1L << 50, false)).isInstanceOf(NativeException.class);
            files.createRegion(1, 4096, false).close();
            assertThat(files()).containsExactly(files.path(0), files.path(1));
            assertThat(openFiles()).isEqualTo(before);
            files.removeRegion(0);
            assertThat(openFiles()).isEqualTo(before);
            files.removeRegion(1);
            assertThat(files()).isEmpty();
            first.close();
        }
    }

    @Test
    void nothingIsCreatedOrRemovedAfterTheEnd() throws Exception {
        PoolFiles files = PoolFiles.create(directory, null);
        files.createRegion(0, 4096, false).close();
        Path region0 = files.path(0);
        files.close();
        files.close();
        assertThat(directory).isEmptyDirectory();
        Files.createDirectory(region0.getParent());
        Files.createFile(region0);
        files.removeRegion(0);
        assertThat(files()).containsExactly(region0);
        assertThatThrownBy(() -> files.createRegion(1, 4096, false)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void inaccessibleFilesAreReportedAndNotCounted() throws Exception {
        Path full = leave();
        Files.createDirectory(full.resolve("1"));
        Files.createFile(full.resolve("1").resolve("file"));
        try (LoggedLines lines = LoggedLines.of(PoolDirectory.class)) {
            assertThat(Pool.removeAbandoned(directory)).isZero();
            assertThat(lines.all()).isNotEmpty().anyMatch(line -> line.contains(full.toString()));
        }
        assertThat(files()).hasSize(1);
    }

    @Test
    void strangersFilesAreNotTouched() throws Exception {
        Path other = Files.createFile(directory.resolve("something.0"));
        Path otherUser = Files.createDirectory(directory.resolve("rdma-shuffle-4294000000-" + UUID.randomUUID()));
        Path file = Files.createFile(otherUser.resolve("0-1-2"));
        assertThat(Pool.removeAbandoned(directory)).isZero();
        assertThat(files()).containsExactlyInAnyOrder(other, file);
    }
}
