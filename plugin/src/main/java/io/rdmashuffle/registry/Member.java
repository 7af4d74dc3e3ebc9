// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One executor as its peers see it.
 *
 * <p><b>Threading:</b> immutable; address bytes are copied on the way in and out.
 *
 * @param executorId Spark's name of the executor
 * @param incarnation random per process, distinguishes two processes with the same id
 * @param addresses addresses by fabric name, opaque bytes; without fabrics that the executor does not offer
 */
public record Member(String executorId, UUID incarnation, Map<String, byte[]> addresses) {
    /** Name of an address that only a member has whose pool files outlive it: their directory, UTF-8. */
    public static final String OUTLIVES = "outlives";
    /** Name of an address that only an ended member has: the id of the executor that serves its pool, UTF-8. */
    public static final String HEIR = "heir";

    /** Most fabrics of one member. */
    public static final int MAX_FABRICS = 16;
    /** Longest address of one fabric, in bytes. */
    public static final int MAX_ADDRESS_BYTES = 4096;
    /** Longest executor id or fabric name, in bytes of UTF-8. */
    public static final int MAX_NAME_BYTES = 256;

    public Member {
        checkName("executor id", executorId);
        if (addresses.size() > MAX_FABRICS) {
            throw new IllegalArgumentException(
                    addresses.size() + " fabrics of executor " + executorId + ": at most " + MAX_FABRICS);
        }
        addresses.forEach((fabric, address) -> {
            checkName("fabric name", fabric);
            if (address.length > MAX_ADDRESS_BYTES) {
                throw new IllegalArgumentException("address of fabric " + fabric + " has " + address.length
                        + " bytes: at most " + MAX_ADDRESS_BYTES);
            }
        });
        addresses = copy(addresses);
    }

    /** Returns a copy of all addresses, ordered by fabric name. */
    @Override
    public Map<String, byte[]> addresses() {
        return copy(addresses);
    }

    /** Returns all addresses, ordered by fabric name, for writing them; they must not be changed. */
    Map<String, byte[]> addressesInPlace() {
        return addresses;
    }

    /** Returns a copy of the address for one fabric, null if the executor does not offer it. */
    public byte @Nullable [] address(String fabric) {
        byte[] address = addresses.get(fabric);
        return address == null ? null : address.clone();
    }

    /** Returns the executor that serves the pool of this one, which has ended; empty if there is none. */
    public Optional<String> heir() {
        byte[] heir = addresses.get(HEIR);
        return heir == null ? Optional.empty() : Optional.of(new String(heir, StandardCharsets.UTF_8));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Member that
                && executorId.equals(that.executorId)
                && incarnation.equals(that.incarnation)
                && sameAddresses(that);
    }

    @Override
    public int hashCode() {
        int hash = 31 * executorId.hashCode() + incarnation.hashCode();
        for (Map.Entry<String, byte[]> entry : addresses.entrySet()) {
            hash = 31 * hash + entry.getKey().hashCode() + Arrays.hashCode(entry.getValue());
        }
        return hash;
    }

    @Override
    public String toString() {
        return "executor " + executorId + " (" + incarnation + ", fabrics " + addresses.keySet() + ")";
    }

    private boolean sameAddresses(Member that) {
        return addresses.keySet().equals(that.addresses.keySet())
                && addresses.entrySet().stream()
                        .allMatch(entry -> Arrays.equals(entry.getValue(), that.addresses.get(entry.getKey())));
    }

    private static Map<String, byte[]> copy(Map<String, byte[]> addresses) {
        Map<String, byte[]> copy = new TreeMap<>();
        addresses.forEach((fabric, address) -> copy.put(fabric, address.clone()));
        return Collections.unmodifiableMap(copy);
    }

    static String checkName(String what, String name) {
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes == 0 || bytes > MAX_NAME_BYTES) {
            throw new IllegalArgumentException(
                    what + " of " + bytes + " bytes: must have between 1 and " + MAX_NAME_BYTES);
        }
        return name;
    }
}
