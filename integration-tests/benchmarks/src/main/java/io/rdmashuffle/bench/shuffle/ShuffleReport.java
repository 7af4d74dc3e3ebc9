// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.Measurement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a run of the bench found out.
 *
 * @param bench its name
 * @param settings under which it did, by name
 */
record ShuffleReport(String bench, Map<String, Object> settings, List<CaseResult> cases) {
    ShuffleReport {
        cases = List.copyOf(cases);
    }

    boolean acceptable() {
        return cases.stream().allMatch(CaseResult::ok);
    }

    /**
     * Returns a line for each case that was slower than its floor allows.
     *
     * @param floors least ratio of the fastest sort shuffle's time to ours, by case
     */
    List<String> below(Map<String, Double> floors) {
        List<String> below = new ArrayList<>();
        for (CaseResult result : cases) {
            Double floor = floors.get(result.name());
            if (floor != null && !result.results().isEmpty()) {
                double ratio = result.totalRatio(result.fastestSort()).orElse(0);
                if (ratio < floor) {
                    below.add(String.format(
                            Locale.ROOT,
                            "%s: %.2f of the fastest sort shuffle, below %.2f",
                            result.name(),
                            ratio,
                            floor));
                }
            }
        }
        return below;
    }

    void writeJson(Path file) throws IOException {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json()) + "\n");
    }

    private Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("bench", bench);
        json.put("settings", settings);
        json.put("cases", cases.stream().map(ShuffleReport::json).toList());
        return json;
    }

    private static Map<String, @Nullable Object> json(CaseResult result) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("name", result.name());
        json.put("rows", result.rows());
        json.put("partitions", result.benchCase().partitions());
        json.put("ok", result.ok());
        json.put("error", result.error());
        json.put("disagreements", result.disagreements());
        if (result.results().isEmpty()) {
            return json;
        }
        json.put("fastestSort", result.fastestSort().label());
        Map<String, Object> ratios = new LinkedHashMap<>();
        Configuration.SORT.forEach(sort -> ratios.put(sort.label(), ratios(result, sort)));
        json.put("ratios", ratios);
        json.put("overheadWithinNoise", result.withinNoise());
        Map<String, Object> configurations = new LinkedHashMap<>();
        for (Configuration configuration : Configuration.values()) {
            configurations.put(configuration.label(), json(result.of(configuration), result.referenceBytes()));
        }
        json.put("configurations", configurations);
        return json;
    }

    private static Map<String, @Nullable Object> ratios(CaseResult result, Configuration sort) {
        Map<String, @Nullable Object> ratios = new LinkedHashMap<>();
        ratios.put("total", Ratio.orNull(result.totalRatio(sort)));
        ratios.put("rounds", result.totalRatioOfRounds(sort));
        ratios.put("overhead", Ratio.orNull(result.overheadRatio(sort)));
        ratios.put("cpu", Ratio.orNull(result.cpuRatio(sort)));
        return ratios;
    }

    private static Map<String, Object> json(ConfigurationResult result, double referenceBytes) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("totalSeconds", result.seconds(Form.FULL));
        OptionalDouble overhead = result.overheadSeconds();
        if (overhead.isPresent()) {
            json.put("unshuffledSeconds", result.seconds(Form.UNSHUFFLED));
            json.put("fewRowsSeconds", result.seconds(Form.FEW_ROWS));
            json.put("overheadSeconds", overhead.getAsDouble());
        }
        json.put("cpuSeconds", result.cpuSeconds());
        json.put("cpuSecondsPerGb", result.cpuSecondsPerGigabyte(referenceBytes));
        json.put("bytesWritten", (long) result.bytesWritten());
        json.put("poolPeakBytes", result.poolPeakBytes());
        json.put("poolPeakIsExact", result.poolPeakIsExact());
        Spread collected = result.figure(run -> run.tasks().gcMillis()).dividedBy(1_000);
        json.put("gcSeconds", collected);
        json.put("memoryBytes", (long) result.figure(Measurement::memoryBytes).median());
        json.put("garbageBytes", (long) result.figure(Measurement::garbageBytes).median());
        json.put("linkCpuSeconds", result.figure(Measurement::linkCpuMillis).dividedBy(1_000));
        json.put(
                "blockedSeconds",
                result.figure(run -> run.tasks().fetchWaitMillis()).dividedBy(1_000));
        Map<String, Object> runs = new LinkedHashMap<>();
        for (Form form : Form.values()) {
            runs.put(form.name(), result.runs(form));
        }
        json.put("runs", runs);
        return json;
    }
}
