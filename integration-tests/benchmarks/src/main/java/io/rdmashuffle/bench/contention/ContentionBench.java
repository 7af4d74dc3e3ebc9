// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.contention;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bin/bench contention}: operations per second of shared structures, and the time for which threads block. */
@Command(
        name = "bench contention",
        description = {
            "Has many threads use each structure of an executor that a block or a lease passes. Shows operations per"
                    + " second of all threads together, and the share of the threads' time for which they were"
                    + " blocked: on a monitor or parked for more than 20 us, by the JVM's flight recorder. Threads"
                    + " beyond the number of processors also wait for one of these, which is not counted.",
            ""
        },
        exitCodeList = {"0:all was measured", "1:something failed", "2:an option was wrong"})
public final class ContentionBench extends Tool {
    private static final int MAX_THREADS = 1_000;
    private static final int MAX_SECONDS = 600;

    @Option(
            names = "--threads",
            split = ",",
            paramLabel = "N",
            defaultValue = "2,8,32",
            description = "Numbers of threads. Default: ${DEFAULT-VALUE}")
    private List<Integer> threads = List.of();

    @Option(
            names = "--seconds",
            paramLabel = "N",
            defaultValue = "3",
            description = "Time of each measurement, after a warm-up of one second. Default: ${DEFAULT-VALUE}")
    private int seconds;

    @Option(names = "--json", paramLabel = "FILE", description = "Write all figures to a JSON file")
    private @Nullable Path json;

    ContentionBench() {}

    /** Called by {@code bin/bench contention}. */
    public static void main(String[] args) {
        run(new ContentionBench(), args);
    }

    @Override
    public Integer call() throws Exception {
        check(this::checkOptions);
        List<Contention> results = new ArrayList<>();
        try (Structures structures = new Structures();
                StepProgress progress =
                        new StepProgress(out, "measurements", structures.all().size() * threads.size())) {
            for (Structure each : structures.all()) {
                for (int count : threads) {
                    progress.starting(each.name() + ", " + count + " threads");
                    Contention measured = Contention.measure(each, count, seconds);
                    progress.finished(measured.toString());
                    results.add(measured);
                }
            }
        }
        out.println(new TextTable<Contention>()
                .text("structure", Contention::name)
                .number("threads", result -> Integer.toString(result.threads()))
                .number("operations/s", result -> String.format(Locale.ROOT, "%,.0f", result.operationsPerSecond()))
                .number("blocked", result -> String.format(Locale.ROOT, "%.1f %%", 100 * result.blockedShare()))
                .render(results));
        writeJson(results);
        return CommandLine.ExitCode.OK;
    }

    private void checkOptions() {
        if (threads.isEmpty() || threads.stream().anyMatch(count -> count < 1 || count > MAX_THREADS)) {
            throw new IllegalArgumentException("--threads: allowed is 1 to " + MAX_THREADS);
        }
        if (seconds < 1 || seconds > MAX_SECONDS) {
            throw new IllegalArgumentException("--seconds " + seconds + ": allowed is 1 to " + MAX_SECONDS);
        }
    }

    private void writeJson(List<Contention> results) throws IOException {
        Path file = json;
        if (file != null) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            Files.writeString(file, mapper.writeValueAsString(Map.of("structures", results)) + "\n");
            out.println("written: " + file);
        }
    }
}
