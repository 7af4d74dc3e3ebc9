// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections are found by the numbers that completions carry, whatever comes and goes. */
@Tag("unit")
@Timeout(60)
class DrivenTest {
    private final Driven driven = new Driven();

    private record Target(int number) implements CompletionTarget {
        @Override
        public void complete(WorkCompletions completions, int index) {}

        @Override
        public boolean isSubjectOf(AsyncEvent event) {
            return false;
        }

        @Override
        public long tick(long now) {
            return Operation.NEVER;
        }

        @Override
        public void fail(Throwable reason) {}

        @Override
        public void abort(Throwable reason) {}
    }

    /** Something without completions. */
    private static final class Waiting implements Timed {
        @Override
        public long tick(long now) {
            return Operation.NEVER;
        }

        @Override
        public void fail(Throwable reason) {}

        @Override
        public void abort(Throwable reason) {}
    }

    @Test
    void connectionsAreFoundByQueuePairNumber() {
        long seed = System.nanoTime();
        System.out.println("DrivenTest seed " + seed);
        Random random = new Random(seed);
        Map<Integer, Target> there = new HashMap<>();
        for (int i = 0; i < 3000; i++) {
            // Few remainders, so that many have to look for a place.
            int number = random.nextInt(64) * 16 + random.nextInt(2);
            Target target = there.remove(number);
            if (target == null) {
                target = new Target(number);
                there.put(number, target);
                driven.add(target);
            } else {
                driven.remove(target);
            }
            int other = random.nextInt(64) * 16 + random.nextInt(2);
            assertThat(driven.find(other)).isSameAs(there.get(other));
            assertThat(driven.all()).hasSameSizeAs(there.values());
        }
        there.forEach((number, target) -> assertThat(driven.find(number)).isSameAs(target));
        there.values().forEach(driven::remove);
        assertThat(driven.isEmpty()).isTrue();
        assertThat(driven.find(0)).isNull();
    }

    @Test
    void connectionWithoutCompletionsIsDriven() {
        Waiting waiting = new Waiting();
        driven.add(waiting);
        driven.remove(new Target(0));
        assertThat(driven.all()).containsExactly(waiting);
        assertThat(driven.targets()).isEmpty();
        assertThat(driven.find(0)).isNull();
        driven.remove(waiting);
        assertThat(driven.isEmpty()).isTrue();
    }
}
