// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.DeviceLayout.ibv_port_attr;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Global identifiers where rdma-core is older than the call for all of them; with a device, see DeviceTest. */
@Tag("unit")
@Timeout(60)
class GidTableTest {
    private static final long CONTEXT = 77;
    private static final int ROWS = 4;

    @TempDir
    Path devices;

    /** Identifiers by port and row. */
    private final Map<String, String> gids = new HashMap<>();

    private int linkLayer = VerbsConstants.IBV_LINK_LAYER_ETHERNET;
    private int queryPort;

    /** Two ports of four rows; rows without an identifier are refused, as the kernel does. */
    private IbVerbs older() {
        return (IbVerbs) Proxy.newProxyInstance(
                IbVerbs.class.getClassLoader(), new Class<?>[] {IbVerbs.class}, (self, method, arguments) -> {
                    assertThat(arguments[0]).isEqualTo(CONTEXT);
                    return switch (method.getName()) {
                        case "ibv_query_device" -> {
                            RawMemory.putByte((long) arguments[1] + ibv_device_attr.phys_port_cnt, (byte) 2);
                            yield 0;
                        }
                        case "ibv_query_port" -> {
                            RawMemory.putInt((long) arguments[2] + ibv_port_attr.gid_tbl_len, ROWS);
                            RawMemory.putByte((long) arguments[2] + ibv_port_attr.link_layer, (byte) linkLayer);
                            yield queryPort;
                        }
                        case "ibv_query_gid" -> {
                            String address = gids.get(arguments[1] + "/" + arguments[2]);
                            if (address != null) {
                                RawMemory.putBytes((long) arguments[3], gid(address), 0, 16);
                            }
                            yield address == null ? -1 : 0;
                        }
                        default -> throw new UnsatisfiedLinkError(method.getName());
                    };
                });
    }

    /** Returns an IPv6 address as it is, and an IPv4 address mapped. */
    private static byte[] gid(String address) throws Exception {
        byte[] bytes = InetAddress.getByName(address).getAddress();
        byte[] gid = new byte[16];
        System.arraycopy(bytes, 0, gid, 16 - bytes.length, bytes.length);
        if (bytes.length == 4) {
            gid[10] = gid[11] = (byte) 0xff;
        }
        return gid;
    }

    private void type(int port, int row, String type) throws Exception {
        Path types = Files.createDirectories(devices.resolve("mlx5_9/ports/" + port + "/gid_attrs/types"));
        Files.writeString(types.resolve(Integer.toString(row)), type + "\n");
    }

    @Test
    void rowsInUseOfAllPortsAreReadOneByOne() throws Exception {
        gids.put("1/0", "fe80::1");
        gids.put("1/1", "192.0.2.7");
        gids.put("1/3", "::");
        gids.put("2/2", "2001:db8::2");
        type(1, 0, "IB/RoCE v1");
        type(1, 1, "RoCE v2");
        assertThat(GidTable.query(older(), CONTEXT, "mlx5_9", devices))
                .containsExactly(
                        GidEntry.of(1, 0, GidEntry.Type.ROCE_V1, gid("fe80::1")),
                        GidEntry.of(1, 1, GidEntry.Type.ROCE_V2, gid("192.0.2.7")),
                        GidEntry.of(2, 2, GidEntry.Type.UNKNOWN, gid("2001:db8::2")));
    }

    @Test
    void onInfiniBandTheTypeNeedsNoFile() throws Exception {
        linkLayer = VerbsConstants.IBV_LINK_LAYER_INFINIBAND;
        gids.put("1/0", "fe80::1");
        assertThat(GidTable.query(older(), CONTEXT, "mlx5_9", devices))
                .containsExactly(GidEntry.of(1, 0, GidEntry.Type.INFINIBAND, gid("fe80::1")));
    }

    @Test
    void onIwarpTheFileSaysRoce() throws Exception {
        gids.put("1/0", "2670:13e5:c26::");
        type(1, 0, "IB/RoCE v1");
        Path nodeType = devices.resolve("mlx5_9/node_type");
        Files.writeString(nodeType, "1: CA\n");
        assertThat(GidTable.query(older(), CONTEXT, "mlx5_9", devices))
                .containsExactly(GidEntry.of(1, 0, GidEntry.Type.ROCE_V1, gid("2670:13e5:c26::")));
        Files.writeString(nodeType, "4: RNIC\n");
        assertThat(GidTable.query(older(), CONTEXT, "mlx5_9", devices))
                .containsExactly(GidEntry.of(1, 0, GidEntry.Type.INFINIBAND, gid("2670:13e5:c26::")));
    }

    @Test
    void aPortThatCannotBeAskedIsAnError() {
        queryPort = Errno.ENODEV.number();
        assertThatThrownBy(() -> GidTable.query(older(), CONTEXT, "mlx5_9", devices))
                .isInstanceOf(NativeException.class)
                .hasMessageContaining("ibv_query_port(mlx5_9, port=1)");
    }
}
