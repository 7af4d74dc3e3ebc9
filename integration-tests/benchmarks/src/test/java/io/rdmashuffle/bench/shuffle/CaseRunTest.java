// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.CaseCatalogue;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.bench.jobs.TaskTotals;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class CaseRunTest {
    private static final BenchCase CASE =
            CaseCatalogue.select(List.of("repartition-64-100B")).get(0);

    private final List<String> asked = new ArrayList<>();

    private CaseResult run(List<Form> forms, int rounds, int warmups, CaseRun.Jobs ours) throws Exception {
        Map<Configuration, CaseRun.Jobs> configurations = new EnumMap<>(Configuration.class);
        for (Configuration configuration : Configuration.values()) {
            configurations.put(configuration, job -> {
                asked.add(configuration.label() + " " + job.form());
                return configuration == Configuration.OURS ? ours.run(job) : measured();
            });
        }
        try (StepProgress progress =
                new StepProgress(new PrintStream(new ByteArrayOutputStream()), "rounds", rounds + warmups)) {
            return new CaseRun(configurations, rounds, forms, progress).run(CASE, 100, warmups);
        }
    }

    private static Measurement measured() {
        TaskTotals tasks = new TaskTotals(100, 1, 100, 1, 0, 0, 0, 0, 0);
        return new Measurement(1_000, 1, 0, 1, tasks, 0, 0, 0, Map.of(), Map.of());
    }

    /** Each of these is an application of its own. */
    @Test
    void firstJobsRotateTheConfigurations() throws Exception {
        CaseResult result = run(List.of(Form.FULL), 2, 0, job -> measured());
        assertThat(result.ok()).isTrue();
        assertThat(result.of(Configuration.OURS).runs(Form.FULL)).hasSize(2);
        assertThat(result.of(Configuration.OURS).floorSeconds()).isEmpty();
        assertThat(asked)
                .containsExactly(
                        "sort-disk FULL",
                        "sort-tmpfs FULL",
                        "sort-bare FULL",
                        "ours FULL",
                        "sort-tmpfs FULL",
                        "sort-bare FULL",
                        "ours FULL",
                        "sort-disk FULL");
    }

    @Test
    void warmUpsAreNotCountedAndEveryFormIsMeasured() throws Exception {
        CaseResult result = run(List.of(Form.values()), 1, 2, job -> measured());
        for (Form form : Form.values()) {
            assertThat(result.of(Configuration.OURS).runs(form)).hasSize(1);
        }
        assertThat(asked.stream().filter(each -> each.equals("ours FULL"))).hasSize(3);
    }

    @Test
    void aConfigurationThatFailsFailsTheCase() throws Exception {
        CaseResult result = run(List.of(Form.FULL), 1, 0, job -> {
            throw new IOException("ours-1: gone");
        });
        assertThat(result.ok()).isFalse();
        assertThat(result.error()).isEqualTo("ours-1: gone");
    }
}
