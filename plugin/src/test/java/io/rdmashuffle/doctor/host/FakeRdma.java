// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A machine with one device, mlx5_0, with which nothing is wrong until a test changes a field. */
final class FakeRdma implements RdmaSystem {
    static final PortAttributes ACTIVE = new PortAttributes(1, true, 4096, 1L << 30, 100, 0, true);
    static final PortAttributes DOWN = new PortAttributes(1, false, 4096, 1L << 30, 100, 0, true);

    List<LibraryFacts> libraries = List.of(
            new LibraryFacts("libibverbs.so.1", "/usr/lib/libibverbs.so.1.14.44.0", List.of(), ""),
            new LibraryFacts("librdmacm.so.1", "/usr/lib/librdmacm.so.1.3.44.0", List.of(), ""));
    List<String> kernelDevices = List.of("mlx5_0");
    List<DeviceFacts> devices = List.of(device(port(ACTIVE, "10.0.0.7", GidEntry.Type.ROCE_V2)));
    /** Why there is no port; null if there is one. */
    @Nullable
    String refusal;

    /** Whether there is another port, which cannot connect to itself. */
    boolean deaf;

    /** Why a READ fails; null if it does not. */
    @Nullable
    RuntimeException readFailure;

    /** The provider of libfabric for its devices; empty without such devices. */
    Optional<String> ofiProvider = Optional.empty();

    /** Why a read through libfabric fails; null if it does not. */
    @Nullable
    RdmaUnavailableException ofiFailure;

    private static final String DEAF = "mlx5_1";

    static InetAddress address(String text) {
        try {
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }

    static DeviceFacts.Port port(PortAttributes attributes, String address, GidEntry.Type type) {
        return new DeviceFacts.Port(
                attributes, "eth2", List.of(address), List.of(new GidEntry(1, 3, type, address(address))));
    }

    static DeviceFacts.Port portWithoutAddress() {
        return new DeviceFacts.Port(ACTIVE, "eth2", List.of(), List.of());
    }

    static DeviceFacts device(DeviceFacts.Port port) {
        return new DeviceFacts("mlx5_0", "", true, "INFINIBAND", "22.31", false, List.of(port));
    }

    @Override
    public List<LibraryFacts> libraries() {
        return libraries;
    }

    @Override
    public List<String> kernelDevices() {
        return kernelDevices;
    }

    @Override
    public List<DeviceFacts> devices() {
        return devices;
    }

    @Override
    public List<LocalPort> choose(List<PortSelector> selectors) throws RdmaUnavailableException {
        if (refusal != null) {
            throw new RdmaUnavailableException(refusal);
        }
        LocalPort first = new LocalPort("mlx5_0", 1, address("10.0.0.7"), List.of(3), PortSelector.ANY, ACTIVE);
        LocalPort second = new LocalPort(DEAF, 1, address("10.0.1.7"), List.of(3), PortSelector.ANY, ACTIVE);
        return deaf ? List.of(first, second) : List.of(first);
    }

    @Override
    public void reach(LocalPort port, String peer) throws IOException {
        if (!peer.equals("10.0.0.8")) {
            throw new IOException("RDMA_CM_EVENT_UNREACHABLE");
        }
    }

    @Override
    public ReadTimes read(LocalPort port) throws IOException {
        if (readFailure != null) {
            throw readFailure;
        }
        if (port.device().equals(DEAF)) {
            throw new IOException("connecting to itself failed");
        }
        return new ReadTimes(2500, 11.5e9);
    }

    @Override
    public Optional<String> ofiProvider() {
        return ofiProvider;
    }

    @Override
    public OfiLoopback.Result readByOfi(String provider, List<String> devices) throws RdmaUnavailableException {
        if (ofiFailure != null) {
            throw ofiFailure;
        }
        return new OfiLoopback.Result("2.1", List.of("rdmap0s6-rdm"), 2);
    }
}
