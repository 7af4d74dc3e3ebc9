// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.fixture.PoolFolder;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("unit")
@Timeout(120)
class SimulationTest {
    private static final int EXECUTORS = 6;
    private static final Simulation.Effort EFFORT = new Simulation.Effort(1, 2, 0);

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    private Figures run(Scale scale, boolean inPlace) throws Exception {
        try (Simulation simulation = Simulation.open(scale, EFFORT, pools.path(), inPlace)) {
            return simulation.run();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theDriverHearsOfExecutorsAndNotOfMapOutputs(boolean inPlace) throws Exception {
        Figures figures = run(new Scale(40, 7, EXECUTORS), inPlace);
        Figures twice = run(new Scale(80, 7, EXECUTORS), inPlace);
        assertThat(figures.join().requests().messages()).isEqualTo(EXECUTORS);
        assertThat(figures.join().replies().messages()).isEqualTo(EXECUTORS);
        assertThat(figures.join().pushes().messages()).isEqualTo(EXECUTORS);
        assertThat(figures.life().messages()).isZero();
        assertThat(twice.join().messages()).isEqualTo(figures.join().messages());
        assertThat(twice.life().messages()).isZero();
    }

    @Test
    void twiceTheExecutorsAnnounceThemselvesTwiceAsOften() throws Exception {
        Traffic join = run(new Scale(10, 7, 2 * EXECUTORS), true).join();
        assertThat(join.requests().messages()).isEqualTo(2 * EXECUTORS);
        assertThat(join.replies().messages()).isEqualTo(2 * EXECUTORS);
        assertThat(join.pushes().messages()).isEqualTo(2 * EXECUTORS);
    }

    @Test
    void memoryIsWhatTheLayoutsSay() throws Exception {
        Figures.Memory memory = run(new Scale(200, 100, 2), true).memory();
        assertThat(memory.tableBytes()).isEqualTo(64L * (1 + SimulatedExecutor.SLOTS));
        // 100 map outputs: a segment of 64 entries, outgrown, and one of 128.
        assertThat(memory.segmentBytes()).isEqualTo(64L * (64 + 128));
        // 100 rows of 12 bytes, the length of 8; in whole cache lines.
        assertThat(memory.indexBytes()).isEqualTo(100L * (100 * 12 + 8 + 8));
    }

    @Test
    void oneExecutorReadsItsOwn() throws Exception {
        Figures figures = run(new Scale(3, 2, 1), true);
        assertThat(figures.join().messages()).isEqualTo(3);
        assertThat(figures.memory().segmentBytes()).isEqualTo(64L * 64);
    }

    @Test
    void moreExecutorsThanMapOutputsIsNoFailure() throws Exception {
        assertThat(run(new Scale(2, 2, 4), true).life().messages()).isZero();
    }
}
