// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.LibFabric;
import io.rdmashuffle.ffi.LibFabricConstants;
import io.rdmashuffle.ffi.LibFabricLayout;
import io.rdmashuffle.ffi.RawMemory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A device, or an address of one, with a provider that can read remote memory through it.
 *
 * <p><b>Threading:</b> thread-safe but for close. <b>Ownership:</b> {@link OfiLibrary#devices}' caller closes it; not
 * before endpoints that are being opened.
 *
 * <p><b>Source:</b> fi_getinfo(3), fi_domain(3), fi_endpoint(3).
 */
public final class OfiDevice implements AutoCloseable {
    private static final int PORT_BYTES = 4;
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;
    private static final int IPV6_OFFSET = 8;

    private final LibFabric functions;
    private final String provider;
    private final String domain;
    private long info;

    OfiDevice(LibFabric functions, long info) {
        this.functions = functions;
        this.info = info;
        this.provider = LibFabric.text(RawMemory.getLong(
                attribute(LibFabricLayout.fi_info.fabric_attr) + LibFabricLayout.fi_fabric_attr.prov_name));
        this.domain = LibFabric.text(RawMemory.getLong(
                attribute(LibFabricLayout.fi_info.domain_attr) + LibFabricLayout.fi_domain_attr.name));
    }

    /**
     * Chooses devices of one network.
     *
     * @param devices of a provider; the first one's network counts
     * @param names of devices; if empty, the one with the host's address, or else all but loopback and link-local ones
     * @param host address of this host; null if it is not known
     * @return one entry for each device; where a device has several addresses, the host's, or else the first
     */
    public static List<OfiDevice> choose(List<OfiDevice> devices, List<String> names, @Nullable InetAddress host) {
        List<OfiDevice> connected = devices.stream()
                .filter(device -> device.network().equals(devices.get(0).network()))
                .toList();
        boolean hasHost = connected.stream().anyMatch(device -> device.isAt(host));
        Map<String, OfiDevice> byName = new LinkedHashMap<>();
        for (OfiDevice device : connected) {
            boolean isHost = device.isAt(host);
            boolean isWanted =
                    names.isEmpty() ? isHost || (!hasHost && device.leadsOut()) : names.contains(device.name());
            if (isWanted && (isHost || !byName.containsKey(device.name()))) {
                byName.put(device.name(), device);
            }
        }
        return List.copyOf(byName.values());
    }

    private boolean isAt(@Nullable InetAddress host) {
        return inetAddress().filter(address -> address.equals(host)).isPresent();
    }

    private boolean leadsOut() {
        return inetAddress()
                .map(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                .orElse(true);
    }

    private long attribute(int offset) {
        if (info == 0) {
            throw new IllegalStateException(this + " is closed");
        }
        return RawMemory.getLong(info + offset);
    }

    LibFabric functions() {
        return functions;
    }

    long info() {
        if (info == 0) {
            throw new IllegalStateException(this + " is closed");
        }
        return info;
    }

    /** {@return the provider, for example {@code efa} or {@code tcp;ofi_rxm}} */
    public String provider() {
        return provider;
    }

    /** {@return provider, and of EFA the fabric: {@code efa} and {@code efa-direct} do not understand each other} */
    public String network() {
        String fabric = fabric();
        return fabric.startsWith("efa") ? provider + "/" + fabric : provider;
    }

    private String fabric() {
        return LibFabric.text(RawMemory.getLong(
                attribute(LibFabricLayout.fi_info.fabric_attr) + LibFabricLayout.fi_fabric_attr.name));
    }

    /** {@return the device as the provider names it, for example {@code rdmap0s6-rdm}} */
    public String name() {
        return domain;
    }

    /** {@return the format of addresses: peers whose addresses have another cannot be reached} */
    public int addressFormat() {
        return RawMemory.getInt(info() + LibFabricLayout.fi_info.addr_format);
    }

    /** {@return the IP address of this device, if the provider has such addresses} */
    public Optional<InetAddress> inetAddress() {
        long address = RawMemory.getLong(info() + LibFabricLayout.fi_info.src_addr);
        if (address == 0) {
            return Optional.empty();
        }
        int family = RawMemory.getShort(address);
        boolean isSocket = addressFormat() >= 1 && addressFormat() <= 3;
        int length = family == LibC.AF_INET ? IPV4_BYTES : family == LibC.AF_INET6 ? IPV6_BYTES : 0;
        if (!isSocket || length == 0) {
            return Optional.empty();
        }
        byte[] bytes = new byte[length];
        RawMemory.getBytes(address + (length == IPV4_BYTES ? PORT_BYTES : IPV6_OFFSET), bytes, 0, length);
        try {
            return Optional.of(InetAddress.getByAddress(bytes));
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of " + length + " bytes", e);
        }
    }

    /** {@return the most bytes of one read} */
    public long maxReadBytes() {
        long bytes =
                RawMemory.getLong(attribute(LibFabricLayout.fi_info.ep_attr) + LibFabricLayout.fi_ep_attr.max_msg_size);
        return bytes < 0 ? Long.MAX_VALUE : bytes;
    }

    /** {@return how many reads and sends may be posted before one has completed} */
    public int queueDepth() {
        long depth = RawMemory.getLong(attribute(LibFabricLayout.fi_info.tx_attr) + LibFabricLayout.fi_tx_attr.size);
        return (int) Math.min(Integer.MAX_VALUE, depth);
    }

    /** Returns whether memory must be registered in a mode of {@link LibFabricConstants}. */
    boolean has(int memoryMode) {
        int modes = RawMemory.getInt(
                attribute(LibFabricLayout.fi_info.domain_attr) + LibFabricLayout.fi_domain_attr.mr_mode);
        return (modes & memoryMode) != 0;
    }

    /** Returns the length of the keys that the provider takes. */
    int keyBytes() {
        long bytes = RawMemory.getLong(
                attribute(LibFabricLayout.fi_info.domain_attr) + LibFabricLayout.fi_domain_attr.mr_key_size);
        return (int) Math.max(1, Math.min(Long.BYTES, bytes));
    }

    @Override
    public String toString() {
        return domain + " (" + provider + ")";
    }

    @Override
    public void close() {
        long freed = info;
        if (freed != 0) {
            info = 0;
            functions.fi_freeinfo(freed);
        }
    }
}
