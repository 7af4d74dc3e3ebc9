// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.RailSettings;
import io.rdmashuffle.memory.LeakCheck;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Connections of peers that read memory which is not pinned. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class PageFaultsTest {
    private static List<Integer> timers(boolean asked, boolean able) {
        FakeRdma rdma = new FakeRdma();
        if (able) {
            rdma.onDemandPaging();
        }
        try (ConnectRig rig = new ConnectRig(rdma, new RailSettings(asked, false, OptionalInt.empty()));
                Acceptor acceptor = rig.acceptor(Secret.NONE)) {
            rig.ask(acceptor, ConnectRig.request(0));
            return rdma.notes().rnrTimers();
        }
    }

    /** The device answers a READ of a page that it has to fault in as a message that finds no receive. */
    @Test
    void peersTryAgainSoonWhereTheDeviceTakesPageFaults() {
        assertThat(timers(true, true)).as("0.64 ms").containsExactly(12);
        assertThat(timers(true, false)).as("20.48 ms").containsExactly(22);
        assertThat(timers(false, true)).as("20.48 ms").containsExactly(22);
    }
}
