// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;

/**
 * Identity of a device: make, firmware, and where in the machine it sits.
 *
 * <p><b>Source:</b> ibv_query_device(3), struct ibv_device, the kernel's {@code numa_node} in sysfs.
 *
 * @param name the kernel's name, for example {@code mlx5_0}
 * @param nodeType what the device is on its network
 * @param transport the protocol that it speaks
 * @param vendorId the vendor's number: 0x15b3 or 0x2c9 is Mellanox; software devices say 0 or 0xffffff
 * @param partId the vendor's number of the model
 * @param hardwareVersion the vendor's number of the revision
 * @param firmwareVersion as the vendor writes it; software devices say nothing, or 0.0.0
 * @param nodeGuid the globally unique id, in native order
 * @param numaNode node of the processors that are next to the device; empty if the kernel names none, as on machines
 *     with one node and for software devices
 * @param completionVectors interrupts that completion queues can be spread over
 */
public record DeviceInfo(
        String name,
        NodeType nodeType,
        Transport transport,
        int vendorId,
        int partId,
        int hardwareVersion,
        String firmwareVersion,
        long nodeGuid,
        OptionalInt numaNode,
        int completionVectors) {
    /** Reads the description of an open context; libibverbs keeps the {@code ibv_device} while one is open. */
    static DeviceInfo query(VerbsLibrary library, long context, String deviceName) {
        long device = RawMemory.getLong(context + ibv_context.device);
        try (NativeBuffer attributes = new NativeBuffer(ibv_device_attr.SIZEOF)) {
            NativeResult.checkReturned(
                    library.verbs().ibv_query_device(context, attributes.address()),
                    () -> "ibv_query_device(" + deviceName + ")");
            return new DeviceInfo(
                    deviceName,
                    NodeType.of(RawMemory.getInt(device + ibv_device.node_type)),
                    Transport.ofDevice(device),
                    attributes.getInt(ibv_device_attr.vendor_id),
                    attributes.getInt(ibv_device_attr.vendor_part_id),
                    attributes.getInt(ibv_device_attr.hw_ver),
                    text(
                            attributes.address() + ibv_device_attr.fw_ver,
                            ibv_device_attr.node_guid - ibv_device_attr.fw_ver),
                    Long.reverseBytes(attributes.getLong(ibv_device_attr.node_guid)),
                    numaNode(text(device + ibv_device.ibdev_path, ibv_device.SIZEOF - ibv_device.ibdev_path)),
                    RawMemory.getInt(context + ibv_context.num_comp_vectors));
        }
    }

    private static OptionalInt numaNode(String sysfs) {
        if (sysfs.isEmpty()) {
            return OptionalInt.empty();
        }
        try {
            int node = Integer.parseInt(
                    Files.readString(Path.of(sysfs, "device", "numa_node")).strip());
            return node < 0 ? OptionalInt.empty() : OptionalInt.of(node);
        } catch (IOException | NumberFormatException e) {
            return OptionalInt.empty();
        }
    }

    /** Reads characters up to a zero, or all of the array; {@code address} lies in a struct that is alive. */
    private static String text(long address, int arrayBytes) {
        byte[] bytes = new byte[arrayBytes];
        RawMemory.getBytes(address, bytes, 0, arrayBytes);
        int length = 0;
        while (length < arrayBytes && bytes[length] != 0) {
            length++;
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }
}
