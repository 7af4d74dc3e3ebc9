// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.fabric.verbs.device.PortFinder;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RdmaCm;
import io.rdmashuffle.ofi.KernelDevices;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import io.rdmashuffle.verbs.async.EndpointOptions;
import io.rdmashuffle.verbs.async.RdmaEndpoint;
import io.rdmashuffle.verbs.async.RdmaRefusedException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * This machine's RDMA by libibverbs and librdmacm, or by libfabric.
 *
 * <p><b>Threading:</b> of one thread.
 *
 * <p><b>Ownership:</b> whatever is opened to look at it is closed again.
 */
final class NativeRdma implements RdmaSystem {
    /** Linux sends a lost request again after 4.6 to 6.1 s; this outlasts one. */
    private static final Duration REACH_TIMEOUT = Duration.ofSeconds(10);
    /** Of no service of RDMA. */
    private static final int UNUSED_PORT = 1;

    private final HostFiles files;

    NativeRdma(HostFiles files) {
        this.files = files;
    }

    @Override
    public List<LibraryFacts> libraries() {
        return List.of(library("libibverbs.so.1", IbVerbs::missing), library("librdmacm.so.1", RdmaCm::missing));
    }

    private LibraryFacts library(String soname, Supplier<List<String>> missing) {
        try {
            List<String> lacking = missing.get();
            return new LibraryFacts(soname, fileOf(soname), lacking, "");
        } catch (LinkageError e) {
            return new LibraryFacts(soname, "", List.of(), String.valueOf(e.getMessage()));
        }
    }

    /** Finds the library's file among the mappings of this process: its name ends with the version. */
    private String fileOf(String soname) {
        return files.read("proc/self/maps")
                .lines()
                .filter(line -> line.contains("/" + soname))
                .map(line -> line.substring(line.indexOf('/')))
                .findFirst()
                .map(file -> resolved(Path.of(file)))
                .orElse("");
    }

    private static String resolved(Path file) {
        try {
            return file.toRealPath().toString();
        } catch (IOException e) {
            return file.toString();
        }
    }

    @Override
    public List<String> kernelDevices() {
        return DeviceList.ofKernel();
    }

    @Override
    public List<DeviceFacts> devices() throws RdmaUnavailableException {
        VerbsLibrary library = VerbsLibrary.load();
        try (DeviceList list = DeviceList.read(library)) {
            List<LocalAddress> addresses = addresses(library);
            List<DeviceFacts> devices = new ArrayList<>();
            list.devices().forEach(device -> devices.add(look(device, addresses)));
            return devices;
        } catch (NativeException e) {
            throw new RdmaUnavailableException(String.valueOf(e.getMessage()), e);
        }
    }

    private static List<LocalAddress> addresses(VerbsLibrary library) {
        try (EventChannel events = EventChannel.open(library)) {
            return LocalAddress.find(events);
        } catch (NativeException e) {
            // Said by the choice of ports, which needs such a channel too.
            return List.of();
        }
    }

    private DeviceFacts look(DeviceList.Device device, List<LocalAddress> addresses) {
        try (Context context = device.open()) {
            Transport transport = context.transport();
            List<GidEntry> gids = gids(context);
            List<DeviceFacts.Port> ports = new ArrayList<>();
            for (int number = 1; number <= context.limits().ports(); number++) {
                ports.add(port(device.name(), context.port(number), addresses, gids));
            }
            return new DeviceFacts(
                    device.name(),
                    "",
                    transport == Transport.INFINIBAND || transport == Transport.IWARP,
                    transport.name(),
                    context.info().firmwareVersion(),
                    context.limits().onDemandPaging(),
                    ports);
        } catch (NativeException e) {
            return DeviceFacts.closed(device.name(), String.valueOf(e.getMessage()));
        }
    }

    private static List<GidEntry> gids(Context context) {
        try {
            return context.gids();
        } catch (NativeException e) {
            return List.of();
        }
    }

    private DeviceFacts.Port port(
            String device, PortAttributes attributes, List<LocalAddress> addresses, List<GidEntry> gids) {
        int number = attributes.number();
        return new DeviceFacts.Port(
                attributes,
                PortNetwork.of(files, device, number),
                addresses.stream()
                        .filter(address -> address.deviceName().equals(device)
                                && address.port().number() == number)
                        .map(LocalAddress::address)
                        .map(InetAddress::getHostAddress)
                        .toList(),
                gids.stream().filter(gid -> gid.port() == number).toList());
    }

    @Override
    public List<LocalPort> choose(List<PortSelector> selectors) throws RdmaUnavailableException {
        VerbsLibrary library = VerbsLibrary.load();
        try (EventChannel events = EventChannel.open(library)) {
            return new PortFinder(library, events).choose(selectors);
        } catch (NativeException e) {
            throw new RdmaUnavailableException(String.valueOf(e.getMessage()), e);
        }
    }

    /**
     * {@inheritDoc} Connects to a port where nothing listens: the refusal of the peer's connection manager shows that
     * requests get there and answers back.
     */
    @Override
    public void reach(LocalPort port, String peer) throws RdmaUnavailableException, IOException {
        InetSocketAddress nobody = new InetSocketAddress(InetAddress.getByName(peer), UNUSED_PORT);
        try (RdmaEndpoint endpoint = RdmaEndpoint.open(VerbsLibrary.load(), port.address(), EndpointOptions.DEFAULT)) {
            endpoint.connect(nobody, REACH_TIMEOUT)
                    .get(REACH_TIMEOUT.toSeconds() + 1, TimeUnit.SECONDS)
                    .close();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof RdmaRefusedException)) {
                Throwable cause = e.getCause();
                throw new IOException(String.valueOf((cause == null ? e : cause).getMessage()), e);
            }
        } catch (TimeoutException e) {
            throw new IOException("no answer within " + REACH_TIMEOUT.toSeconds() + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    @Override
    public ReadTimes read(LocalPort port) throws RdmaUnavailableException, IOException {
        return LoopbackRead.over(VerbsLibrary.load(), port.address());
    }

    @Override
    public Optional<String> ofiProvider() {
        return KernelDevices.provider();
    }

    @Override
    public OfiLoopback.Result readByOfi(String provider, List<String> devices)
            throws RdmaUnavailableException, IOException {
        return OfiLoopback.over(provider, devices);
    }
}
