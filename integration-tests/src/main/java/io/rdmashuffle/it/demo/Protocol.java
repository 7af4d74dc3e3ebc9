package io.rdmashuffle.it.demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Optional;

/**
 * The lines between demo and query server; replies carry a prefix, because libraries print to standard output too.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
final class Protocol {
    private static final String PREFIX = "@@reply ";
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

    /** Returns the reply in a line, or nothing if the line is somebody else's. */
    static Optional<QueryReply> reply(String line) throws JsonProcessingException {
        return line.startsWith(PREFIX)
                ? Optional.of(JSON.readValue(line.substring(PREFIX.length()), QueryReply.class))
                : Optional.empty();
    }
}
