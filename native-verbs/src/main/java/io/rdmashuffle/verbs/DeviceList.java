// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The RDMA devices of this machine at one moment.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the creator closes it; contexts that were opened live on.
 *
 * <p><b>Source:</b> ibv_get_device_list(3), ibv_open_device(3), rdma_get_devices(3).
 */
public final class DeviceList extends NativeResource {
    private final VerbsLibrary library;
    private final List<Device> devices = new ArrayList<>();

    private DeviceList(VerbsLibrary library, long list, int count) {
        super("device list", list);
        this.library = library;
        for (int i = 0; i < count; i++) {
            devices.add(new Device(RawMemory.getLong(list + (long) i * Long.BYTES)));
        }
    }

    /**
     * Reads the list.
     *
     * @param library the native functions
     * @return the devices at this moment, perhaps none; the caller closes it
     * @throws NativeException ENOSYS and others: the kernel has no RDMA
     */
    public static DeviceList read(VerbsLibrary library) {
        try (NativeBuffer count = new NativeBuffer(Integer.BYTES)) {
            long list = DeviceSearch.call(() -> NativeResult.checkPointer(
                    library.verbs().ibv_get_device_list(count.address()), () -> "ibv_get_device_list()"));
            return new DeviceList(library, list, count.getInt(0));
        }
    }

    /**
     * {@return names of the RDMA devices that the kernel has, in order; libibverbs lists only those of them whose
     * provider is installed and whose node below /dev/infiniband this process can see}
     */
    public static List<String> ofKernel() {
        String[] names = new File("/sys/class/infiniband").list();
        return names == null ? List.of() : Stream.of(names).sorted().toList();
    }

    /**
     * Makes librdmacm close removed devices without open resources. It keeps a device open as long as it considers it
     * present, and a driver that cannot revoke a device, such as soft-RoCE's, waits for that, as does
     * {@code rdma link delete}. Has no effect for the last device, and in rdma-core before 30.
     *
     * @param library the native functions
     */
    public static void releaseRemoved(VerbsLibrary library) {
        DeviceSearch.run(() -> {
            long list = library.cm().rdma_get_devices(0);
            if (list != 0) {
                library.cm().rdma_free_devices(list);
            }
        });
    }

    /** {@return the devices in the kernel's order} */
    public List<Device> devices() {
        return List.copyOf(devices);
    }

    @Override
    void destroy(long handle) {
        library.verbs().ibv_free_device_list(handle);
    }

    /** One device of the list, valid until the list is closed. */
    public final class Device {
        private final long pointer;
        private final String name;

        Device(long pointer) {
            this.pointer = pointer;
            this.name = library.verbs().ibv_get_device_name(pointer);
        }

        /** {@return the kernel's name, for example {@code mlx5_0}} */
        public String name() {
            return name;
        }

        /** {@return the globally unique id of the device, in native order} */
        public long guid() {
            enter();
            try {
                return Long.reverseBytes(library.verbs().ibv_get_device_guid(pointer));
            } finally {
                exit();
            }
        }

        /**
         * Opens the device.
         *
         * @return the context, which the caller closes; it outlives the list
         * @throws NativeException with the remedy where one is known
         */
        public Context open() {
            enter();
            try {
                long context = NativeResult.checkPointer(
                        library.verbs().ibv_open_device(pointer), () -> "ibv_open_device(" + name + ")");
                return Context.opened(library, context, name);
            } finally {
                exit();
            }
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
