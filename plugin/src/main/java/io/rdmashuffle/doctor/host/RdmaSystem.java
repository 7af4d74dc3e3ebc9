// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** RDMA of this machine; tests replace it. */
interface RdmaSystem {
    /** Returns libibverbs and librdmacm. */
    List<LibraryFacts> libraries();

    /** Returns names of the devices that the kernel has. */
    List<String> kernelDevices();

    /** Returns the devices that libibverbs sees; called only where both libraries are complete. */
    List<DeviceFacts> devices() throws RdmaUnavailableException;

    /** Returns the ports that an executor would use, by the code by which it chooses them. */
    List<LocalPort> choose(List<PortSelector> selectors) throws RdmaUnavailableException;

    /** Checks that a host answers over a port; throws with the reason if it does not. */
    void reach(LocalPort port, String peer) throws RdmaUnavailableException, IOException;

    /** Reads memory of this process over a port: 4 KiB at a time, and 256 KiB four at a time. */
    ReadTimes read(LocalPort port) throws RdmaUnavailableException, IOException;

    /** Returns the provider of libfabric for devices that only libfabric can use; empty if there are none. */
    Optional<String> ofiProvider();

    /** Reads memory of this process through libfabric, over devices; no names stand for all that it uses. */
    OfiLoopback.Result readByOfi(String provider, List<String> devices) throws RdmaUnavailableException, IOException;
}
