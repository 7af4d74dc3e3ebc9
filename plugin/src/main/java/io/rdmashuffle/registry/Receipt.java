// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

/** Driver's answer to an executor's report. */
public enum Receipt {
    /** None in time. */
    NONE,
    /** The report was taken. */
    TAKEN,
    /** A last report was taken, and the application goes on: the executor leaves the files of its pool. */
    LEAVE_FILES
}
