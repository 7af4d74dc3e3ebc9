// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.RunFolders;
import io.rdmashuffle.bench.jobs.BenchApplication;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Runs cases with one way of transfer and pools of all sizes. Sort shuffle's two applications live as long as this;
 * ours is a new one for each size. Only one of the three works at a time.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns the applications; close ends them.
 */
final class PressureRun implements AutoCloseable {
    /** In the order in which they run. */
    static final List<Configuration> CONFIGURATIONS =
            List.of(Configuration.SORT_DISK, Configuration.SORT_TMPFS, Configuration.OURS);

    private final Workspace workspace;
    private final PressureOptions options;
    private final RunFolders folders;
    private final Transfer transfer;
    private final StepProgress progress;
    private final Map<Configuration, BenchApplication> sort = new EnumMap<>(Configuration.class);

    PressureRun(
            Workspace workspace,
            PressureOptions options,
            RunFolders folders,
            Transfer transfer,
            StepProgress progress) {
        this.workspace = workspace;
        this.options = options;
        this.folders = folders;
        this.transfer = transfer;
        this.progress = progress;
    }

    /** Returns the number of steps of a run. */
    static int steps(PressureOptions options) {
        int runs = options.warmups() + options.rounds();
        return options.transfers().size()
                * options.cases().size()
                * (options.warmups() + 1 + options.sizes().size() * runs);
    }

    /** Told each point when it is measured. */
    @FunctionalInterface
    interface Points {
        void add(PressurePoint point) throws IOException;
    }

    /** Runs all cases with all sizes. */
    void run(Points points) throws IOException, InterruptedException {
        for (Configuration configuration : CONFIGURATIONS) {
            if (configuration != Configuration.OURS) {
                sort.put(configuration, startSort(configuration));
            }
        }
        for (BenchCase benchCase : options.cases()) {
            long dataBytes = probe(benchCase);
            for (PoolShare size : options.sizes()) {
                points.add(measure(benchCase, size, size.bytes(dataBytes)));
            }
        }
    }

    /** Warms sort shuffle up, and returns the bytes that each of our executors writes. */
    private long probe(BenchCase benchCase) throws IOException, InterruptedException {
        for (int i = 1; i <= options.warmups(); i++) {
            for (Map.Entry<Configuration, BenchApplication> each : sort.entrySet()) {
                progress.starting(
                        name(benchCase) + ", warm-up, " + each.getKey().label());
                each.getValue().run(benchCase.job(Form.FULL, options.rows()));
            }
            progress.finished(name(benchCase) + ", warm-up " + i + " of sort shuffle");
        }
        progress.starting(name(benchCase) + ", how much is written");
        try (BenchApplication ours = startOurs(null, "probe")) {
            Measurement probed = ours.run(benchCase.job(Form.FULL, options.rows()));
            long dataBytes = probed.tasks().bytesWritten() / PressureOptions.EXECUTORS;
            progress.finished(String.format(Locale.ROOT, "%s: %.1f MB an executor", name(benchCase), dataBytes / 1e6));
            return dataBytes;
        }
    }

    private PressurePoint measure(BenchCase benchCase, PoolShare size, long poolBytes)
            throws IOException, InterruptedException {
        String name = name(benchCase) + ", pool " + size.label() + " of the data";
        Map<Configuration, List<Measurement>> runs = new EnumMap<>(Configuration.class);
        progress.starting("starting ours, " + name);
        try (BenchApplication ours = startOurs(poolBytes, size.label().replace('/', '-'))) {
            for (int i = 1; i <= options.warmups(); i++) {
                progress.starting(name + ", warm-up, ours");
                ours.run(benchCase.job(Form.FULL, options.rows()));
                progress.finished(name + ", warm-up " + i);
            }
            for (int i = 1; i <= options.rounds(); i++) {
                round(benchCase, ours, name, runs);
                progress.finished(name + ", round " + i + ": " + times(runs));
            }
            return new PressurePoint(transfer, benchCase, size, poolBytes, runs, "");
        } catch (IOException e) {
            progress.noted(name + " failed: " + e.getMessage());
            if (sort.values().stream().allMatch(BenchApplication::isAlive)) {
                return new PressurePoint(
                        transfer, benchCase, size, poolBytes, Map.of(), String.valueOf(e.getMessage()));
            }
            throw e;
        }
    }

    private void round(
            BenchCase benchCase, BenchApplication ours, String name, Map<Configuration, List<Measurement>> runs)
            throws IOException, InterruptedException {
        Map<Configuration, BenchApplication> all = new EnumMap<>(sort);
        all.put(Configuration.OURS, ours);
        for (Map.Entry<Configuration, BenchApplication> each : all.entrySet()) {
            progress.starting(name + ", " + each.getKey().label());
            runs.computeIfAbsent(each.getKey(), unused -> new ArrayList<>())
                    .add(each.getValue().run(benchCase.job(Form.FULL, options.rows())));
        }
    }

    private static String times(Map<Configuration, List<Measurement>> runs) {
        List<String> times = new ArrayList<>();
        runs.forEach((configuration, measured) -> times.add(String.format(
                Locale.ROOT,
                "%s %.2f s",
                configuration.label(),
                measured.get(measured.size() - 1).millis() / 1_000.0)));
        return String.join(", ", times);
    }

    private String name(BenchCase benchCase) {
        return benchCase.name() + " " + transfer.label();
    }

    private BenchApplication startSort(Configuration configuration) throws IOException, InterruptedException {
        progress.starting("starting " + configuration.label() + ", " + transfer.label());
        PressureOptions.Folders places = places(configuration.label(), configuration.inMemory());
        return start(configuration.label(), options.sortConf(configuration, transfer, places), places);
    }

    private BenchApplication startOurs(@Nullable Long poolBytes, String size) throws IOException, InterruptedException {
        String name = Configuration.OURS.label() + "-" + size;
        PressureOptions.Folders places = places(name, false);
        return start(name, options.oursConf(transfer, poolBytes, places), places);
    }

    private PressureOptions.Folders places(String application, boolean inMemory) throws IOException {
        return new PressureOptions.Folders(
                folders.local(application, inMemory),
                folders.logs().resolve("warehouse"),
                folders.garbage(transfer.label() + "-" + application));
    }

    private BenchApplication start(String name, Map<String, String> conf, PressureOptions.Folders places)
            throws IOException, InterruptedException {
        return new BenchApplication(
                workspace,
                new BenchApplication.Setting(
                        name,
                        PressureOptions.EXECUTORS,
                        conf,
                        folders.log(transfer.label() + "-" + name),
                        places.garbage().folder(),
                        options.timeout()));
    }

    @Override
    public void close() {
        sort.values().forEach(BenchApplication::close);
    }
}
