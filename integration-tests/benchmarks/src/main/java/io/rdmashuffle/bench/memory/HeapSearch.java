// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * Finds the smallest heap that is enough, on a scale with steps of about four percent: by bisection with one attempt
 * each, then with more attempts at the heap that was found and at the one below, since a heap that is nearly too small
 * is enough at one time and not at another.
 *
 * <p><b>Threading:</b> one thread.
 */
final class HeapSearch {
    private static final double STEP = 1.04;

    private final List<Integer> heaps;
    private final int repeats;

    /**
     * Prepares a search.
     *
     * @param leastMb the smallest heap that is tried
     * @param mostMb the largest
     * @param repeats how often in a row a heap must be enough
     */
    HeapSearch(int leastMb, int mostMb, int repeats) {
        this.heaps = scale(leastMb, mostMb);
        this.repeats = repeats;
    }

    /** Makes an attempt with a heap. */
    @FunctionalInterface
    interface Probe {
        ProbeReply run(int heapMb) throws IOException, InterruptedException;
    }

    /** An attempt that was made. */
    record Attempt(int heapMb, boolean completed, long millis, String failure) {}

    /**
     * Result of a search.
     *
     * @param smallestMb nothing if the largest heap was not enough
     * @param attempts in their order
     */
    record Found(OptionalInt smallestMb, List<Attempt> attempts) {
        Found {
            attempts = List.copyOf(attempts);
        }

        /** Returns why the largest heap that was not enough was none; empty if all were enough. */
        String failureBelow() {
            int smallest = smallestMb.orElse(Integer.MAX_VALUE);
            return attempts.stream()
                    .filter(attempt -> !attempt.completed() && attempt.heapMb() < smallest)
                    .reduce((one, other) -> other.heapMb() >= one.heapMb() ? other : one)
                    .map(Attempt::failure)
                    .orElse("");
        }
    }

    /** Returns the heaps that may be tried. */
    static List<Integer> scale(int leastMb, int mostMb) {
        List<Integer> heaps = new ArrayList<>();
        for (int heap = leastMb; heap < mostMb; heap = Math.max(heap + 1, (int) Math.round(heap * STEP))) {
            heaps.add(heap);
        }
        heaps.add(mostMb);
        return List.copyOf(heaps);
    }

    /**
     * Searches.
     *
     * @param guess an expected heap, if there is one
     */
    Found search(OptionalInt guess, Probe probe) throws IOException, InterruptedException {
        Run run = new Run(probe);
        int found = guess.isPresent() ? run.gallop(index(guess.getAsInt())) : run.bisect(-1, heaps.size());
        while (found < heaps.size() && !run.isEnough(found)) {
            found++;
        }
        while (found > 0 && run.isEnoughAfterAll(found - 1)) {
            found--;
        }
        return new Found(found < heaps.size() ? OptionalInt.of(heaps.get(found)) : OptionalInt.empty(), run.attempts);
    }

    private int index(int heapMb) {
        int index = 0;
        while (index < heaps.size() - 1 && heaps.get(index) < heapMb) {
            index++;
        }
        return index;
    }

    private final class Run {
        private final Probe probe;
        private final List<Attempt> attempts = new ArrayList<>();

        Run(Probe probe) {
            this.probe = probe;
        }

        private boolean attempt(int index) throws IOException, InterruptedException {
            int heapMb = heaps.get(index);
            ProbeReply reply = probe.run(heapMb);
            attempts.add(new Attempt(heapMb, reply.completed(), reply.millis(), reply.failure()));
            return reply.completed();
        }

        /**
         * Returns the smallest heap that was enough once.
         *
         * @param low was not enough, or is before the scale
         * @param high was enough, or is behind the scale
         */
        int bisect(int low, int high) throws IOException, InterruptedException {
            int below = low;
            int enough = high;
            while (enough - below > 1) {
                int middle = (below + enough) >>> 1;
                if (attempt(middle)) {
                    enough = middle;
                } else {
                    below = middle;
                }
            }
            return enough;
        }

        /** Does the same, beginning with steps away from a guess, each twice as long as the one before. */
        int gallop(int guess) throws IOException, InterruptedException {
            boolean down = attempt(guess);
            int last = guess;
            for (int step = 1; ; step *= 2) {
                int next = down ? last - step : last + step;
                if (next < 0 || next >= heaps.size()) {
                    return down ? bisect(-1, last) : bisect(last, heaps.size());
                }
                if (attempt(next) != down) {
                    return bisect(Math.min(last, next), Math.max(last, next));
                }
                last = next;
            }
        }

        /** Returns whether a heap that was enough once is so as often as it must be. */
        boolean isEnough(int index) throws IOException, InterruptedException {
            long completed = attempts.stream()
                    .filter(attempt -> attempt.heapMb() == heaps.get(index))
                    .filter(Attempt::completed)
                    .count();
            return isEnough(index, repeats - (int) completed);
        }

        /** Returns whether a heap that was not enough once was so by chance. */
        boolean isEnoughAfterAll(int index) throws IOException, InterruptedException {
            return isEnough(index, repeats);
        }

        private boolean isEnough(int index, int times) throws IOException, InterruptedException {
            for (int i = 0; i < times; i++) {
                if (!attempt(index)) {
                    return false;
                }
            }
            return true;
        }
    }
}
