// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static io.rdmashuffle.registry.TestMembers.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.RegistryMessage.Lookup;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class RegistryConcurrencyTest {
    private static final int THREADS = 8;

    private final FakeNetwork network = new FakeNetwork();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

    @AfterEach
    void stopThreads() {
        threads.shutdownNow();
    }

    @Test
    void threadsThatMissTheSameMemberShareOneQuestion() throws Exception {
        FakeNetwork.Executor first = network.executor("1").announce(1);
        first.hold = true;
        network.executor("2").announce(2);
        CountDownLatch allAtIt = new CountDownLatch(THREADS);
        first.beforeAsk = () -> awaitQuietly(allAtIt);

        List<Future<Boolean>> found = IntStream.range(0, THREADS)
                .mapToObj(n -> threads.submit(() -> {
                    allAtIt.countDown();
                    return first.agent.lookup("2").isPresent();
                }))
                .toList();

        for (Future<Boolean> each : found) {
            assertThat(each.get()).isTrue();
        }
        assertThat(first.asked).filteredOn(Lookup.class::isInstance).hasSize(1);
    }

    /** Executors come, die and come back from several threads while pushes are lost, doubled and reordered. */
    @Test
    void viewsConvergeToTheDriversMembership() throws Exception {
        long seed = new Random().nextLong();
        System.out.println("RegistryConcurrencyTest.viewsConvergeToTheDriversMembership seed " + seed);
        List<FakeNetwork.Executor> readers = IntStream.range(0, 3)
                .mapToObj(n -> network.executor("reader" + n).announce(n))
                .toList();
        readers.forEach(reader -> reader.hold = true);

        runAll(n -> () -> {
            Random random = new Random(seed + n);
            for (int step = 0; step < 100; step++) {
                String id = n + "-" + random.nextInt(10);
                if (random.nextInt(3) == 0) {
                    network.driver.memberRemoved(id);
                } else {
                    network.executor(id).announce(random.nextInt());
                }
                readers.get(random.nextInt(readers.size())).agent.lookup(id);
            }
            return null;
        });
        Random random = new Random(seed);
        for (FakeNetwork.Executor reader : readers) {
            deliverBadly(reader, random);
            reader.agent.lookup("unknown");
            if (reader.agent.isStale()) {
                reader.agent.ensureAnnounced();
            }
            reader.agent.announce(member("reader" + readers.indexOf(reader), readers.indexOf(reader)));
            List<Member> others = new ArrayList<>(network.driver.members());
            others.removeIf(each -> each.executorId().equals("reader" + readers.indexOf(reader)));
            assertThat(reader.agent.peers()).as("seed %d", seed).containsExactlyInAnyOrderElementsOf(others);
            assertThat(replayed(reader.heard)).as("seed %d", seed).hasSameElementsAs(names(others));
        }
    }

    /** With nothing lost, the order alone is wrong: no question is needed to end in the right state. */
    @Test
    void reorderingAloneNeedsNoQuestion() throws Exception {
        long seed = new Random().nextLong();
        System.out.println("RegistryConcurrencyTest.reorderingAloneNeedsNoQuestion seed " + seed);
        Random random = new Random(seed);
        FakeNetwork.Executor reader = network.executor("reader").announce(1);
        reader.hold = true;
        for (int step = 0; step < 500; step++) {
            String id = "" + random.nextInt(20);
            if (random.nextInt(3) == 0
                    && network.driver.members().stream()
                            .anyMatch(m -> m.executorId().equals(id))) {
                network.driver.memberRemoved(id);
            } else {
                network.executor(id).announce(step);
            }
        }
        List<RegistryMessage.MembershipUpdate> updates = new ArrayList<>(reader.held);
        Collections.shuffle(updates, random);
        List<List<RegistryMessage.MembershipUpdate>> parts = IntStream.range(0, THREADS)
                .mapToObj(n -> updates.subList(n * updates.size() / THREADS, (n + 1) * updates.size() / THREADS))
                .toList();
        runAll(n -> () -> {
            parts.get(n).forEach(reader.agent::onMessage);
            return null;
        });

        List<Member> others = new ArrayList<>(network.driver.members());
        others.remove(member("reader", 1));
        assertThat(reader.agent.isStale()).as("seed %d", seed).isFalse();
        assertThat(reader.agent.peers()).as("seed %d", seed).containsExactlyInAnyOrderElementsOf(others);
        assertThat(replayed(reader.heard)).as("seed %d", seed).hasSameElementsAs(names(others));
        assertThat(reader.asked).hasSize(1);
    }

    private interface Job {
        Callable<Void> of(int thread);
    }

    private void runAll(Job job) throws Exception {
        List<Future<Void>> running = IntStream.range(0, THREADS)
                .mapToObj(n -> threads.submit(job.of(n)))
                .toList();
        for (Future<Void> each : running) {
            each.get();
        }
    }

    private static void deliverBadly(FakeNetwork.Executor reader, Random random) {
        List<Integer> positions = new ArrayList<>();
        for (int i = 0; i < reader.held.size(); i++) {
            for (int copies = random.nextInt(3); copies > 0; copies--) {
                positions.add(i);
            }
        }
        Collections.shuffle(positions, random);
        reader.release(positions.stream().mapToInt(Integer::intValue).toArray());
    }

    /** Replays a listener's changes and fails on a change that contradicts earlier ones. */
    private static List<String> replayed(List<String> heard) {
        List<String> present = new ArrayList<>();
        for (String change : heard) {
            int arrow = change.indexOf('>');
            if (change.startsWith("+")) {
                present.add(change.substring(1));
            } else if (change.startsWith("-") && arrow < 0) {
                assertThat(present.remove(change.substring(1))).as(change).isTrue();
            } else {
                assertThat(present.remove(change.substring(0, arrow)))
                        .as(change)
                        .isTrue();
                present.add(change.substring(arrow + 1));
            }
        }
        return present;
    }

    private static List<String> names(List<Member> members) {
        return members.stream()
                .map(each -> each.executorId() + "." + each.incarnation().getLeastSignificantBits())
                .toList();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
