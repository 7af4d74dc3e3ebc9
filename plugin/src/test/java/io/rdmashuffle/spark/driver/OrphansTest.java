// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.LoggedLines;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.spark.driver.Orphans.Readers;
import io.rdmashuffle.spark.rpc.PeerAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
class OrphansTest {
    private static final long POOL = 100;

    @TempDir(factory = ShmTempDirs.class)
    Path shared;

    private final RegistryServer registry = new RegistryServer(shuffleId -> true, () -> {});
    private final Set<String> withOutputs = new HashSet<>(Set.of("1", "2", "3"));
    private final Set<String> decommissioned = new HashSet<>();
    private boolean isHostDecommissioned;
    private final List<String> removed = new ArrayList<>();
    private final List<Question> questions = new ArrayList<>();
    private final List<Move> moves = new ArrayList<>();
    private final List<Runnable> afterHold = new ArrayList<>();
    private final Orphans orphans = orphans(Readers.SHARED_MEMORY);
    private final Orphans served = orphans(Readers.SERVICE);

    private Node node;

    private Orphans orphans(Readers readers) {
        return new Orphans(
                readers,
                2 * POOL,
                POOL,
                registry,
                new Orphans.SparkState() {
                    @Override
                    public void removeAll(String executorId) {
                        removed.add(executorId);
                    }

                    @Override
                    public boolean has(String executorId) {
                        return withOutputs.contains(executorId);
                    }

                    @Override
                    public Set<Integer> shufflesOf(String executorId) {
                        return Set.of(Integer.valueOf(executorId));
                    }

                    @Override
                    public boolean isDecommissioned(String executorId) {
                        return decommissioned.contains(executorId);
                    }

                    @Override
                    public boolean isHostDecommissioned(String executorId) {
                        return isHostDecommissioned;
                    }
                },
                new Orphans.Heirs() {
                    @Override
                    public void ask(String executorId, Member ended, Consumer<Optional<Member>> answer) {
                        questions.add(new Question(executorId, ended, answer));
                    }

                    @Override
                    public void moveToDisk(
                            String executorId, String ended, Set<Integer> shuffleIds, Consumer<Boolean> answer) {
                        moves.add(new Move(executorId, ended, shuffleIds, answer));
                    }

                    @Override
                    public void afterPause(Runnable action) {
                        afterHold.add(action);
                    }

                    @Override
                    public void afterHold(Runnable action) {
                        afterHold.add(action);
                    }
                });
    }

    /** Question to an executor whether it serves the pool of another. */
    private record Question(String heir, Member ended, Consumer<Optional<Member>> answer) {
        void yes() {
            Map<String, byte[]> addresses = new HashMap<>(ended.addresses());
            addresses.put(Member.HEIR, heir.getBytes(StandardCharsets.UTF_8));
            answer.accept(Optional.of(new Member(ended.executorId(), ended.incarnation(), addresses)));
        }

        void no() {
            answer.accept(Optional.empty());
        }
    }

    /** Request to an executor to move the outputs of another to disk. */
    private record Move(String mover, String ended, Set<Integer> shuffleIds, Consumer<Boolean> answer) {
        void done() {
            answer.accept(true);
        }

        void failed() {
            answer.accept(false);
        }

        @Override
        public String toString() {
            return mover + (shuffleIds.isEmpty() ? " removes " : " moves ") + ended;
        }
    }

    private Move moved(String what) {
        assertThat(moves).singleElement().hasToString(what);
        return moves.remove(0);
    }

    private Question asked() {
        assertThat(questions).hasSize(1);
        return questions.remove(0);
    }

    private void passHold() {
        List<Runnable> due = List.copyOf(afterHold);
        afterHold.clear();
        due.forEach(Runnable::run);
    }

    private Optional<String> heirOf(String executorId) {
        return registry.members().stream()
                .filter(member -> member.executorId().equals(executorId))
                .findAny()
                .orElseThrow()
                .heir();
    }

    /** Returns a member of another host. */
    private static Member elsewhere(String executorId) {
        return new Member(executorId, new UUID(3, executorId.hashCode()), Map.of());
    }

    @BeforeEach
    void open() {
        node = new Node(shared, new ShmFabric(1, 1 << 20, true));
    }

    @AfterEach
    void close() {
        node.close();
    }

    private Member member(String executorId, boolean outlives) {
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put(ShmFabric.NAME, node.fabric().localAddress());
        if (outlives) {
            addresses.put(Member.OUTLIVES, new byte[] {1});
        }
        return new Member(executorId, new UUID(1, executorId.hashCode()), addresses);
    }

    private void join(Member... members) {
        for (Member member : members) {
            assertThat(registry.handle(new Announce(member), bytes -> {})).isNotNull();
            orphans.joined();
        }
    }

    private List<String> members() {
        return registry.members().stream().map(Member::executorId).toList();
    }

    @Test
    void whatOthersCanReadIsKeptUntilNoShuffleNeedsIt() {
        join(member("1", true), member("2", true));
        orphans.reported("1", POOL, false);
        orphans.executorRemoved("1");
        orphans.executorRemoved("1");
        assertThat(members()).containsExactly("1", "2");
        assertThat(removed).isEmpty();
        assertThat(registry.handle(new Announce(member("1", true)), bytes -> {}))
                .isInstanceOf(AnnounceRefused.class);

        join(member("3", true));
        orphans.shuffleRemoved();
        assertThat(members()).containsExactly("1", "2", "3");
        withOutputs.remove("1");
        orphans.shuffleRemoved();
        assertThat(members()).containsExactly("2", "3");
        assertThat(orphans.isEmpty()).isTrue();
    }

    @Test
    void whatIsNotSharedIsDropped() {
        join(member("1", false), member("2", true));
        orphans.executorRemoved("1");
        assertThat(removed).as("no file that outlives it").containsExactly("1");

        join(elsewhere("3"));
        orphans.executorRemoved("2");
        assertThat(removed).as("an executor of its host may come").containsExactly("1");
        passHold();
        assertThat(removed).as("executor 3 could not read it").containsExactly("1", "2");
        orphans.executorRemoved("never heard of");
        assertThat(removed).containsExactly("1", "2", "never heard of");
        assertThat(members()).containsExactly("3");
    }

    @Test
    void anExecutorWithOtherFilesIsDropped() {
        join(member("1", true), member("2", true));
        orphans.reported("1", POOL, true);
        orphans.executorRemoved("1");
        assertThat(removed).containsExactly("1");
        assertThat(members()).containsExactly("2");
    }

    @Test
    void anExecutorThatStopsLeavesItsFilesToOthersOfItsHost() {
        join(member("1", true), member("2", true), member("3", true), elsewhere("4"));
        assertThat(orphans.leavesFiles("1")).isTrue();
        assertThat(orphans.leavesFiles("2")).isTrue();
        orphans.executorRemoved("1");
        assertThat(orphans.leavesFiles("1")).as("asked late").isTrue();
        asked().yes();
        assertThat(removed).isEmpty();

        assertThat(orphans.hasDroppedOnHostOf("3")).isFalse();
        assertThat(orphans.leavesFiles("3")).as("1 and 2 do not stay").isFalse();
        assertThat(orphans.hasDroppedOnHostOf("3")).as("it removes them").isTrue();
        assertThat(orphans.hasDroppedOnHostOf("4")).isFalse();
        assertThat(removed).as("no executor is left to remove their files").containsExactly("1", "2");
        assertThat(members()).containsExactly("3", "4");
        orphans.executorRemoved("2");
        orphans.executorRemoved("3");
        assertThat(members()).containsExactly("4");
        assertThat(orphans.isEmpty()).isTrue();
    }

    @Test
    void anExecutorThatLeavesIsNoHeir() {
        join(member("1", true), member("2", true), member("3", true), elsewhere("4"));
        assertThat(orphans.leavesFiles("2")).isTrue();
        orphans.executorRemoved("1");
        assertThat(asked().heir()).isEqualTo("3");
    }

    @Test
    void outputsOfADecommissionedExecutorStayIfAnotherOneOfItsHostDoes() {
        join(member("1", true), member("2", true), member("3", true), elsewhere("4"));
        decommissioned.addAll(List.of("1", "2"));
        assertThat(orphans.mayLeaveFiles("1")).isTrue();
        orphans.reported("2", POOL, true);
        assertThat(orphans.mayLeaveFiles("2")).as("it has other files, too").isFalse();
        assertThat(orphans.mayLeaveFiles("4")).as("alone on its host").isFalse();
        isHostDecommissioned = true;
        assertThat(orphans.mayLeaveFiles("1")).as("3 has not been asked to yet").isFalse();
        isHostDecommissioned = false;
        decommissioned.add("3");
        assertThat(orphans.mayLeaveFiles("1")).as("all of its host end").isFalse();
        assertThat(removed).isEmpty();
        assertThat(members()).as("asking changes nothing").containsExactly("1", "2", "3", "4");
    }

    /** One that is decommissioned has its outputs moved, which no limit need explain. */
    @Test
    void outputsThatTheBoundRefusesAreToldOnce() {
        join(member("1", true), member("2", true), member("3", true));
        try (LoggedLines lines = LoggedLines.of(Orphans.class)) {
            orphans.reported("1", 3 * POOL, false);
            assertThat(orphans.mayLeaveFiles("1")).isFalse();
            assertThat(lines.all()).isEmpty();
            assertThat(orphans.leavesFiles("1")).isFalse();
            assertThat(lines.all()).singleElement().asString().contains("spark.shuffle.rdma.outlive.maxBytes");
            orphans.reported("2", 3 * POOL, false);
            orphans.executorRemoved("2");
            assertThat(lines.all()).hasSize(1);
        }
        assertThat(members()).doesNotContain("2");
    }

    @Test
    void aDecommissionedExecutorIsTheLastToBecomeAnHeir() {
        join(member("1", true), member("2", true), member("3", true), elsewhere("4"));
        decommissioned.add("2");
        orphans.executorRemoved("1");
        Question first = asked();
        assertThat(first.heir()).isEqualTo("3");
        first.no();
        assertThat(asked().heir()).isEqualTo("2");
    }

    @Test
    void anExecutorThatStopsWithoutNeededOutputsRemovesItsFiles() {
        join(member("1", true), member("2", true), member("3", false));
        withOutputs.remove("1");
        assertThat(orphans.leavesFiles("1")).isFalse();
        orphans.reported("2", POOL, true);
        assertThat(orphans.leavesFiles("2")).as("it has other files, too").isFalse();
        assertThat(orphans.leavesFiles("3")).as("its files do not outlive it").isFalse();
        orphans.executorRemoved("2");
        assertThat(removed).containsExactly("2");
    }

    @Test
    void nothingIsLeftOrKeptAfterTheEnd() {
        join(member("1", true), member("2", true), member("3", true));
        orphans.executorRemoved("1");
        assertThat(orphans.leavesFiles("2")).isTrue();
        orphans.end();
        assertThat(removed).as("2 leaves its files").containsExactly("1", "2");
        assertThat(members()).containsExactly("3");
        assertThat(orphans.leavesFiles("3")).isFalse();
        orphans.executorRemoved("3");
        assertThat(removed).containsExactly("1", "2", "3");
    }

    @Test
    void aStopThatIsReportedLateEndsOne() {
        join(member("1", true), member("2", true), member("3", true));
        orphans.executorRemoved("1");
        orphans.executorRemoved("2");
        orphans.reported("1", POOL, false);
        assertThat(removed).isEmpty();
        orphans.reported("1", POOL, true);
        assertThat(removed).containsExactly("1");
        orphans.dropStragglers("2");
        assertThat(removed).as("2 is kept").containsExactly("1");
        orphans.dropStragglers("1");
        assertThat(removed).containsExactly("1", "1");
    }

    @Test
    void aPoolAboveTheLimitIsDroppedAlone() {
        join(member("1", true), member("2", true), member("3", true));
        orphans.executorRemoved("1");
        orphans.reported("2", 3 * POOL, false);
        orphans.executorRemoved("2");
        assertThat(removed).containsExactly("2");
        assertThat(members()).containsExactly("1", "3");
    }

    @Test
    void anExecutorOfTheHostServesThemToAMemberOfAnother() {
        join(member("1", true), member("2", true), member("3", true));
        orphans.executorRemoved("1");
        assertThat(questions).as("all read it in place").isEmpty();
        join(elsewhere("4"));
        Question first = asked();
        assertThat(first.heir()).isEqualTo("2");
        first.no();
        Question second = asked();
        assertThat(second.heir()).isEqualTo("3");
        second.yes();
        assertThat(heirOf("1")).contains("3");
        passHold();
        join(elsewhere("5"));
        assertThat(questions).isEmpty();
        assertThat(removed).isEmpty();
    }

    @Test
    void theNextHeirFollowsOneThatEnds() {
        join(member("1", true), member("2", true), member("3", true), elsewhere("4"));
        orphans.executorRemoved("1");
        asked().yes();
        assertThat(heirOf("1")).contains("2");
        orphans.executorRemoved("2");
        assertThat(questions).hasSize(2).allMatch(question -> question.heir().equals("3"));
        questions.forEach(Question::yes);
        assertThat(heirOf("1")).contains("3");
        assertThat(heirOf("2")).contains("3");
        assertThat(removed).isEmpty();
    }

    @Test
    void withoutAnHeirInTimeTheyAreDropped() {
        withOutputs.add("5");
        join(member("1", true), elsewhere("4"));
        orphans.executorRemoved("1");
        join(member("2", true));
        Question late = asked();
        passHold();
        assertThat(removed).containsExactly("1");
        late.yes();
        assertThat(members()).containsExactly("4", "2");

        orphans.executorRemoved("2");
        join(member("5", true));
        asked().yes();
        passHold();
        assertThat(heirOf("2")).contains("5");
        assertThat(removed).containsExactly("1");
    }

    @Test
    void nothingIsDroppedIfNobodyElsewhereReadsItAnyMore() {
        join(member("1", true), elsewhere("4"));
        orphans.executorRemoved("1");
        orphans.executorRemoved("4");
        passHold();
        assertThat(removed).containsExactly("4");
        assertThat(members()).containsExactly("1");
    }

    @Test
    void aFailedFetchEndsAll() {
        join(member("1", true), member("2", true), member("3", true));
        orphans.executorRemoved("1");
        orphans.executorRemoved("2");
        orphans.fetchFailed("3");
        assertThat(removed).isEmpty();
        orphans.fetchFailed("2");
        assertThat(removed).containsExactly("1", "2");
    }

    @Test
    void theOldestAreDroppedBeyondTheLimit() {
        join(member("1", true), member("2", true), member("3", true), member("4", true));
        withOutputs.add("4");
        orphans.reported("2", POOL / 2, false);
        orphans.executorRemoved("1");
        orphans.executorRemoved("2");
        orphans.executorRemoved("3");
        assertThat(removed).containsExactly("1");
        orphans.executorRemoved("4");
        assertThat(removed).containsExactly("1", "2");
        orphans.end();
        assertThat(removed).containsExactly("1", "2", "3", "4");
    }

    private static Member served(String executorId, String host, String... fabrics) {
        Map<String, byte[]> addresses = new HashMap<>();
        addresses.put(PeerAddress.NAME, new PeerAddress(host, 1).encode());
        for (String fabric : fabrics) {
            addresses.put(fabric, new byte[] {1});
        }
        return new Member(executorId, new UUID(1, executorId.hashCode()), addresses);
    }

    @Test
    void aServiceServesThoseWhoseFilesOutliveThem() {
        join(served("1", "a", Member.OUTLIVES), served("2", "a"), served("3", "b", Member.OUTLIVES));
        served.reported("1", POOL, false);
        served.executorRemoved("1");
        served.executorRemoved("2");
        assertThat(removed).as("2 has no files that outlive it").containsExactly("2");
        served.joined();
        served.executorRemoved("3");
        served.fetchFailed("3");
        assertThat(removed).as("1 is served by another service").containsExactly("2", "3");
        assertThat(members()).containsExactly("1");
        served.reported("1", POOL, true);
        assertThat(removed).containsExactly("2", "3", "1");
    }

    @Test
    void eachHostHasItsLimit() {
        withOutputs.add("4");
        for (String executorId : List.of("1", "2", "3")) {
            join(served(executorId, "a", Member.OUTLIVES));
        }
        join(served("4", "b", Member.OUTLIVES));
        join(served("5", "a"), served("6", "b"));
        served.executorRemoved("1");
        served.executorRemoved("4");
        served.executorRemoved("2");
        assertThat(moves).isEmpty();
        served.executorRemoved("3");
        Move move = moved("5 moves 1");
        served.joined();
        assertThat(moves).as("it is being moved").isEmpty();
        move.done();
        assertThat(members()).containsExactly("2", "3", "4", "5", "6");
        assertThat(served.hasDroppedOnHostOf("5")).as("it removes the pool").isTrue();
        served.dropStragglers("1");
        served.executorRemoved("1");
        assertThat(removed).as("the service serves them").isEmpty();
        assertThat(served.leavesFiles("1")).as("it stops only now").isTrue();
    }

    private void endThreeOnHostA() {
        join(served("1", "a", Member.OUTLIVES), served("2", "a", Member.OUTLIVES), served("3", "a", Member.OUTLIVES));
        List.of("1", "2", "3").forEach(served::executorRemoved);
    }

    @Test
    void onePoolOfAHostIsMovedAfterTheOther() {
        join(served("4", "a"));
        for (String executorId : List.of("1", "2", "3")) {
            served.reported(executorId, 3 * POOL, false);
        }
        endThreeOnHostA();
        moved("4 moves 1").done();
        Move second = moved("4 moves 2");
        withOutputs.remove("2");
        served.shuffleRemoved();
        second.done();
        moved("4 moves 3").done();
        assertThat(members()).containsExactly("4");
        assertThat(removed).as("no shuffle needs it").containsExactly("2");
    }

    @Test
    void anExecutorThatCannotMoveOutputsLeavesThatToTheNext() {
        join(served("4", "a"), served("5", "a"), served("6", "b"));
        endThreeOnHostA();
        moved("4 moves 1").failed();
        Move second = moved("5 moves 1");
        served.executorRemoved("5");
        assertThat(moved("4 moves 1").shuffleIds()).containsExactly(1);
        second.done();
        assertThat(members()).as("too late").contains("1");
    }

    @Test
    void outputsThatNoExecutorCanMoveAreDroppedAfterSomeAttempts() {
        join(served("4", "a"));
        endThreeOnHostA();
        for (int attempt = 0; attempt < 6; attempt++) {
            assertThat(removed).isEmpty();
            moved("4 moves 1").failed();
            passHold();
        }
        assertThat(removed).containsExactly("1");
        moved("4 removes 1").done();
        assertThat(members()).containsExactly("4", "2", "3");
    }

    @Test
    void outputsWaitForAnExecutorOfTheirHostToMoveThem() {
        join(served("6", "b"));
        endThreeOnHostA();
        passHold();
        assertThat(moves).isEmpty();
        assertThat(removed).isEmpty();
        join(served("4", "a"));
        served.joined();
        moved("4 moves 1").failed();
        served.executorRemoved("4");
        passHold();
        assertThat(removed).as("none is left that could try").containsExactly("4");
        join(served("5", "a"));
        served.joined();
        moved("5 moves 1").done();
        assertThat(members()).containsExactly("6", "2", "3", "5");
    }

    @Test
    void filesAreLeftOnlyForOutputsThatAreKept() {
        join(served("1", "a", Member.OUTLIVES), served("2", "a"), served("3", "a", Member.OUTLIVES));
        assertThat(served.leavesFiles("1")).isTrue();
        assertThat(served.leavesFiles("2")).as("its files do not outlive it").isFalse();
        withOutputs.remove("1");
        assertThat(served.leavesFiles("1")).as("no shuffle needs it").isFalse();
        served.reported("3", 3 * POOL, false);
        assertThat(served.leavesFiles("3"))
                .as("above the limit, but others move them to disk")
                .isTrue();
    }

    @Test
    void sparksFilesOfAnExecutorWithoutAPoolStayWithTheService() {
        join(served("1", "a"));
        served.reported("1", 0, false);
        assertThat(served.leavesFiles("1")).isFalse();
        served.executorRemoved("1");
        assertThat(removed).isEmpty();
        assertThat(members()).isEmpty();
    }
}
