// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import io.rdmashuffle.bench.membership.Endpoint.Totals;
import io.rdmashuffle.bench.membership.MembershipCluster.Snapshots;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Scenarios: executors join, half of them are lost, and members do not forward updates.
 *
 * <p><b>Threading:</b> one thread.
 */
public final class MembershipSimulation {
    /** Scenarios of {@link #run}. */
    public static final int SCENARIOS = 4;

    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final long MILLISECOND = SECOND / 1000;
    private static final long JOIN_NANOS = 10 * SECOND;
    private static final int LOSING_EACH = 100;
    private static final int REPLACED_EACH = 10;

    private final int executors;
    private final long seed;
    private final Consumer<String> progress;

    /** Prepares the scenarios; {@code progress} is called after each one. */
    public MembershipSimulation(int executors, long seed, Consumer<String> progress) {
        this.executors = executors;
        this.seed = seed;
        this.progress = progress;
    }

    /** Returns the figures of all scenarios. */
    public MembershipReport run() {
        List<MembershipFigures> figures = new ArrayList<>();
        MembershipCluster cluster = new MembershipCluster(seed, 0);
        add(figures, scenario("join within 10 s", cluster, executors, this::joinAtRandom));
        add(figures, scenario("half removed at once", cluster, executors / 2, this::removeHalf));
        MembershipCluster losing = new MembershipCluster(seed + 1, LOSING_EACH);
        add(figures, scenario("join one a ms, 1 % lose", losing, executors, this::joinEachMillisecond));
        int replaced = Math.max(1, executors / REPLACED_EACH);
        add(figures, scenario("a tenth replaced, 1 % lose", losing, 2 * replaced, this::replaceSome));
        return new MembershipReport(executors, seed, figures);
    }

    private void add(List<MembershipFigures> figures, MembershipFigures added) {
        figures.add(added);
        progress.accept(added.scenario());
    }

    private static MembershipFigures scenario(
            String name, MembershipCluster cluster, int changes, Consumer<MembershipCluster> changing) {
        Totals driverBefore = cluster.driver().totals();
        Snapshots snapshotsBefore = cluster.snapshots();
        Map<SimulatedMember, Totals> before = new HashMap<>();
        cluster.members().forEach(each -> before.put(each, each.endpoint().totals()));
        changing.accept(cluster);
        long changed = cluster.time().now();
        long known = cluster.untilAllKnowAll();
        List<Totals> totals = cluster.members().stream()
                .map(each -> {
                    Totals earlier = before.get(each);
                    Totals now = each.endpoint().totals();
                    return earlier == null ? now : now.since(earlier);
                })
                .toList();
        return new MembershipFigures(
                name,
                cluster.members().size(),
                changes,
                cluster.sizes().ofMember(MessageSizes.member(Integer.toString(changes), 1)),
                cluster.driver().totals().since(driverBefore),
                totals.stream().mapToLong(Totals::messages).max().orElse(0),
                totals.stream().mapToLong(Totals::bytes).max().orElse(0),
                cluster.snapshots().since(snapshotsBefore),
                (double) Math.max(0, known - changed) / SECOND,
                cluster.goalSeconds());
    }

    private void joinAtRandom(MembershipCluster cluster) {
        long began = cluster.time().now();
        long last = began;
        for (int i = 0; i < executors; i++) {
            long at = began + (long) (cluster.random().nextDouble() * JOIN_NANOS);
            last = Math.max(last, at);
            cluster.joinAt(at);
        }
        cluster.time().runUntil(last);
    }

    private void joinEachMillisecond(MembershipCluster cluster) {
        long began = cluster.time().now();
        for (int i = 0; i < executors; i++) {
            cluster.joinAt(began + i * MILLISECOND);
        }
        cluster.time().runUntil(began + (executors - 1) * MILLISECOND);
    }

    private void removeHalf(MembershipCluster cluster) {
        cluster.some(executors / 2).forEach(cluster::remove);
    }

    /** One is lost and another joins in its place, one a millisecond. */
    private void replaceSome(MembershipCluster cluster) {
        long began = cluster.time().now();
        long at = began;
        for (SimulatedMember lost : cluster.some(Math.max(1, executors / REPLACED_EACH))) {
            at += MILLISECOND;
            cluster.time().at(at, () -> cluster.remove(lost));
            cluster.joinAt(at);
        }
        cluster.time().runUntil(at);
    }
}
