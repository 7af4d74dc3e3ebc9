// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.contention;

/**
 * A structure that threads of an executor share.
 *
 * @param name for the table
 * @param user makes the operation of one thread
 */
record Structure(String name, User user) {
    /** Maker of threads' operations. */
    @FunctionalInterface
    interface User {
        /** Returns the operation of a thread, by its number. */
        Operation of(int thread);
    }

    /** One use of the structure, by the thread that it was made for. */
    @FunctionalInterface
    interface Operation {
        /** Uses the structure for the nth time. */
        void run(long turn) throws Exception;
    }
}
