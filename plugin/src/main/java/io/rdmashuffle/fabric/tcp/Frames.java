// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.ReadFailedException.Reason;

/**
 * Protocol of a connection after its {@link TcpHandshake}.
 *
 * <pre>
 *  request, little-endian                       response
 *    0   4  id, counted from 0                    0   4  id of the request
 *    4   4  number of slices n, 1 to 1,024        4   4  {@link Status}
 *    8      n times:                              8   8  bytes that follow; 0 after an error
 *        4  region                               16      the slices' bytes, one after another
 *        8  offset
 *        8  length, at least 1
 * </pre>
 *
 * <p>Requests are answered in order. After a status other than {@link Status#OK} the owner sends nothing more and
 * closes, so that a reader may receive a response's bytes before it has looked at its header.
 */
final class Frames {
    static final int REQUEST_HEADER_BYTES = 8;
    static final int SLICE_BYTES = 20;
    static final int MAX_SLICES = 1024;
    static final int MAX_REQUEST_BYTES = REQUEST_HEADER_BYTES + MAX_SLICES * SLICE_BYTES;
    static final int RESPONSE_HEADER_BYTES = 16;

    /** Offsets within a slice of a request. */
    static final int OFFSET = 4;

    static final int LENGTH = 12;

    /** Outcome of a request; the number travels. */
    enum Status {
        OK(0, Reason.TRANSPORT_ERROR),
        REGION_ABSENT(1, Reason.REGION_ABSENT),
        OUT_OF_BOUNDS(2, Reason.OUT_OF_BOUNDS),
        UNREADABLE(3, Reason.UNREADABLE),
        MALFORMED(4, Reason.TRANSPORT_ERROR);

        private static final Status[] BY_NUMBER = values();

        private final int number;
        private final Reason reason;

        Status(int number, Reason reason) {
            this.number = number;
            this.reason = reason;
        }

        int number() {
            return number;
        }

        /** Returns the reason with which the reader fails the read. */
        Reason reason() {
            return reason;
        }

        /** Returns a status by its number; one that this version does not know is {@link #MALFORMED}. */
        static Status of(int number) {
            for (Status status : BY_NUMBER) {
                if (status.number == number) {
                    return status;
                }
            }
            return MALFORMED;
        }
    }

    private Frames() {}
}
