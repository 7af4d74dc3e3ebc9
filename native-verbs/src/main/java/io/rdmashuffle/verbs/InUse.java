// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call that several native objects are used in: none of them is freed before {@link #close}.
 *
 * <p><b>Threading:</b> one thread.
 */
final class InUse implements AutoCloseable {
    private final List<NativeResource> entered = new ArrayList<>();

    private InUse() {}

    /**
     * Acquires the resources.
     *
     * @param resources resources of the call; null elements are skipped
     * @throws IllegalStateException if one of them is closed
     */
    static InUse of(@Nullable NativeResource... resources) {
        InUse inUse = new InUse();
        boolean complete = false;
        try {
            for (NativeResource resource : resources) {
                if (resource != null) {
                    resource.enter();
                    inUse.entered.add(resource);
                }
            }
            complete = true;
            return inUse;
        } finally {
            if (!complete) {
                inUse.close();
            }
        }
    }

    /** Returns the address of an object in use; 0 for null. */
    long handle(@Nullable NativeResource resource) {
        if (resource == null) {
            return 0;
        }
        if (!entered.contains(resource)) {
            throw new IllegalArgumentException(resource.name() + " is not in use here");
        }
        return resource.handle();
    }

    @Override
    public void close() {
        entered.forEach(NativeResource::exit);
        entered.clear();
    }
}
