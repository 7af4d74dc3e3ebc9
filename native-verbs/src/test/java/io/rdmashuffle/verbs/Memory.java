// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import java.util.EnumSet;
import java.util.Set;

/** A registered block of memory with every right that the device grants, for tests. */
record Memory(NativeBuffer buffer, MemoryRegion region) implements AutoCloseable {
    static final Set<Access> ALL = EnumSet.of(
            Access.LOCAL_WRITE, Access.REMOTE_READ, Access.REMOTE_WRITE, Access.REMOTE_ATOMIC, Access.BIND_WINDOW);

    static Memory of(ProtectionDomain domain, long lengthBytes) {
        return of(domain, lengthBytes, ALL);
    }

    static Memory of(ProtectionDomain domain, long lengthBytes, Set<Access> rights) {
        NativeBuffer buffer = NativeBuffer.ofPages(lengthBytes);
        return new Memory(buffer, domain.registerMemory(buffer.address(), lengthBytes, rights));
    }

    Memory with(byte[] bytes) {
        buffer.putBytes(0, bytes, 0, bytes.length);
        return this;
    }

    byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        buffer.getBytes(0, bytes, 0, length);
        return bytes;
    }

    long at(long offset) {
        return buffer.address() + offset;
    }

    int localKey() {
        return region.localKey();
    }

    int remoteKey() {
        return region.remoteKey();
    }

    @Override
    public void close() {
        region.close();
        buffer.close();
    }
}
