// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of device queries, with explicit offsets of verbs.h. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class DeviceQueriesTest {
    private static final int NODE_TYPE = 16;
    private static final int TRANSPORT_TYPE = 20;
    private static final int IBDEV_PATH = 408;
    private static final int COMP_VECTORS = 272;

    private final FakeDevice device = new FakeDevice();
    private final Context context = device.open();

    @TempDir
    Path sysfs;

    @AfterEach
    void close() {
        context.close();
        assertThat(device.violations()).isEmpty();
        device.close();
    }

    private Transport transport(int transportType, int nodeType) {
        RawMemory.putInt(device.device() + TRANSPORT_TYPE, transportType);
        RawMemory.putInt(device.device() + NODE_TYPE, nodeType);
        return context.transport();
    }

    private static void putText(long address, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        RawMemory.putBytes(address, bytes, 0, bytes.length);
    }

    private OptionalInt numaNode(String content) throws IOException {
        Files.createDirectories(sysfs.resolve("device"));
        Files.writeString(sysfs.resolve("device/numa_node"), content);
        return context.info().numaNode();
    }

    @Test
    void transportIsTheDevicesOrThatOfItsNodeType() {
        assertThat(transport(VerbsConstants.IBV_TRANSPORT_IB, VerbsConstants.IBV_NODE_CA))
                .isEqualTo(Transport.INFINIBAND);
        assertThat(transport(VerbsConstants.IBV_TRANSPORT_IWARP, VerbsConstants.IBV_NODE_RNIC))
                .isEqualTo(Transport.IWARP);
        assertThat(transport(VerbsConstants.IBV_TRANSPORT_USNIC, 0)).isEqualTo(Transport.USNIC);
        assertThat(transport(VerbsConstants.IBV_TRANSPORT_USNIC_UDP, 0)).isEqualTo(Transport.USNIC_UDP);
        assertThat(transport(VerbsConstants.IBV_TRANSPORT_UNSPECIFIED, 0)).isEqualTo(Transport.UNSPECIFIED);
        int unknown = VerbsConstants.IBV_TRANSPORT_UNKNOWN;
        assertThat(transport(unknown, VerbsConstants.IBV_NODE_RNIC)).isEqualTo(Transport.IWARP);
        assertThat(transport(unknown, VerbsConstants.IBV_NODE_ROUTER)).isEqualTo(Transport.INFINIBAND);
        assertThat(transport(unknown, VerbsConstants.IBV_NODE_USNIC)).isEqualTo(Transport.USNIC);
        assertThat(transport(unknown, VerbsConstants.IBV_NODE_USNIC_UDP)).isEqualTo(Transport.USNIC_UDP);
        assertThat(transport(unknown, VerbsConstants.IBV_NODE_UNSPECIFIED)).isEqualTo(Transport.UNSPECIFIED);
        assertThat(transport(unknown, VerbsConstants.IBV_NODE_UNKNOWN)).isEqualTo(Transport.UNKNOWN);
        assertThat(transport(99, 99)).isEqualTo(Transport.UNKNOWN);
    }

    @Test
    void infoIsReadFromDeviceContextAndAttributes() throws Exception {
        device.fill("ibv_query_device", arguments -> {
            putText(arguments[1], "16.35.2000");
            RawMemory.putLong(arguments[1] + 64, 0x0807060504030201L);
            RawMemory.putInt(arguments[1] + 96, 0x15b3);
            RawMemory.putInt(arguments[1] + 100, 4119);
            RawMemory.putInt(arguments[1] + 104, 7);
        });
        RawMemory.putInt(device.device() + NODE_TYPE, VerbsConstants.IBV_NODE_CA);
        RawMemory.putInt(context.handle() + COMP_VECTORS, 63);
        putText(device.device() + IBDEV_PATH, sysfs.toString());
        numaNode("1\n");
        assertThat(context.info())
                .isEqualTo(new DeviceInfo(
                        "fake0",
                        NodeType.CHANNEL_ADAPTER,
                        Transport.INFINIBAND,
                        0x15b3,
                        4119,
                        7,
                        "16.35.2000",
                        0x0102030405060708L,
                        OptionalInt.of(1),
                        63));
        assertThat(context.completionVectors()).isEqualTo(63);
    }

    @Test
    void numaNodeIsEmptyWhereTheKernelNamesNone() throws Exception {
        assertThat(context.info().numaNode()).as("no path").isEmpty();
        putText(device.device() + IBDEV_PATH, sysfs.toString());
        assertThat(context.info().numaNode()).as("no file").isEmpty();
        assertThat(numaNode("-1\n")).isEmpty();
        assertThat(numaNode("")).isEmpty();
        assertThat(numaNode("0\n")).hasValue(0);
    }

    @Test
    void textEndsWithItsArray() {
        device.fill("ibv_query_device", arguments -> putText(arguments[1], "x".repeat(70)));
        assertThat(context.info().firmwareVersion()).isEqualTo("x".repeat(64));
    }

    @Test
    void limitsAreThoseOfTheAttributes() {
        device.fill("ibv_query_device", arguments -> {
            for (int offset = 108; offset < 224; offset += Integer.BYTES) {
                RawMemory.putInt(arguments[1] + offset, offset);
            }
            RawMemory.putLong(arguments[1] + 80, 1L << 40);
            RawMemory.putShort(arguments[1] + 224, (short) 0x8001);
            RawMemory.putByte(arguments[1] + 226, (byte) 15);
            RawMemory.putByte(arguments[1] + 227, (byte) 200);
        });
        assertThat(context.limits())
                .isEqualTo(new DeviceLimits(
                        1L << 40, 108, 112, 120, 132, 216, 156, 144, true, true, false, 200, 124, 140, 136, 176, 128,
                        212, 220, 152, 200, 0x8001, 15));
    }

    @Test
    void partitionKeysAreThoseThatAreSet() {
        int[] table = {0xffff, 0, 0x7001};
        device.fill("ibv_query_port", arguments -> RawMemory.putShort(arguments[2] + 32, (short) table.length));
        device.fill("ibv_query_pkey", arguments -> {
            assertThat(arguments[1]).isEqualTo(2);
            RawMemory.putShort(arguments[3], Short.reverseBytes((short) table[(int) arguments[2]]));
        });
        assertThat(context.partitionKeys(2))
                .containsExactly(new PartitionKey(2, 0, 0xffff), new PartitionKey(2, 2, 0x7001));
        assertThat(context.partitionKeys(2))
                .extracting(PartitionKey::isFullMember)
                .containsExactly(true, false);
        assertThat(context.partitionKeys(2)).last().hasToString("partition key 0x7001 (port 2, index 2)");
        device.fail("ibv_query_pkey", Errno.EIO);
        assertThatThrownBy(() -> context.partitionKeys(2))
                .hasMessageContaining("ibv_query_pkey(fake0, port=2, index=0): EIO (5)");
    }

    @Test
    void completionQueuesAreOnTheVectorAskedFor() {
        List<Long> vectors = new ArrayList<>();
        device.fill("ibv_create_cq", arguments -> vectors.add(arguments[4]));
        context.createCompletionQueue(8, context.createCompletionChannel(), 3);
        context.createCompletionQueue(8, null);
        assertThat(vectors).containsExactly(3L, 0L);
        device.fail("ibv_create_cq", Errno.EINVAL);
        assertThatThrownBy(() -> context.createCompletionQueue(8, null, 64))
                .hasMessageContaining("ibv_create_cq(fake0, entries=8, vector=64): EINVAL (22)");
    }
}
