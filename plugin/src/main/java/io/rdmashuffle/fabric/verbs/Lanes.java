// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.verbs.read.DataThread;
import org.jspecify.annotations.Nullable;

/**
 * The fabric's data threads by lane: those of the first rail, those of the second, and so on.
 *
 * <p><b>Threading:</b> for any thread.
 */
interface Lanes {
    /** Returns how many lanes there are, always the same number. */
    int count();

    /** Returns the data thread of a lane, null while its rail is lost. */
    @Nullable
    DataThread thread(int lane);

    /** Returns whether the fabric is closed, so that no data thread comes back. */
    boolean isClosed();
}
