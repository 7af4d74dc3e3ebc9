// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ofi.OfiDevice;
import io.rdmashuffle.ofi.OfiEndpoint;
import io.rdmashuffle.ofi.OfiLibrary;
import io.rdmashuffle.ofi.OfiRegion;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A read of this process's own memory through libfabric, from one endpoint of a device to another.
 *
 * <p><b>Threading:</b> of one thread, which polls both endpoints.
 */
final class OfiLoopback implements OfiEndpoint.Listener {
    private static final int BYTES = 64 << 10;
    private static final int SLOTS = 8;
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(10);

    private boolean ended;
    private @Nullable String failure;

    private OfiLoopback() {}

    /**
     * Reads over each device of a provider that an executor would use.
     *
     * @param wanted names of devices; empty for the usual ones
     * @return the devices, each once, and how many times together they pin memory
     * @throws RdmaUnavailableException without the library or a device
     * @throws NativeException if the provider refuses a call
     * @throws IOException if a read fails, or brings other bytes
     */
    static Result over(String provider, List<String> wanted) throws RdmaUnavailableException, IOException {
        OfiLibrary library = OfiLibrary.load(provider);
        List<OfiDevice> devices = library.devices();
        List<String> names = new ArrayList<>();
        int pinnings = 0;
        try {
            for (OfiDevice device : OfiDevice.choose(devices, wanted, thisHost())) {
                names.add(device.name());
                pinnings += new OfiLoopback().read(device);
            }
        } finally {
            devices.forEach(OfiDevice::close);
        }
        if (names.isEmpty()) {
            throw new RdmaUnavailableException("libfabric " + library.version() + " has no device of the provider "
                    + provider + (devices.isEmpty() ? "" : " that is chosen among " + devices));
        }
        return new Result(library.version(), names, pinnings);
    }

    /**
     * Devices that a read has succeeded over.
     *
     * @param version of the library
     * @param devices by name
     * @param pinnings how many times they pin memory
     */
    record Result(String version, List<String> devices, int pinnings) {}

    /** Returns the address of this host; null if its name leads to none. */
    private static @Nullable InetAddress thisHost() {
        try {
            return InetAddress.getLocalHost();
        } catch (UnknownHostException e) {
            return null;
        }
    }

    /** Returns how many times this device pins memory. */
    private int read(OfiDevice device) throws RdmaUnavailableException, IOException {
        byte[] pattern = new byte[BYTES];
        new Random(BYTES).nextBytes(pattern);
        // Without an end of the read the provider may still use them; they are kept then.
        NativeBuffer source = NativeBuffer.ofPages(BYTES);
        NativeBuffer target = NativeBuffer.ofPages(BYTES);
        int pinnings;
        try (OfiEndpoint owner = OfiEndpoint.open(device, SLOTS);
                OfiEndpoint reader = OfiEndpoint.open(device, SLOTS);
                OfiRegion remote = owner.registerRemote(source.address(), BYTES);
                OfiRegion local = reader.registerLocal(target.address(), BYTES)) {
            source.putBytes(0, pattern, 0, BYTES);
            long peer = reader.insert(owner.name());
            long deadline = System.nanoTime() + TIMEOUT_NANOS;
            boolean begun = false;
            while (!ended) {
                if (System.nanoTime() - deadline >= 0) {
                    throw new IOException("a read over " + device + " took longer than "
                            + TimeUnit.NANOSECONDS.toSeconds(TIMEOUT_NANOS) + " s");
                }
                begun = begun
                        || reader.read(0, local, target.address(), BYTES, peer, remote.remoteBase(), remote.key());
                reader.poll(this);
                owner.poll(this);
            }
            byte[] read = new byte[BYTES];
            target.getBytes(0, read, 0, BYTES);
            if (failure != null || !Arrays.equals(pattern, read)) {
                throw new IOException("a read over " + device + " "
                        + (failure == null ? "brought other bytes than there are" : "failed: " + failure));
            }
            pinnings = reader.pinnings();
        }
        source.close();
        target.close();
        return pinnings;
    }

    @Override
    public void completed(int slot, int length) {
        ended = true;
    }

    @Override
    public void failed(int slot, int error, String reason) {
        ended = true;
        failure = reason;
    }
}
