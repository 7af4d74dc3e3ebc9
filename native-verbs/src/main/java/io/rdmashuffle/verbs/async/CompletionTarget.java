// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.WorkCompletions;

/**
 * One end of a connection as the progress thread sees it: something timed that completions are dispatched to, by the
 * number in the upper half of their work request id.
 *
 * <pre>
 *  63                            32 31 30                             0
 *  +-------------------------------+--+-------------------------------+
 *  | number of the connection      |R | slot in its operation table   |   R = 1: receives
 *  +-------------------------------+--+-------------------------------+
 * </pre>
 */
interface CompletionTarget extends Timed {
    /** Returns the number in the work request ids of this end, unique within the endpoint. */
    int number();

    /** Ends the operation that a completion is about; on the progress thread. */
    void complete(WorkCompletions completions, int index);

    /** Returns whether a device event is about this end's queue. */
    boolean isSubjectOf(AsyncEvent event);

    /** Notifies that its queue pair, in error, consumes no further shared receives; on the progress thread. */
    default void lastReceiveReached() {}

    /** Returns the work request id of an operation; {@code slot} is the lower half of the diagram. */
    static long workRequestId(int number, int slot) {
        return ((long) number << Integer.SIZE) | Integer.toUnsignedLong(slot);
    }

    /** Returns the number of the target that a work request id belongs to. */
    static int numberOf(long workRequestId) {
        return (int) (workRequestId >>> Integer.SIZE);
    }
}
