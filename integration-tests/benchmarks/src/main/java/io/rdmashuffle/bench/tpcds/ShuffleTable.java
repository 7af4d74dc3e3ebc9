// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What each query shuffles with sort shuffle, measured once and kept with the sources, so that every run at every scale
 * takes the same queries whatever they come to.
 *
 * @param rows one for each query
 */
record ShuffleTable(List<Row> rows) {
    private static final String RESOURCE = "shuffle-table.csv";
    private static final String HEADER = "query,shuffleBytesWritten,cpuSeconds";
    private static final int COLUMNS = 3;

    /**
     * One query.
     *
     * @param bytes written to shuffles, compressed, as sort shuffle reports them
     * @param cpuSeconds of the executors, which other work on the machine changes less than the time on the clock
     */
    record Row(String query, long bytes, double cpuSeconds) {
        double bytesPerSecond() {
            return cpuSeconds > 0 ? bytes / cpuSeconds : 0;
        }
    }

    ShuffleTable {
        rows = List.copyOf(rows);
    }

    /** Returns the table that is kept with the sources. */
    static ShuffleTable load() throws IOException {
        try (InputStream stream = ShuffleTable.class.getResourceAsStream(RESOURCE)) {
            if (stream == null) {
                throw new IOException("no resource " + RESOURCE);
            }
            return parse(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    /** Reads a table; lines that begin with {@code #} say how it was made. */
    static ShuffleTable parse(String text) {
        List<Row> rows = new ArrayList<>();
        for (String line : text.lines().toList()) {
            if (line.isBlank() || line.startsWith("#") || line.equals(HEADER)) {
                continue;
            }
            String[] cells = line.split(",", -1);
            if (cells.length != COLUMNS) {
                throw new IllegalArgumentException("expected " + HEADER + " but found " + line);
            }
            rows.add(new Row(cells[0], Long.parseLong(cells[1]), Double.parseDouble(cells[2])));
        }
        return new ShuffleTable(rows);
    }

    /**
     * Returns the queries that shuffle most per CPU time, in the order of all queries.
     *
     * @param count how many
     */
    List<String> heaviest(int count) {
        Set<String> heaviest = rows.stream()
                .sorted(Comparator.comparingDouble(Row::bytesPerSecond).reversed())
                .limit(count)
                .map(Row::query)
                .collect(Collectors.toSet());
        return rows.stream().map(Row::query).filter(heaviest::contains).toList();
    }

    /** Writes the table as {@link #parse} reads it, with the settings under which it was measured. */
    void write(Path file, Map<String, Object> settings) throws IOException {
        StringBuilder text = new StringBuilder("# Written by bin/bench tpcds --shuffle-table, with sort-disk: ");
        text.append(settings).append('\n').append(HEADER).append('\n');
        for (Row row : rows) {
            text.append(String.format(Locale.ROOT, "%s,%d,%.3f%n", row.query(), row.bytes(), row.cpuSeconds()));
        }
        Files.writeString(file, text.toString());
    }
}
