// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.CmLayout.rdma_cm_id;
import io.rdmashuffle.ffi.DeviceLayout.ibv_gid_entry;
import io.rdmashuffle.ffi.DeviceLayout.ibv_port_attr;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.VerbsLayout.sockaddr_in;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import jnr.ffi.LastError;
import jnr.ffi.Runtime;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Addresses of RDMA ports: 10.0.0.N is of port N of the fake device, 192.168.0.1 of none. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class LocalAddressTest {
    private final FakeDevice device = new FakeDevice();
    private final EventChannel channel = EventChannel.open(device.library);
    private final NativeBuffer list = new NativeBuffer(2L * Long.BYTES);
    private volatile Set<Integer> active = Set.of(2, 3);

    @BeforeEach
    void script() {
        long context = device.createContext();
        device.answer("rdma_bind_addr", arguments -> {
            byte[] bytes = new byte[4];
            RawMemory.getBytes((Long) arguments[1] + sockaddr_in.sin_addr, bytes, 0, bytes.length);
            if (bytes[0] != 10) {
                LastError.setLastError(Runtime.getSystemRuntime(), Errno.ENODEV.number());
                return -1;
            }
            RawMemory.putLong((Long) arguments[0] + rdma_cm_id.verbs, context);
            RawMemory.putByte((Long) arguments[0] + rdma_cm_id.port_num, bytes[3]);
            return 0;
        });
        device.answer("ibv_query_port", arguments -> {
            boolean up = active.contains((Integer) arguments[1]);
            RawMemory.putInt(
                    (Long) arguments[2] + ibv_port_attr.state,
                    up ? VerbsConstants.IBV_PORT_ACTIVE : VerbsConstants.IBV_PORT_DOWN);
            return 0;
        });
        device.answer("ibv_get_device_list", arguments -> {
            list.putLong(0, device.create());
            RawMemory.putInt((Long) arguments[0], 1);
            return list.address();
        });
    }

    @AfterEach
    void close() {
        channel.close();
        list.close();
        device.close();
    }

    private static InetAddress address(String text) throws UnknownHostException {
        return InetAddress.getByName(text);
    }

    private List<LocalAddress> find(String... addresses) throws UnknownHostException {
        List<InetAddress> all = new ArrayList<>();
        for (String each : addresses) {
            all.add(address(each));
        }
        return LocalAddress.find(channel, all);
    }

    /** On InfiniBand the table of global identifiers has no IP address. */
    @Test
    void foundWhereNoGlobalIdentifierIsAnAddress() throws Exception {
        List<LocalAddress> found = find("192.168.0.1", "10.0.0.3", "10.0.0.2", "10.0.0.1");
        assertThat(found)
                .extracting(LocalAddress::toString)
                .containsExactly("fake0:3 10.0.0.3", "fake0:2 10.0.0.2", "fake0:1 10.0.0.1");
        assertThat(found).allSatisfy(each -> assertThat(each.gidIndexes()).isEmpty());
        assertThat(LocalAddress.choose(device.library, "fake0", found).address())
                .as("first active port")
                .isEqualTo(address("10.0.0.2"));
    }

    @Test
    void indexesOfItsGlobalIdentifiersAreThoseOfItsPort() throws Exception {
        byte[] mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 0, 0, 2};
        device.answer("_ibv_query_gid_table", arguments -> {
            for (int row = 0; row < 3; row++) {
                long entry = (Long) arguments[1] + (long) row * ibv_gid_entry.SIZEOF;
                RawMemory.putBytes(entry + ibv_gid_entry.gid, mapped, 0, mapped.length);
                RawMemory.putInt(entry + ibv_gid_entry.gid_index, row);
                RawMemory.putInt(entry + ibv_gid_entry.port_num, row == 0 ? 1 : 2);
            }
            return 3;
        });
        assertThat(find("10.0.0.2"))
                .singleElement()
                .satisfies(each -> assertThat(each.gidIndexes()).containsExactly(1, 2));
    }

    @Test
    void reasonsDiffer() throws Exception {
        List<LocalAddress> found = find("10.0.0.2");
        assertThatThrownBy(() -> LocalAddress.choose(device.library, "mlx5_0", found))
                .isInstanceOf(IOException.class)
                .hasMessage("no RDMA device mlx5_0; devices of this machine: [fake0]");
        assertThatThrownBy(() -> LocalAddress.choose(device.library, "fake0", List.of()))
                .hasMessageContaining("none of this machine's IP addresses belongs to RDMA device fake0");
        active = Set.of();
        List<LocalAddress> inactive = find("10.0.0.2");
        assertThatThrownBy(() -> LocalAddress.choose(device.library, "fake0", inactive))
                .hasMessage("no port of RDMA device fake0 is active (rdma link): [fake0:2 10.0.0.2]");
    }
}
