// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Everything that the demo found out.
 *
 * @param held what our manager held after the last query, by counter label
 */
record DemoReport(String fabric, List<QueryComparison> queries, Map<String, Long> held) {
    /** The paths by which shuffle bytes travel, in the order in which they are shown. */
    static final List<ShuffleCounter> PATHS = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.TCP_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES);

    DemoReport {
        queries = List.copyOf(queries);
        held = Map.copyOf(held);
    }

    List<String> names(QueryVerdict verdict) {
        return queries.stream()
                .filter(query -> query.verdict() == verdict)
                .map(QueryComparison::name)
                .toList();
    }

    boolean acceptable() {
        return queries.stream().allMatch(query -> query.verdict().acceptable());
    }

    Map<String, Long> bytes() {
        Map<String, Long> bytes = new LinkedHashMap<>();
        for (ShuffleCounter path : PATHS) {
            bytes.put(
                    path.label(),
                    queries.stream()
                            .mapToLong(query -> query.counters().getOrDefault(path.label(), 0L))
                            .sum());
        }
        return bytes;
    }

    void writeJson(Path file) throws IOException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("fabric", fabric);
        json.put("queries", queries.stream().map(DemoReport::json).toList());
        json.put("bytes", bytes());
        json.put("held", held);
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private static Map<String, Object> json(QueryComparison query) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", query.name());
        json.put("rows", query.sort().rows());
        json.put("equal", query.verdict().equal());
        json.put("sortMs", query.sort().millis());
        json.put("rdmaMs", query.ours().millis());
        json.put("verdict", query.verdict().name());
        json.put("shuffleReadBytes", query.sort().shuffleReadBytes());
        json.put("counters", query.counters());
        json.put("sortError", query.sort().error());
        json.put("rdmaError", query.ours().error());
        return json;
    }
}
