// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ScaleTest {
    @Test
    void everyMapOutputIsOnOneExecutor() {
        Scale scale = new Scale(11, 5, 4);
        long[] all = IntStream.range(0, 4)
                .mapToObj(executor -> scale.mapIds(2, executor))
                .flatMapToLong(Arrays::stream)
                .sorted()
                .toArray();
        assertThat(all).containsExactly(22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32);
        assertThat(scale.mapIds(2, 3)).containsExactly(25, 29);
    }

    @Test
    void executorsWithoutAMapOutputHaveNone() {
        assertThat(new Scale(1, 5, 3).mapIds(0, 2)).isEmpty();
    }
}
