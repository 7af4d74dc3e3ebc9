// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import java.net.InetAddress;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of the log of the GID of packets. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class SourceGidTest {
    private static final InetAddress ADDRESS = InetAddress.getLoopbackAddress();

    private FakeRdma rdma;
    private EventChannel events;

    @BeforeEach
    void open() {
        rdma = new FakeRdma();
        events = EventChannel.open(rdma.library());
    }

    @AfterEach
    void close() {
        events.close();
        rdma.close();
    }

    /** Returns the log of two connections. */
    private List<String> lines(Level level) {
        try (LoggedLines lines = LoggedLines.of(SourceGid.class, level);
                Rail rail = FakeRdma.rail(events, 0)) {
            CompletionQueue queue = rail.context().createCompletionQueue(8, null);
            QueuePair pair = rail.domain().createQueuePair(new QueueSizes(1, 1, 1, 0), queue, queue, null);
            rail.connected(pair);
            rail.connected(pair);
            return List.copyOf(lines.all());
        }
    }

    @Test
    void itIsToldOnce() {
        rdma.gids().set(3, VerbsConstants.IBV_GID_TYPE_ROCE_V2);
        assertThat(lines(Level.INFO))
                .singleElement()
                .asString()
                .contains("fake0:1 192.0.2.1: sends with GID 3, ROCE_V2");
    }

    @Test
    void versionOneIsAWarningWithTheRemedy() {
        rdma.gids().set(1, VerbsConstants.IBV_GID_TYPE_ROCE_V1);
        assertThat(lines(Level.WARN))
                .singleElement()
                .asString()
                .contains("speaks RoCE v1, which no router forwards; cma_roce_mode -d fake0 -p 1 -m 2 sets v2");
    }

    @Test
    void aDeviceThatDoesNotSayIsNoWarning() {
        rdma.fail("ibv_query_qp", Errno.EOPNOTSUPP);
        assertThat(lines(Level.INFO)).isEmpty();
    }

    @Test
    void onIwarpThereIsNone() {
        rdma.transport(VerbsConstants.IBV_TRANSPORT_IWARP);
        assertThat(lines(Level.INFO)).isEmpty();
        assertThat(rdma.calls("ibv_query_qp")).isZero();
    }

    @Test
    void anotherOneThanTheUserAskedForIsAWarning() {
        PortAttributes attributes = new PortAttributes(1, true, 4096, 1L << 30, 100, 0, true);
        LocalPort any = new LocalPort("mlx5_0", 1, ADDRESS, List.of(1, 3), PortSelector.ANY, attributes);
        LocalPort asked = any.as(new PortSelector("mlx5_0", 1, 3));
        GidEntry one = new GidEntry(1, 1, GidEntry.Type.ROCE_V2, ADDRESS);
        assertThat(SourceGid.warning(any, 1, one)).isNull();
        assertThat(SourceGid.warning(asked, 3, one)).isNull();
        assertThat(SourceGid.warning(asked, 1, one))
                .contains("sends with GID 1, ROCE_V2, and not with 3 of spark.shuffle.rdma.fabric.verbs.devices")
                .contains("cma_roce_mode -d mlx5_0 -p 1 shows how");
    }
}
