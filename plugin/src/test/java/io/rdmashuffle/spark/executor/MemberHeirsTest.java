// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.PeerChannel;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.shuffle.read.TransferClient.Heir;
import io.rdmashuffle.spark.rpc.PeerAddress;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class MemberHeirsTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final long SECONDS = 30;

    private final Map<String, Member> members = new HashMap<>();
    private final RegistryAgent agent = new RegistryAgent("1", this::answer, peers(), Duration.ofSeconds(5));
    private @Nullable MemberHeirs heirs;

    private static PeerChannel peers() {
        return (PeerChannel) Proxy.newProxyInstance(
                PeerChannel.class.getClassLoader(), new Class<?>[] {PeerChannel.class}, (self, method, arguments) -> {
                    throw new IllegalStateException("no peer is asked");
                });
    }

    private synchronized RegistryMessage answer(RegistryMessage request, Duration timeout) {
        if (request instanceof Announce) {
            return new Snapshot(1, List.copyOf(members.values()));
        }
        String executorId = ((Lookup) request).executorId();
        return new LookupReply(1, executorId, members.get(executorId));
    }

    private MemberHeirs heirs(Duration hold) {
        agent.announce(member("1", Map.of()));
        MemberHeirs made = new MemberHeirs(agent, hold, Runnable::run);
        heirs = made;
        return made;
    }

    @AfterEach
    void close() {
        if (heirs != null) {
            heirs.close();
        }
        agent.close();
    }

    private static Member member(String executorId, Map<String, String> addresses) {
        Map<String, byte[]> encoded = new HashMap<>();
        addresses.forEach((name, address) -> encoded.put(name, address.getBytes(StandardCharsets.UTF_8)));
        return new Member(executorId, new UUID(0, 1), encoded);
    }

    /** Adds an executor that serves others, at port 70 and its id. */
    private void addLiving(String executorId) {
        members.put(executorId, member(executorId, Map.of(PeerAddress.NAME, "70" + executorId + ":host")));
    }

    private static Member ended(String executorId, String heir) {
        return member(executorId, Map.of(Member.OUTLIVES, "/dev/shm/pool", Member.HEIR, heir));
    }

    private static Optional<Heir> get(CompletableFuture<Optional<Heir>> found) throws Exception {
        return found.get(SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void anHeirIsFoundWhenTheDriverNamesIt() throws Exception {
        addLiving("2");
        members.put("3", member("3", Map.of(Member.OUTLIVES, "/dev/shm/pool")));
        MemberHeirs searched = heirs(LONG);
        assertThat(searched.of("3")).isEmpty();
        CompletableFuture<Optional<Heir>> found = searched.await("3", "3");
        assertThat(searched.await("3", "3")).as("one search for all").isSameAs(found);
        assertThat(found).isNotDone();
        agent.onMessage(new MembershipUpdate(2, List.of(ended("3", "2")), List.of()));
        assertThat(get(found)).contains(new Heir("2", "host", 702));
        assertThat(searched.of("3")).contains(new Heir("2", "host", 702));
    }

    @Test
    void theNextHeirIsFoundAfterOneThatWasTried() throws Exception {
        addLiving("2");
        addLiving("4");
        members.put("3", ended("3", "2"));
        MemberHeirs searched = heirs(LONG);
        assertThat(get(searched.await("3", "3"))).contains(new Heir("2", "host", 702));
        CompletableFuture<Optional<Heir>> next = searched.await("3", "2");
        agent.onMessage(new MembershipUpdate(2, List.of(ended("3", "4")), List.of("2")));
        assertThat(get(next)).contains(new Heir("4", "host", 704));
    }

    @Test
    void oneThatCannotComeIsNotAwaited() throws Exception {
        addLiving("2");
        MemberHeirs searched = heirs(LONG);
        assertThat(get(searched.await("unknown", "unknown"))).isEmpty();
        assertThat(get(searched.await("2", "2")))
                .as("its pool does not outlive it")
                .isEmpty();
    }

    @Test
    void theSearchEndsAfterTheHold() throws Exception {
        members.put("3", member("3", Map.of(Member.OUTLIVES, "/dev/shm/pool")));
        assertThat(get(heirs(Duration.ofMillis(1)).await("3", "3"))).isEmpty();
    }

    @Test
    void closingEndsAllSearches() throws Exception {
        members.put("3", member("3", Map.of(Member.OUTLIVES, "/dev/shm/pool")));
        MemberHeirs searched = heirs(LONG);
        CompletableFuture<Optional<Heir>> found = searched.await("3", "3");
        searched.close();
        assertThat(get(found)).isEmpty();
        assertThat(get(searched.await("3", "3"))).isEmpty();
    }
}
