// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

/**
 * Registry messages: how many, and their encoded bytes without Spark's envelope.
 *
 * @param requests from executors to the driver
 * @param replies the answers
 * @param pushes from the driver to executors, unasked
 * @param passedOn from executor to executor
 */
record Traffic(Flow requests, Flow replies, Flow pushes, Flow passedOn) {
    /** Messages in one direction. */
    record Flow(long messages, long bytes) {
        static final Flow NONE = new Flow(0, 0);

        Flow plus(byte[] message) {
            return new Flow(messages + 1, bytes + message.length);
        }

        private Flow minus(Flow before) {
            return new Flow(messages - before.messages, bytes - before.bytes);
        }
    }

    /** Returns the difference to an earlier reading. */
    Traffic since(Traffic before) {
        return new Traffic(
                requests.minus(before.requests),
                replies.minus(before.replies),
                pushes.minus(before.pushes),
                passedOn.minus(before.passedOn));
    }

    /** Returns all messages, whatever their direction. */
    long messages() {
        return requests.messages() + replies.messages() + pushes.messages() + passedOn.messages();
    }
}
