// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.fabric.verbs.device.StagingMessages;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.verbs.QueuePair;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Receives of all peers: as many as the device holds, and none of them is lost, whatever fails. */
@Tag("unit")
@Timeout(30)
@ExtendWith(LeakCheck.class)
class SharedReceivesTest {
    private ConnectRig rig;
    private QueryResponder responder;
    private int pair;

    @BeforeEach
    void open() {
        rig = new ConnectRig();
        responder = rig.responder(rig.rail);
        QueuePair created = responder.createQueuePair();
        responder.add(created, null);
        pair = created.number();
    }

    @AfterEach
    void close() {
        responder.close();
        rig.close();
    }

    private int posted() {
        return rig.rdma.queues().receives(pair);
    }

    private static byte[] query() {
        try (NativeBuffer buffer = new NativeBuffer(RegionTable.QUERY_BYTES)) {
            RegionTable.writeQuery(buffer.address(), 0);
            byte[] bytes = new byte[RegionTable.QUERY_BYTES];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    private static byte[] longestQuestion() {
        try (NativeBuffer buffer = new NativeBuffer(StagingMessages.MAX_QUESTION_BYTES)) {
            for (int range = 0; range < StagingMessages.MAX_RANGES; range++) {
                StagingMessages.writeRange(buffer.address(), range, Region.FIRST_ON_DISK, 4096L * range, 7);
            }
            byte[] bytes = new byte[StagingMessages.writeQuestion(buffer.address(), 1, StagingMessages.MAX_RANGES)];
            buffer.getBytes(0, bytes, 0, bytes.length);
            return bytes;
        }
    }

    private static int count(int maxSharedReceives, int maxCompletions) {
        FakeRdma rdma = new FakeRdma();
        rdma.maxSharedReceives(maxSharedReceives);
        rdma.maxCompletions(maxCompletions);
        try (ConnectRig other = new ConnectRig(rdma);
                SharedReceives receives = new SharedReceives(other.rail, maxCompletions)) {
            Set<Long> addresses = new HashSet<>();
            for (int message = 0; message < receives.count(); message++) {
                addresses.add(receives.address(0, message));
            }
            assertThat(addresses).as("memory of their own").hasSize(receives.count());
            return receives.count();
        }
    }

    @Test
    void areThousandsUnlessTheDeviceHoldsFewer() {
        assertThat(count(1 << 20, 1 << 20)).isEqualTo(4096);
        assertThat(count(1000, 1 << 20)).isEqualTo(1000);
        assertThat(count(1 << 20, 1024)).as("half of the completion queue").isEqualTo(512);
    }

    @Test
    void holdTheLongestMessageEach() {
        for (int i = 0; i < 5; i++) {
            assertThat(rig.rdma.queues().deliver(pair, longestQuestion())).isTrue();
        }
        responder.serve();
        assertThat(rig.staging.oldest()).hasSize(StagingMessages.MAX_RANGES);
        assertThat(posted()).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES);
    }

    @Test
    void areFedToAFleetThatAsksAtOnce() {
        for (int i = 0; i < FakeRdma.MAX_SHARED_RECEIVES; i++) {
            assertThat(rig.rdma.queues().deliver(pair, query())).isTrue();
        }
        assertThat(posted()).isZero();
        responder.serve();
        assertThat(posted()).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES);
    }

    @Test
    void comeBackFromQueuePairsThatFail() {
        for (int i = 0; i < 10 * FakeRdma.MAX_SHARED_RECEIVES; i++) {
            rig.rdma.queues().failReceive(pair, VerbsConstants.IBV_WC_WR_FLUSH_ERR);
            if (i % 50 == 0) {
                responder.serve();
            }
        }
        responder.serve();
        assertThat(posted()).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES);
    }

    @ParameterizedTest
    @EnumSource(names = {"EINVAL", "ENOMEM"})
    void arePostedLaterIfTheDeviceRefusesThem(Errno refusal) {
        for (int i = 0; i < 5; i++) {
            rig.rdma.queues().deliver(pair, new byte[3]);
        }
        rig.rdma.queues().failPost(refusal.number(), 0);
        responder.serve();
        assertThat(posted()).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES - 5);
        rig.rdma.queues().failPost(0, 0);
        responder.serve();
        assertThat(posted()).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES);
    }

    @Test
    void surviveAMessageThatCannotBeHandled() {
        rig.staging.broken(true);
        for (int i = 0; i < 5; i++) {
            rig.rdma.queues().deliver(pair, longestQuestion());
        }
        rig.rdma.queues().deliver(pair, query());
        responder.serve();
        assertThat(posted()).isEqualTo(FakeRdma.MAX_SHARED_RECEIVES);
        assertThat(rig.rdma.queues().posted(pair)).as("the query is answered").hasSize(1);
    }
}
