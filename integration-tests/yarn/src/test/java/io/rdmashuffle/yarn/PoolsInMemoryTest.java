// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class PoolsInMemoryTest {
    private static final List<String> SMAPS = List.of(
            "7f3c00000000-7f3c20000000 rw-p 00000000 00:00 0 ",
            "Rss:               20480 kB",
            "Anonymous:         18432 kB",
            "7f3c40000000-7f3c60000000 rw-s 00000000 00:1a 7        /dev/shm/rdma-shuffle-1.0",
            "Rss:               40960 kB",
            "Pss:               10240 kB",
            "Anonymous:             0 kB",
            "7f3c80000000-7f3ca0000000 r--s 00000000 00:1a 8        /dev/shm/rdma-shuffle-2.0",
            "Rss:               81920 kB",
            "Anonymous:             0 kB",
            "7f3cc0000000-7f3cc0001000 r--s 00000000 fe:00 9        /usr/share/a.jar",
            "Rss:                1024 kB");

    @Test
    void ownPoolIsWhatIsWritableAndPeersAreWhatIsNot() {
        assertThat(PoolsInMemory.parse(SMAPS)).isEqualTo(new PoolsInMemory(141, 18, 40, 80));
    }
}
