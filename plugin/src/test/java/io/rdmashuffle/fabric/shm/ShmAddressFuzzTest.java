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
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Damaged addresses of the shared-memory fabric lead to the peer's own file or to nothing. */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class ShmAddressFuzzTest {
    /** Reaches outside of a pool of one region, in every way that arithmetic has. */
    private static final List<RemoteSlice> OUTSIDE = List.of(
            new RemoteSlice(0, Node.REGION_BYTES, 1),
            new RemoteSlice(0, 0, Node.REGION_BYTES + 1),
            new RemoteSlice(0, 1, Long.MAX_VALUE),
            new RemoteSlice(0, Long.MAX_VALUE, Long.MAX_VALUE),
            new RemoteSlice(1, 0, 1),
            new RemoteSlice(Integer.MAX_VALUE, 0, 1));

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @Test
    void onlyRegionFilesAreMapped() throws Exception {
        try (Node node = new Node(directory, new ShmFabric(1, 1 << 20, true));
                Peer peer = node.connect(node)) {
            Path pool =
                    Objects.requireNonNull(node.pool().regions().get(0).file().getParent());
            Files.createFile(pool.resolve("1-7-4096"));
            Files.createDirectory(pool.resolve("2-7-4096"));
            Files.createSymbolicLink(pool.resolve("3-7-4096"), Path.of("/dev/zero"));
            Process fifo = new ProcessBuilder("mkfifo", pool.resolve("4-7-4096").toString())
                    .inheritIO()
                    .start();
            assertThat(fifo.waitFor()).isZero();
            for (int region = 1; region <= 5; region++) {
                RemoteSlice slice = new RemoteSlice(region, 0, 64);
                assertThatThrownBy(() -> peer.view(slice))
                        .isInstanceOf(ReadFailedException.class)
                        .hasMessageContaining("cannot map region " + slice.regionId());
            }
        }
    }

    @Test
    void everyDamagedAddressIsRefusedOrThePeersOwn() {
        try (FuzzRun run = new FuzzRun("shared-memory address", PeerUnreachableException.class);
                Node node = new Node(directory, new ShmFabric(1, 1 << 20, true))) {
            byte[] valid = node.fabric().localAddress();
            new Mutations(run.random())
                    .all(
                            valid,
                            run.times(1000),
                            input -> run.attempt(input, () -> {
                                try (Peer peer = node.fabric().connect("9", input)) {
                                    try (RemoteView view = peer.view(new RemoteSlice(0, 0, 64))) {
                                        assertThat(view).isNotNull();
                                    }
                                    for (RemoteSlice outside : OUTSIDE) {
                                        assertThatThrownBy(() -> peer.view(outside))
                                                .isInstanceOf(ReadFailedException.class);
                                    }
                                }
                                return true;
                            }));
        }
    }
}
