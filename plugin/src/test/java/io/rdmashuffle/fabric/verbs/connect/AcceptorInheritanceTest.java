// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.PeerFiles;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Peers that mean an ended process whose pool this one serves, on a fake connection manager and device. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class AcceptorInheritanceTest {
    private static final long ENDED = 99;
    private static final long REGION_BYTES = 128 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ConnectRig rig;
    private Acceptor acceptor;
    private Pool pool;
    private EndedPool ended;

    @BeforeEach
    void open() throws Exception {
        rig = new ConnectRig();
        acceptor = rig.acceptor(ConnectRig.SECRET);
        pool = TestPools.create(directory, 2 * REGION_BYTES, REGION_BYTES);
        for (Lease lease : TestPools.fill(pool)) {
            lease.close();
        }
        ended = EndedPool.open(PeerFiles.of(pool.regions().get(0)), region -> null);
    }

    @AfterEach
    void close() {
        acceptor.close();
        rig.close();
        ended.close();
        pool.close();
    }

    private long ask(long from, long to) {
        return rig.ask(
                acceptor,
                Handshake.request(from, to, 0, ConnectRig.SECRET, ConnectRig.ENDS)
                        .encoded());
    }

    private boolean isRefused(long id) {
        byte[] told = rig.rdma.rejectOf(id);
        return told != null && Handshake.meaningOf(told).equals(Handshake.Refusal.ANOTHER_PROCESS.meaning());
    }

    /** Returns the regions in the answer to a peer's query. */
    private RegionTable regionsOver(int pair) {
        try (NativeBuffer buffer = new NativeBuffer(RegionTable.QUERY_BYTES)) {
            RegionTable.writeQuery(buffer.address(), 0);
            byte[] query = new byte[RegionTable.QUERY_BYTES];
            buffer.getBytes(0, query, 0, query.length);
            rig.rdma.queues().deliver(pair, query);
        }
        acceptor.serve();
        var sent = rig.rdma.queues().posted(pair).get(0);
        return RegionTable.EMPTY.withResponse(sent.local(), sent.length());
    }

    @Test
    void peersAreToldOfThePoolThatTheyMean() {
        assertThat(isRefused(ask(1, ENDED))).as("before it is registered").isTrue();
        rig.rail.inherit(ENDED, ended);
        assertThat(rig.rdma.acceptOf(ask(1, ENDED))).isNotNull();
        assertThat(rig.rdma.acceptOf(ask(1, ConnectRig.FABRIC_ID))).isNotNull();
        List<Integer> pairs = rig.rdma.queues().pairNumbers();
        assertThat(pairs).as("one for each pool").hasSize(2);
        assertThat(regionsOver(pairs.get(0)).present()).isEqualTo(2);
        assertThat(regionsOver(pairs.get(1)).present()).isZero();
        int key = Objects.requireNonNull(rig.rail.inherited(ENDED)).table().key(1);
        assertThat(regionsOver(pairs.get(0)).key(1)).isEqualTo(key);
    }

    @Test
    void whoeverReadsItIsCutOffWhenItIsRenounced() {
        rig.rail.inherit(ENDED, ended);
        ask(1, ENDED);
        ask(1, ConnectRig.FABRIC_ID);
        List<Integer> pairs = rig.rdma.queues().pairNumbers();
        rig.rail.renounce(ENDED);
        acceptor.endServed(ENDED);
        assertThat(rig.rdma.queues().state(pairs.get(0)))
                .as("that process reads nothing")
                .isEqualTo(VerbsConstants.IBV_QPS_RTS);
        acceptor.endInherited(ENDED);
        assertThat(rig.rdma.queues().state(pairs.get(0))).isEqualTo(VerbsConstants.IBV_QPS_ERR);
        assertThat(rig.rdma.queues().state(pairs.get(1))).isEqualTo(VerbsConstants.IBV_QPS_RTS);
        assertThat(isRefused(ask(1, ENDED))).isTrue();
    }
}
