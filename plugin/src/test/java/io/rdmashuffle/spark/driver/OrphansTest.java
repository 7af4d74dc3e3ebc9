// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.spark.driver.Orphans.Readers;
import io.rdmashuffle.spark.rpc.PeerAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
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
    private final List<String> removed = new ArrayList<>();
    private final Orphans orphans = orphans(Readers.SHARED_MEMORY);
    private final Orphans served = orphans(Readers.SERVICE);

    private Node node;

    private Orphans orphans(Readers readers) {
        return new Orphans(readers, 2 * POOL, POOL, registry, new Orphans.MapOutputs() {
            @Override
            public void removeAll(String executorId) {
                removed.add(executorId);
            }

            @Override
            public boolean has(String executorId) {
                return withOutputs.contains(executorId);
            }
        });
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
            orphans.joined(member);
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

        join(new Member("3", new UUID(3, 3), Map.of()));
        orphans.executorRemoved("2");
        assertThat(removed).as("executor 3 could not read it").containsExactly("1", "2");
        orphans.executorRemoved("never heard of");
        assertThat(removed).containsExactly("1", "2", "never heard of");
        assertThat(members()).containsExactly("3");
    }

    @Test
    void anExecutorThatStoppedOrHasFilesIsDropped() {
        join(member("1", true), member("2", true));
        orphans.reported("1", POOL, true);
        orphans.executorRemoved("1");
        assertThat(removed).containsExactly("1");
        assertThat(members()).containsExactly("2");
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
    void aMemberThatCannotReadThemEndsAll() {
        join(member("1", true), member("2", true), member("3", true));
        orphans.executorRemoved("1");
        orphans.executorRemoved("2");
        assertThat(removed).isEmpty();
        join(new Member("4", new UUID(4, 4), Map.of()));
        assertThat(removed).containsExactly("1", "2");
        assertThat(members()).containsExactly("3", "4");
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
        served.joined(served("4", "b"));
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
        served.executorRemoved("1");
        served.executorRemoved("4");
        served.executorRemoved("2");
        assertThat(removed).isEmpty();
        served.executorRemoved("3");
        assertThat(removed).containsExactly("1");
    }

    @Test
    void filesAreLeftOnlyForOutputsThatAreKept() {
        join(served("1", "a", Member.OUTLIVES), served("2", "a"), served("3", "a", Member.OUTLIVES));
        assertThat(served.isWorthKeeping("1")).isTrue();
        assertThat(served.isWorthKeeping("2")).as("its files do not outlive it").isFalse();
        withOutputs.remove("1");
        assertThat(served.isWorthKeeping("1")).as("no shuffle needs it").isFalse();
        served.reported("3", 3 * POOL, false);
        assertThat(served.isWorthKeeping("3")).as("above the limit").isFalse();
    }

    @Test
    void sparksFilesOfAnExecutorWithoutAPoolStayWithTheService() {
        join(served("1", "a"));
        served.reported("1", 0, true);
        served.executorRemoved("1");
        assertThat(removed).isEmpty();
        assertThat(members()).isEmpty();
    }
}
