// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.DeviceLayout.ibv_gid;
import io.rdmashuffle.ffi.DeviceLayout.ibv_gid_entry;
import io.rdmashuffle.ffi.DeviceLayout.ibv_port_attr;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.VerbsConstants;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Global identifiers of a device: with one call, or one after another where rdma-core is older than 32 and has no
 * {@code _ibv_query_gid_table}.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Ownership:</b> the caller keeps the context open.
 *
 * <p><b>Source:</b> ibv_query_gid_table(3), ibv_query_gid(3); {@code node_type} and
 * {@code ports/N/gid_attrs/types} of Documentation/ABI/stable/sysfs-class-infiniband.
 */
final class GidTable {
    private static final int MAX_GIDS = 1024;
    private static final Path DEVICES = Path.of("/sys/class/infiniband");

    private final IbVerbs verbs;
    private final long context;
    private final String deviceName;
    private final Path device;

    private GidTable(IbVerbs verbs, long context, String deviceName, Path device) {
        this.verbs = verbs;
        this.context = context;
        this.deviceName = deviceName;
        this.device = device;
    }

    /** Returns the entries in use, in the order of the device's table. */
    static List<GidEntry> query(IbVerbs verbs, long context, String deviceName) {
        return query(verbs, context, deviceName, DEVICES);
    }

    /** As above, with the kernel's description of devices elsewhere. */
    static List<GidEntry> query(IbVerbs verbs, long context, String deviceName, Path devices) {
        GidTable table = new GidTable(verbs, context, deviceName, devices.resolve(deviceName));
        try {
            return table.atOnce();
        } catch (UnsatisfiedLinkError olderLibrary) {
            return table.oneByOne();
        }
    }

    private List<GidEntry> atOnce() {
        try (NativeBuffer table = new NativeBuffer((long) MAX_GIDS * ibv_gid_entry.SIZEOF)) {
            long count = verbs._ibv_query_gid_table(context, table.address(), MAX_GIDS, 0, ibv_gid_entry.SIZEOF);
            if (count < 0) {
                NativeResult.checkReturned((int) -count, () -> "ibv_query_gid_table(" + deviceName + ")");
            }
            List<GidEntry> gids = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                gids.add(GidEntry.read(table.address() + (long) i * ibv_gid_entry.SIZEOF));
            }
            return gids;
        }
    }

    private List<GidEntry> oneByOne() {
        List<GidEntry> gids = new ArrayList<>();
        for (int port = 1; port <= ports(); port++) {
            addAll(port, gids);
        }
        return gids;
    }

    private boolean isIwarp() {
        try {
            return Files.readString(device.resolve("node_type")).startsWith(VerbsConstants.IBV_NODE_RNIC + ":");
        } catch (IOException e) {
            return false;
        }
    }

    private int ports() {
        try (NativeBuffer attributes = new NativeBuffer(ibv_device_attr.SIZEOF)) {
            NativeResult.checkReturned(
                    verbs.ibv_query_device(context, attributes.address()),
                    () -> "ibv_query_device(" + deviceName + ")");
            return Byte.toUnsignedInt(attributes.getByte(ibv_device_attr.phys_port_cnt));
        }
    }

    private void addAll(int port, List<GidEntry> gids) {
        int rows;
        boolean ethernet;
        try (NativeBuffer attributes = new NativeBuffer(ibv_port_attr.SIZEOF)) {
            NativeResult.checkReturned(
                    verbs.ibv_query_port(context, port, attributes.address()),
                    () -> "ibv_query_port(" + deviceName + ", port=" + port + ")");
            rows = attributes.getInt(ibv_port_attr.gid_tbl_len);
            ethernet = attributes.getByte(ibv_port_attr.link_layer) == VerbsConstants.IBV_LINK_LAYER_ETHERNET;
        }
        byte[] none = new byte[ibv_gid.SIZEOF];
        try (NativeBuffer gid = new NativeBuffer(ibv_gid.SIZEOF)) {
            for (int index = 0; index < rows; index++) {
                byte[] bytes = new byte[ibv_gid.SIZEOF];
                // A row that is not in use is refused, or zero.
                if (verbs.ibv_query_gid(context, port, index, gid.address()) == 0) {
                    gid.getBytes(0, bytes, 0, bytes.length);
                }
                if (!Arrays.equals(bytes, none)) {
                    gids.add(GidEntry.of(port, index, type(port, index, ethernet), bytes));
                }
            }
        }
    }

    /** The kernel has one name for InfiniBand, iWARP and RoCE v1; the call for all of them, for the first two. */
    private GidEntry.Type type(int port, int index, boolean ethernet) {
        if (!ethernet || isIwarp()) {
            return GidEntry.Type.INFINIBAND;
        }
        Path file = device.resolve("ports/" + port + "/gid_attrs/types/" + index);
        try {
            return switch (Files.readString(file).strip()) {
                case "RoCE v2" -> GidEntry.Type.ROCE_V2;
                case "IB/RoCE v1" -> GidEntry.Type.ROCE_V1;
                default -> GidEntry.Type.UNKNOWN;
            };
        } catch (IOException e) {
            return GidEntry.Type.UNKNOWN;
        }
    }
}
