// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.shuffle.read.TransferClient.Heir;
import io.rdmashuffle.shuffle.read.TransferClient.Heirs;
import io.rdmashuffle.spark.rpc.PeerAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Heirs as the driver names them in the membership.
 *
 * <p><b>Threading:</b> thread-safe. One thread looks for heirs, as it may wait for the driver; all fetches from the
 * same executor share its result.
 *
 * <p><b>Ownership:</b> owns the thread; closing ends all searches without a result.
 */
final class MemberHeirs implements Heirs, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MemberHeirs.class);
    private static final long POLL_MILLIS = 200;

    private final RegistryAgent agent;
    private final Duration hold;
    private final Executor callbacks;
    private final ScheduledThreadPoolExecutor thread = new ScheduledThreadPoolExecutor(1, new DaemonThreads("heirs"));
    private final Map<Search, CompletableFuture<Optional<Heir>>> searches = new ConcurrentHashMap<>();

    /** Search for the heir of an executor, which is not the one that was tried. */
    private record Search(String executorId, String tried) {}

    /**
     * Starts no thread before the first search.
     *
     * @param hold how long the driver may take to name an heir
     * @param callbacks runs what follows a search
     */
    MemberHeirs(RegistryAgent agent, Duration hold, Executor callbacks) {
        this.agent = agent;
        this.hold = hold;
        this.callbacks = callbacks;
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public Optional<Heir> of(String executorId) {
        return agent.known(executorId).flatMap(member -> heirOf(member, agent::known));
    }

    @Override
    public CompletableFuture<Optional<Heir>> await(String executorId, String tried) {
        Search search = new Search(executorId, tried);
        return searches.computeIfAbsent(search, this::start);
    }

    private CompletableFuture<Optional<Heir>> start(Search search) {
        CompletableFuture<Optional<Heir>> found = new CompletableFuture<>();
        long deadline = System.nanoTime() + hold.toNanos();
        try {
            thread.execute(() -> look(search, deadline, found));
        } catch (RejectedExecutionException closed) {
            found.complete(Optional.empty());
        }
        return found;
    }

    private void look(Search search, long deadline, CompletableFuture<Optional<Heir>> found) {
        try {
            agent.recheck(search.executorId());
            Optional<Member> member = agent.lookup(search.executorId());
            Optional<Heir> heir = member.flatMap(ended -> heirOf(ended, agent::lookup))
                    .filter(other -> !other.executorId().equals(search.tried()));
            boolean mayCome = member.filter(ended -> ended.address(Member.OUTLIVES) != null)
                    .isPresent();
            if (heir.isPresent() || !mayCome || System.nanoTime() - deadline >= 0) {
                end(search, found, heir);
            } else {
                var unused = thread.schedule(() -> look(search, deadline, found), POLL_MILLIS, TimeUnit.MILLISECONDS);
            }
        } catch (RuntimeException | Error e) {
            LOG.debug("Cannot find the heir of executor {}", search.executorId(), e);
            end(search, found, Optional.empty());
        }
    }

    private void end(Search search, CompletableFuture<Optional<Heir>> found, Optional<Heir> heir) {
        searches.remove(search);
        callbacks.execute(() -> found.complete(heir));
    }

    private static Optional<Heir> heirOf(Member ended, Function<String, Optional<Member>> find) {
        return ended.heir().flatMap(find).flatMap(heir -> {
            try {
                PeerAddress address = PeerAddress.of(heir);
                return Optional.of(new Heir(heir.executorId(), address.host(), address.port()));
            } catch (IllegalArgumentException e) {
                LOG.debug("{} cannot be asked for blocks", heir, e);
                return Optional.empty();
            }
        });
    }

    @Override
    public void close() {
        thread.shutdownNow();
        searches.values().forEach(search -> search.complete(Optional.empty()));
    }
}
