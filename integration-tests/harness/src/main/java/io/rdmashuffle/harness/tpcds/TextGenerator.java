// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import io.trino.tpcds.Results;
import io.trino.tpcds.Session;
import io.trino.tpcds.Table;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Writes all 24 tables as text: {@code <folder>/<table>/part-<chunk>.txt}, one row a line, {@code |} between fields,
 * {@code \N} for null.
 *
 * <p>Runs in a separate JVM, with {@code tpcds-lib/*} on the class path: the generator needs an old Guava.
 *
 * <p><b>Threading:</b> chunks are independent of each other; each is written by one thread.
 */
public final class TextGenerator {
    /** Stands for null; an empty field is an empty string. */
    static final String NULL = "\\N";

    static final char SEPARATOR = '|';

    private static final long DEADLINE_HOURS = 12;

    private final Path folder;
    private final Session session;

    private TextGenerator(Path folder, double scale, int chunks) {
        this.folder = folder;
        this.session = Session.getDefaultSession().withScale(scale).withParallelism(chunks);
    }

    /** Called with folder, scale, number of chunks and number of threads. */
    public static void main(String[] args)
            throws IOException, InterruptedException, ExecutionException, TimeoutException {
        int chunks = Integer.parseInt(args[2]);
        new TextGenerator(Path.of(args[0]), Double.parseDouble(args[1]), chunks)
                .generate(chunks, Integer.parseInt(args[3]));
    }

    private void generate(int chunks, int threads)
            throws IOException, InterruptedException, ExecutionException, TimeoutException {
        List<Table> tables = Table.getBaseTables().stream()
                .filter(table -> table != Table.DBGEN_VERSION)
                .toList();
        for (Table table : tables) {
            Files.createDirectories(folder.resolve(table.getName()));
        }
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Void>> tasks = new ArrayList<>();
            for (Table table : tables) {
                // A child's rows come with its parent's: sales bring their returns.
                for (int chunk = 1; chunk <= chunks && !table.isChild(); chunk++) {
                    int number = chunk;
                    tasks.add(pool.submit(() -> writeChunk(table, number)));
                }
            }
            for (Future<Void> task : tasks) {
                task.get(DEADLINE_HOURS, TimeUnit.HOURS);
            }
        } finally {
            pool.shutdownNow();
        }
    }

    @SuppressWarnings("NullAway") // A Callable<Void> has nothing else to return.
    private Void writeChunk(Table table, int chunk) throws IOException {
        if (!table.hasChild()) {
            try (BufferedWriter rows = part(table, chunk)) {
                write(table, chunk, List.of(rows));
            }
        } else {
            try (BufferedWriter rows = part(table, chunk);
                    BufferedWriter childRows = part(table.getChild(), chunk)) {
                write(table, chunk, List.of(rows, childRows));
            }
        }
        return null;
    }

    private BufferedWriter part(Table table, int chunk) throws IOException {
        Path file = folder.resolve(table.getName()).resolve("part-" + chunk + ".txt");
        return Files.newBufferedWriter(file, StandardCharsets.UTF_8);
    }

    private void write(Table table, int chunk, List<BufferedWriter> parentThenChild) throws IOException {
        StringBuilder line = new StringBuilder();
        for (List<List<String>> rows : Results.constructResults(table, session.withChunkNumber(chunk))) {
            for (int i = 0; i < rows.size(); i++) {
                line.setLength(0);
                format(rows.get(i), line);
                parentThenChild.get(i).append(line);
            }
        }
    }

    private static void format(List<String> fields, StringBuilder line) {
        for (int i = 0; i < fields.size(); i++) {
            String field = fields.get(i);
            if (i > 0) {
                line.append(SEPARATOR);
            }
            if (field == null) {
                line.append(NULL);
            } else if (field.indexOf(SEPARATOR) >= 0 || field.indexOf('\n') >= 0 || field.indexOf('\\') >= 0) {
                throw new IllegalStateException("a generated field needs quoting, which this format lacks: " + field);
            } else {
                line.append(field);
            }
        }
        line.append('\n');
    }
}
