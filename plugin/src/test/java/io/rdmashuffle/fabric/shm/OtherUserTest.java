// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.OtherUser;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Another local user, in a directory that everybody may write, neither stops, reads nor ends anything. */
@Tag("unit")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class OtherUserTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<Lease> leases = new ArrayList<>();

    @BeforeEach
    void share() throws Exception {
        OtherUser.require();
        OtherUser.share(directory);
    }

    private Node node() {
        return new Node(directory, new ShmFabric(1, 1 << 20, true));
    }

    private static Path poolOf(Node node) {
        return Objects.requireNonNull(node.pool().regions().get(0).file().getParent());
    }

    private static void assertGrowsToItsCap(Node node) throws Exception {
        List<Lease> all = TestPools.fill(node.pool());
        assertThat(node.pool().usage().capacityBytes()).isEqualTo(Node.CAP_BYTES);
        all.forEach(Lease::close);
    }

    private static void assertReads(Peer peer, Lease lease) throws Exception {
        lease.memory().putLong(0, 77);
        RemoteSlice slice = new RemoteSlice(lease.region().id(), lease.offset(), 8);
        try (RemoteView view = Objects.requireNonNull(peer.view(slice))) {
            assertThat(((MemorySlice) view.bytes()).getLong(0)).isEqualTo(77);
        }
    }

    /** Names in the form that pools give: files, directories, links and pipes, before any pool is there. */
    @Test
    void startsWhereAnotherUserHasTakenNames() throws Exception {
        String prefix = directory + "/rdma-shuffle-" + LibC.load().geteuid();
        Path own = Files.createFile(directory.resolve("own"));
        OtherUser.run(
                "umask 0; name() { echo \"$1-$(cat /proc/sys/kernel/random/uuid)\"; };"
                        + " mkdir \"$1\"; : > \"$(name $1)\";"
                        + " d=$(name $1); mkdir $d; : > $d/0-1-4096; ln -s $2 $d/1-2-4096; mkdir $(name $1);"
                        + " ln -s $2 $(name $1); ln -s $d $(name $1); mkfifo $(name $1); ln $2 $(name $1)",
                prefix,
                own);
        List<Path> before = list(directory);
        assertThat(before).hasSizeGreaterThanOrEqualTo(8);
        try (Node node = node();
                Lease lease = TestPools.reserve(node.pool(), Purpose.MAP_OUTPUT, 64);
                Peer peer = node.connect(node)) {
            assertReads(peer, lease);
            assertThat(Pool.removeAbandoned(directory)).isZero();
        }
        try (Node node = node()) {
            assertGrowsToItsCap(node);
        }
        assertThat(list(directory)).isEqualTo(before);
    }

    private static List<Path> list(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.sorted().toList();
        }
    }

    @Test
    void growsWhileAnotherUserTakesNames() throws Exception {
        try (Node node = node()) {
            Path region0 = node.pool().regions().get(0).file();
            OtherUser.run("for i in 1 2 3 4; do : > \"${1%.0}.$i\"; : > \"$(dirname \"$1\")/$i\"; done", region0);
            assertGrowsToItsCap(node);
        }
    }

    /** Creates, replaces, links, renames, removes, truncates: every attempt fails in a sticky directory. */
    @Test
    void anotherUserDoesNothingToALivingPool() throws Exception {
        String attempts = "p=$1; d=$2; f=$3; done=0;"
                + " try() { if \"$@\" 2>/dev/null; then done=$((done+1)); echo \"succeeded: $*\"; fi; };"
                + " try ls $d; try cat $f; try cp $f $p/copy; try sh -c ': > $0/1-1-1' $d; try mkdir $d/1;"
                + " try touch $f;"
                + " try ln $f $p/hard; try ln $f $d/1-1-1; try ln -s /dev/zero $d/1-1-1; try ln -sfn /tmp $d;"
                + " try mv $f $p/moved; try mv $d $p/moved; try mv -T $p/mine $d; try rm -f $f; try rm -rf $d;"
                + " try rmdir $d;"
                + " try truncate -s 0 $f; try sh -c ': > $0' $f; try chmod 777 $d; try chmod 666 $f; exit $done";
        OtherUser.run("mkdir -m 777 $1/mine", directory);
        try (Node node = node();
                Peer peer = node.connect(node)) {
            for (int regions = 1; regions <= 2; regions++) {
                Lease lease = TestPools.reserve(node.pool(), Purpose.MAP_OUTPUT, Node.REGION_BYTES);
                assertThat(OtherUser.run(
                                attempts,
                                directory,
                                poolOf(node),
                                lease.region().file()))
                        .as("successful attempts")
                        .isZero();
                assertReads(peer, lease);
                leases.add(lease);
            }
            leases.forEach(Lease::close);
            assertGrowsToItsCap(node);
            OtherUser.run("rmdir $1/mine", directory);
        }
        assertThat(directory).isEmptyDirectory();
    }

    /**
     * Without the sticky bit every user can move files: the owner continues elsewhere, and peers refuse foreign files.
     */
    @Test
    void aReplacedDirectoryMisleadsNobody() throws Exception {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (String replacement : List.of("mkdir -m 777 $1", "ln -s $1.moved $1", ": > $1", "mkfifo $1")) {
            try (Node node = node();
                    Peer peer = node.connect(node)) {
                Lease first = TestPools.reserve(node.pool(), Purpose.MAP_OUTPUT, Node.REGION_BYTES);
                assertReads(peer, first);
                Path taken = poolOf(node);
                assertThat(OtherUser.run("mv $1 $1.moved && umask 0 && " + replacement, taken))
                        .isZero();
                OtherUser.run("[ -p $1 ] || : > $1/1-1-131072", taken);
                Lease second = TestPools.reserve(node.pool(), Purpose.MAP_OUTPUT, Node.REGION_BYTES);
                assertThat(second.region().file().getParent()).isNotEqualTo(taken);
                assertThatThrownBy(() -> peer.view(new RemoteSlice(1, 0, 64)))
                        .as(replacement)
                        .isInstanceOf(ReadFailedException.class);
                assertThatThrownBy(() -> node.connect(node)).isInstanceOf(PeerUnreachableException.class);
                assertReads(peer, first);
                first.close();
                second.close();
                assertGrowsToItsCap(node);
                OtherUser.run("rm -rf $1", taken);
            }
        }
    }

    @Test
    void foreignFilesInThePlaceOfTheDiskTierAreRefused() throws Exception {
        try (DiskTier tier = TestPools.diskTier(0, directory);
                Node node = new Node(directory, new ShmFabric(1, 1 << 20, true, tier));
                Lease lease = Objects.requireNonNull(tier.reserve(Purpose.MAP_OUTPUT, 4096, 4096));
                Peer peer = node.connect(node)) {
            RemoteSlice slice = new RemoteSlice(Region.FIRST_ON_DISK, lease.offset(), 64);
            Path file = lease.region().file();
            assertThat(OtherUser.run("ln $1 $1.link || mv $1 $1.moved || : > $1 || cat $1", file))
                    .isNotZero();
            Objects.requireNonNull(peer.view(slice)).close();
            for (String replacement : List.of("head -c 8192 /dev/zero > $1", "ln -s $2 $1", "mkfifo $1", "mkdir $1")) {
                peer.releaseRegions();
                Files.delete(file);
                Path target = Files.createFile(directory.resolve("target"));
                assertThat(OtherUser.run("umask 0; " + replacement, file, target))
                        .isZero();
                assertThatThrownBy(() -> peer.view(slice)).as(replacement).isInstanceOf(ReadFailedException.class);
                Files.delete(target);
            }
        }
    }

    @Test
    void survivesTruncationOfAForeignRegion() throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx64m",
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:ErrorFile=/dev/null",
                        "-cp",
                        System.getProperty("java.class.path"),
                        TruncatedRegion.class.getName(),
                        directory.toString())
                .redirectErrorStream(true)
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.exitValue()).as(output).isZero();
        assertThat(output).contains("refused: ");
    }
}
