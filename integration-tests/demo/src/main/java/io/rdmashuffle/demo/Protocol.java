// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * The lines between demo and query server; replies carry a prefix, because libraries print to standard output too.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
final class Protocol {
    /** Prefix of lines that are replies. */
    static final String PREFIX = "@@reply ";

    private static final ObjectMapper JSON = new ObjectMapper();

    private Protocol() {}

    static String request(QueryRequest request) throws JsonProcessingException {
        return JSON.writeValueAsString(request);
    }

    static QueryRequest request(String line) throws JsonProcessingException {
        return JSON.readValue(line, QueryRequest.class);
    }

    static String reply(QueryReply reply) throws JsonProcessingException {
        return PREFIX + JSON.writeValueAsString(reply);
    }

    /** Reads a reply, without its prefix. */
    static QueryReply reply(String line) throws JsonProcessingException {
        return JSON.readValue(line, QueryReply.class);
    }
}
