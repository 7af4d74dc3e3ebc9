// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.LibFabric;
import io.rdmashuffle.ffi.LibFabricConstants;
import io.rdmashuffle.ffi.LibFabricLayout;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Libfabric, loaded so that it leaves the JVM alone.
 *
 * <p>Before it is loaded, the environment of the process gets variables that are not set yet: {@code FI_PROVIDER}, so
 * that only the providers asked for are initialized, {@code IPATH_NO_BACKTRACE}, without which the PSM library takes
 * SIGSEGV, {@code FI_MR_CACHE_MONITOR}, without which functions of the C library may be patched, {@code
 * FI_CXI_PROV_KEY_CACHE}, without which a key may be valid after its registration has ended, and {@code
 * FI_OFI_RXM_USE_SRX}, without which ofi_rxm 1.17 over verbs may use a closed connection and end the process. If a
 * handler of a signal that the JVM uses has changed nevertheless, it is restored, and the library is not used.
 *
 * <p><b>Threading:</b> thread-safe. {@link #load} must come before threads that read the environment natively.
 *
 * <p><b>Ownership:</b> stays loaded until the process ends.
 *
 * <p><b>Source:</b> fi_getinfo(3), fabric(7), fi_mr(3).
 */
public final class OfiLibrary {
    /** Lowest version: older ones lack providers, and fields of structs. */
    static final int API_VERSION = 1 << 16 | 17;

    private static final int MAX_DEVICES = 256;

    /** Reason for which this process does not use the library any more. */
    private static volatile @Nullable String refusal;

    private final LibFabric functions;
    private final String provider;

    private OfiLibrary(LibFabric functions, String provider) {
        this.functions = functions;
        this.provider = provider;
    }

    /**
     * Loads the library for one provider.
     *
     * @param provider name such as {@code efa}, or {@code verbs;ofi_rxm} for a provider with a utility in front of it
     * @throws RdmaUnavailableException if it is not installed, too old, or takes a signal from the JVM
     */
    public static OfiLibrary load(String provider) throws RdmaUnavailableException {
        if (provider.startsWith("opx")) {
            throw new RdmaUnavailableException(
                    "provider opx ends the process of which a peer reads with a key that has been taken back; use"
                            + " another provider");
        }
        Map<String, String> environment = Map.of(
                "FI_PROVIDER", provider.replace(';', ','),
                "FI_MR_CACHE_MONITOR", "disabled",
                "FI_CXI_PROV_KEY_CACHE", "0",
                "FI_OFI_RXM_USE_SRX", "1",
                "IPATH_NO_BACKTRACE", "1");
        // ProcessBuilder.environment is copied once: processes that use it, as Python workers, get the one before.
        int unused = System.getenv().size();
        environment.forEach((name, value) -> LibC.load().setenv(name, value, false));
        try {
            LibFabric functions = guarded(LibFabric::load);
            int version = functions.fi_version();
            if (version < API_VERSION) {
                throw new RdmaUnavailableException(
                        "libfabric.so.1 has version " + text(version) + "; install 1.17 or newer");
            }
            return new OfiLibrary(functions, provider);
        } catch (LinkageError e) {
            throw new RdmaUnavailableException(
                    e.getMessage() + "; install libfabric 1.17 or newer (Debian: libfabric1)", e);
        }
    }

    /**
     * Runs what may replace handlers of signals; restores them then, and refuses the library.
     *
     * @throws RdmaUnavailableException if it has replaced one; its objects stay open
     */
    static <T> T guarded(Supplier<T> action) throws RdmaUnavailableException {
        refuseAgain();
        SignalHandlers before = SignalHandlers.now();
        T result;
        try {
            result = action.get();
        } catch (Throwable failure) {
            takeBack(before);
            throw failure;
        }
        takeBack(before);
        refuseAgain();
        return result;
    }

    private static void takeBack(SignalHandlers before) {
        List<String> taken = before.changed();
        if (!taken.isEmpty()) {
            before.restore();
            refusal = "libfabric.so.1 took " + String.join(", ", taken) + " from the JVM, which has it again;"
                    + " provider shm does so, and libraries of PSM do: use another provider, or a build without them";
        }
    }

    /** A library takes a signal once, and might do anything with it. */
    private static void refuseAgain() throws RdmaUnavailableException {
        String known = refusal;
        if (known != null) {
            throw new RdmaUnavailableException(known);
        }
    }

    private static String text(int version) {
        return (version >>> 16) + "." + (version & 0xffff);
    }

    /** Returns the version of the library. */
    public String version() {
        return text(functions.fi_version());
    }

    /**
     * Lists the devices of the provider that can read remote memory, in its order.
     *
     * @return empty if there are none; the caller closes each
     * @throws RdmaUnavailableException if the provider takes a signal from the JVM, or the query fails
     */
    public List<OfiDevice> devices() throws RdmaUnavailableException {
        return guarded(this::query).devicesOrThrow(functions, provider);
    }

    /** Result of a query. */
    private record Query(List<OfiDevice> devices, int error) {
        List<OfiDevice> devicesOrThrow(LibFabric functions, String provider) throws RdmaUnavailableException {
            if (error != 0 && !Errno.ENODATA.is(error)) {
                throw new RdmaUnavailableException("fi_getinfo(" + provider + "): " + functions.fi_strerror(error));
            }
            return devices;
        }
    }

    private Query query() {
        long hints = functions.fi_dupinfo(0);
        byte[] name = provider.getBytes(StandardCharsets.UTF_8);
        try (NativeBuffer pointers = new NativeBuffer(Long.BYTES);
                NativeBuffer providerName = new NativeBuffer(name.length + 1L)) {
            providerName.putBytes(0, name, 0, name.length);
            describe(hints, providerName.address());
            int result = functions.fi_getinfo(API_VERSION, 0, 0, 0, hints, pointers.address());
            // The library would free memory of another owner.
            RawMemory.putLong(fabricAttr(hints) + LibFabricLayout.fi_fabric_attr.prov_name, 0);
            List<OfiDevice> devices = new ArrayList<>();
            if (result == 0) {
                long first = pointers.getLong(0);
                for (long each = first; each != 0 && devices.size() < MAX_DEVICES; each = next(each)) {
                    devices.add(new OfiDevice(functions, functions.fi_dupinfo(each)));
                }
                functions.fi_freeinfo(first);
            }
            return new Query(devices, -result);
        } finally {
            functions.fi_freeinfo(hints);
        }
    }

    private static void describe(long hints, long providerName) {
        RawMemory.putLong(
                hints + LibFabricLayout.fi_info.caps,
                LibFabricConstants.FI_MSG
                        | LibFabricConstants.FI_RMA
                        | LibFabricConstants.FI_READ
                        | LibFabricConstants.FI_REMOTE_READ
                        | LibFabricConstants.FI_SEND
                        | LibFabricConstants.FI_RECV);
        RawMemory.putLong(
                hints + LibFabricLayout.fi_info.mode, LibFabricConstants.FI_CONTEXT | LibFabricConstants.FI_CONTEXT2);
        RawMemory.putInt(
                RawMemory.getLong(hints + LibFabricLayout.fi_info.ep_attr) + LibFabricLayout.fi_ep_attr.type,
                LibFabricConstants.FI_EP_RDM);
        long domain = RawMemory.getLong(hints + LibFabricLayout.fi_info.domain_attr);
        RawMemory.putInt(domain + LibFabricLayout.fi_domain_attr.threading, LibFabricConstants.FI_THREAD_SAFE);
        RawMemory.putInt(domain + LibFabricLayout.fi_domain_attr.resource_mgmt, LibFabricConstants.FI_RM_ENABLED);
        RawMemory.putInt(
                domain + LibFabricLayout.fi_domain_attr.mr_mode,
                LibFabricConstants.FI_MR_LOCAL
                        | LibFabricConstants.FI_MR_VIRT_ADDR
                        | LibFabricConstants.FI_MR_ALLOCATED
                        | LibFabricConstants.FI_MR_PROV_KEY
                        | LibFabricConstants.FI_MR_ENDPOINT);
        RawMemory.putLong(fabricAttr(hints) + LibFabricLayout.fi_fabric_attr.prov_name, providerName);
    }

    private static long fabricAttr(long info) {
        return RawMemory.getLong(info + LibFabricLayout.fi_info.fabric_attr);
    }

    private static long next(long info) {
        return RawMemory.getLong(info + LibFabricLayout.fi_info.next);
    }
}
