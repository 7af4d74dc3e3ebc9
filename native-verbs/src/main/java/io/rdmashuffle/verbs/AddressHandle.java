// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

/**
 * The way to a port, which datagrams name; one for each peer's port, whatever queue pairs are there.
 *
 * <p><b>Threading:</b> immutable but for close.
 *
 * <p><b>Ownership:</b> child of its {@link ProtectionDomain}; must stay open until the datagrams that name it have
 * completed.
 *
 * <p><b>Source:</b> ibv_create_ah(3), ibv_create_ah_from_wc(3).
 */
public final class AddressHandle extends NativeResource {
    private final DeviceCalls calls;

    AddressHandle(NativeResource domain, DeviceCalls calls, long handle) {
        super("address handle on " + calls.deviceName(), handle, domain);
        this.calls = calls;
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(calls.verbs().ibv_destroy_ah(handle), () -> "ibv_destroy_ah() of " + name());
    }
}
