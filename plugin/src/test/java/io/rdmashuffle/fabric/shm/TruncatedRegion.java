// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.OtherUser;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.file.Path;

/** A process that reads region 1 of a pool whose owner has ended, while another user puts a file in its place. */
final class TruncatedRegion {
    /** Takes the name of the pool's directory and of its files, as far as they are free. */
    private static final String TAKE = "umask 0; region0=$1; d=$(dirname \"$1\"); "
            + "take() { head -c 131072 /dev/zero > \"$1\"; }; "
            + "take \"${region0%.0}.1\"; mkdir -m 0777 \"$d\"; take \"$d/1\"; take \"$d/x\"; "
            + "mv \"$d/x\" \"$d/1-$(stat -c %i \"$d/x\")-131072\"; true";

    private static final String TRUNCATE =
            "d=$(dirname \"$1\"); for f in \"${1%.0}.1\" \"$d\"/1*; do : > \"$f\"; done 2>/dev/null; true";

    private TruncatedRegion() {}

    /** Takes the pool's directory. */
    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        try (Node reader = new Node(directory, new ShmFabric(1, 1 << 20, true))) {
            Node owner = new Node(directory, new ShmFabric(1, 1 << 20, true));
            Path region0 = owner.pool().regions().get(0).file();
            try (Peer peer = reader.connect(owner)) {
                RemoteView first = peer.view(new RemoteSlice(0, 0, 64));
                owner.close();
                OtherUser.run(TAKE, region0);
                read(peer, region0);
                if (first != null) {
                    first.close();
                }
            }
        }
    }

    private static void read(Peer peer, Path region0) throws Exception {
        try (RemoteView view = peer.view(new RemoteSlice(1, 0, 128 << 10))) {
            if (view == null) {
                throw new AssertionError("no view");
            }
            OtherUser.run(TRUNCATE, region0);
            System.out.println("read " + Crc32c.of((MemorySlice) view.bytes()));
        } catch (ReadFailedException e) {
            System.out.println("refused: " + e.getMessage());
        }
    }
}
