// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.MemberChannel;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.Inherit;
import io.rdmashuffle.registry.RegistryMessage.Inherited;
import io.rdmashuffle.registry.RegistryMessage.LeaveFiles;
import io.rdmashuffle.registry.RegistryMessage.MoveToDisk;
import io.rdmashuffle.registry.RegistryMessage.Refused;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.shuffle.NetworkCompression;
import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.compat.ScalaFutures;
import io.rdmashuffle.spark.metrics.CounterValues;
import io.rdmashuffle.spark.rpc.RegistryAsk;
import io.rdmashuffle.spark.rpc.RegistryEndpoint;
import io.rdmashuffle.spark.rpc.RegistryEnvelope;
import io.rdmashuffle.spark.support.KeptOutputs;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.FetchFailed;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.scheduler.ExecutorDecommissionState;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;
import scala.concurrent.Future;

/**
 * The registry's place on the driver: an RPC endpoint that executors announce themselves to, and a listener for those
 * that Spark loses.
 *
 * <p><b>Threading:</b> thread-safe. What members must know of changes is encoded and sent by one daemon thread, never
 * by Spark's.
 *
 * <p><b>Ownership:</b> owns endpoint, listener and thread; {@link #close()} takes all away.
 */
public final class DriverEndpoint implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DriverEndpoint.class);
    private static final Duration ORPHAN_CHECK = Duration.ofSeconds(1);

    private final SparkContext context;
    private final RpcEnv rpcEnv;
    private final RegistryCodec codec = new RegistryCodec();
    private final RegistryServer registry;
    private final Map<String, RpcEndpointRef> endpoints = new ConcurrentHashMap<>();
    private final RegistryWire wire;
    private final Consumer<Report> reports;
    /** Encodes updates and sends them. */
    private final ScheduledExecutorService flusher =
            Executors.newSingleThreadScheduledExecutor(new DaemonThreads("registry"));

    private final MapOutputTrackerMaster tracker;
    private final TransferCompression compression;
    /** Null if Spark itself drops the map outputs of lost executors. */
    private final @Nullable Orphans orphans;

    /** Whether an external shuffle service serves the outputs of executors that have ended. */
    private final boolean served;

    /** Whether outputs of decommissioned executors are moved although others of their host could serve them. */
    private final boolean mustMigrate;

    private final RpcEndpointRef self;
    private final SchedulerListener events = new SchedulerListener();

    /**
     * Starts.
     *
     * @param reports takes what executors report
     */
    public DriverEndpoint(
            SparkContext context, RpcEnv rpcEnv, ShuffleConfig config, RegistryWire wire, Consumer<Report> reports) {
        this.wire = wire;
        this.reports = reports;
        this.context = context;
        this.rpcEnv = rpcEnv;
        this.tracker = (MapOutputTrackerMaster) context.env().mapOutputTracker();
        this.registry =
                new RegistryServer(tracker::containsShuffle, this::flushSoon, wire.directMembers(), System::nanoTime);
        SparkSettings settings = new SparkSettings(key -> context.conf().get(key, null));
        this.served = settings.isServed();
        this.mustMigrate = settings.mayEndAllOfAHost();
        this.orphans = KeptOutputs.areKept(context.conf(), config)
                ? new Orphans(
                        served ? Orphans.Readers.SERVICE : Orphans.Readers.SHARED_MEMORY,
                        config.get(ShuffleConfig.OUTLIVE_MAX_BYTES),
                        config.get(ShuffleConfig.POOL_MAX_SIZE),
                        registry,
                        new SparkRecords(),
                        new Members(config.get(ShuffleConfig.OUTLIVE_HOLD)))
                : null;
        this.compression = new TransferCompression(registry::members, this::executorHosts, this::coresOf);
        this.self = rpcEnv.setupEndpoint(RegistryEndpoint.DRIVER, new RegistryEndpoint(rpcEnv, codec, this::handle));
        // Not on the users' listener queue: a slow listener delays events, and a full queue drops them.
        context.listenerBus().addToManagementQueue(events);
    }

    /** Spark's own record of map outputs and executors. */
    private final class SparkRecords implements Orphans.SparkState {
        @Override
        public void removeAll(String executorId) {
            tracker.removeOutputsOnExecutor(executorId);
        }

        @Override
        public boolean has(String executorId) {
            return ScalaCollections.list(tracker.shuffleStatuses().valuesIterator()).stream()
                    .anyMatch(shuffle -> shuffle.<Boolean>withMapStatuses(statuses -> Arrays.stream(statuses)
                            .anyMatch(status -> status != null
                                    && status.location().executorId().equals(executorId))));
        }

        @Override
        public Set<Integer> shufflesOf(String executorId) {
            Set<Integer> shuffleIds = new HashSet<>();
            for (Tuple2<Object, ShuffleStatus> shuffle :
                    ScalaCollections.list(tracker.shuffleStatuses().iterator())) {
                boolean mayHave = shuffle._2()
                        .<Boolean>withMapStatuses(statuses -> Arrays.stream(statuses)
                                .anyMatch(status -> status == null
                                        || status.location().executorId().equals(executorId)));
                if (mayHave) {
                    shuffleIds.add((Integer) shuffle._1());
                }
            }
            return shuffleIds;
        }

        @Override
        public boolean isDecommissioned(String executorId) {
            return context.taskScheduler()
                    .getExecutorDecommissionState(executorId)
                    .isDefined();
        }

        @Override
        public boolean isHostDecommissioned(String executorId) {
            Option<ExecutorDecommissionState> state = context.taskScheduler().getExecutorDecommissionState(executorId);
            return state.isDefined() && state.get().workerHost().isDefined();
        }
    }

    /** Executors that are asked over Spark's RPC. */
    private final class Members implements Orphans.Heirs {
        /** Executors that can be asked one after another although none answers. */
        private static final int CANDIDATES = 3;
        /** Writes 16 GB to a slow disk. */
        private static final Duration MOVE_TIMEOUT = Duration.ofMinutes(5);

        private static final Duration MOVE_PAUSE = Duration.ofSeconds(10);

        private final Duration hold;

        Members(Duration hold) {
            this.hold = hold;
        }

        @Override
        public void ask(String executorId, Member ended, Consumer<Optional<Member>> answer) {
            var unused = ask(executorId, new Inherit(ended), hold.dividedBy(CANDIDATES))
                    .whenComplete((message, failure) ->
                            soon(() -> answer.accept(heirOf(executorId, message, failure)), Duration.ZERO));
        }

        @Override
        public void moveToDisk(String executorId, String ended, Set<Integer> shuffleIds, Consumer<Boolean> answer) {
            var unused = ask(executorId, new MoveToDisk(ended, shuffleIds), MOVE_TIMEOUT)
                    .whenComplete((message, failure) -> {
                        LOG.debug("Executor {} was asked to move outputs to disk: {}", executorId, message, failure);
                        soon(() -> answer.accept(message instanceof Taken), Duration.ZERO);
                    });
        }

        private CompletableFuture<RegistryMessage> ask(String executorId, RegistryMessage question, Duration timeout) {
            RpcEndpointRef endpoint = endpoints.get(executorId);
            CompletableFuture<byte[]> reply = endpoint == null
                    ? CompletableFuture.failedFuture(new IllegalStateException("executor " + executorId + " is gone"))
                    : ScalaFutures.toJava(RegistryAsk.start(endpoint, codec.encode(question), null, timeout));
            return reply.thenApply(codec::decode);
        }

        private Optional<Member> heirOf(
                String executorId, @Nullable RegistryMessage message, @Nullable Throwable failure) {
            if (message instanceof Inherited inherited) {
                return Optional.of(inherited.ended());
            }
            String reason = message instanceof Refused refusal ? refusal.reason() : String.valueOf(failure);
            LOG.info("Executor {} cannot serve the map outputs of one that has ended: {}", executorId, reason);
            return Optional.empty();
        }

        @Override
        public void afterHold(Runnable action) {
            soon(action, hold);
        }

        @Override
        public void afterPause(Runnable action) {
            soon(action, MOVE_PAUSE);
        }
    }

    long messagesReceived() {
        return registry.messagesReceived();
    }

    /** Requests counters from all members concurrently; returns answers that arrive in time. */
    public ClusterStatistics collectStatistics(Duration timeout) {
        Map<String, Map<ShuffleCounter, Long>> counters = new HashMap<>();
        Set<String> silent = askForReports(
                timeout,
                report -> counters.put(
                        report.executorId(),
                        CounterValues.ofNames(report.counters()).byCounter()));
        if (!silent.isEmpty()) {
            LOG.info("No statistics of executors {} within {}", silent, Quantities.duration(timeout));
        }
        return new ClusterStatistics(counters, silent, messagesReceived());
    }

    /** Requests reports from all members concurrently, and forwards reports that arrive in time. */
    public void collectReports(Duration timeout) {
        Set<String> unused = askForReports(timeout, this::take);
    }

    private void take(Report report) {
        CounterValues counters = CounterValues.ofNames(report.counters());
        compression.reported(report.executorId(), counters);
        if (orphans != null) {
            orphans.reported(
                    report.executorId(),
                    counters.get(ShuffleCounter.POOL_CAPACITY_BYTES),
                    !served && hasOtherFiles(report, counters));
        }
        reports.accept(report);
    }

    /**
     * Returns whether files of an executor are lost when it ends, without an external shuffle service: Spark's, which
     * only the executor serves, and those of the disk tier, if Spark removes its directories in order.
     */
    private static boolean hasOtherFiles(Report report, CounterValues counters) {
        return counters.get(ShuffleCounter.MAP_OUTPUTS_FILED) > 0
                || (report.occasion() != Occasion.USUAL && counters.get(ShuffleCounter.DISK_USED_BYTES) > 0);
    }

    private @Nullable RegistryMessage answer(Orphans held, Report report) {
        return switch (report.occasion()) {
            case USUAL -> new Taken();
            case DECOMMISSIONED ->
                !mustMigrate && held.mayLeaveFiles(report.executorId()) ? new LeaveFiles() : new Taken();
            case STOPPED -> farewell(held, report.executorId());
        };
    }

    /** Answers an executor that has stopped: whether its files stay, or else whose files do if it may have to look. */
    private @Nullable RegistryMessage farewell(Orphans held, String executorId) {
        if (context.isStopped()) {
            // The event of it may come later.
            held.end();
        }
        if (held.leavesFiles(executorId)) {
            return new LeaveFiles();
        }
        return held.hasDroppedOnHostOf(executorId)
                ? registry.handle(new SnapshotRequest(), new RpcMember(null))
                : new Taken();
    }

    /** Returns the executors whose reports did not come in time. */
    private Set<String> askForReports(Duration timeout, Consumer<Report> taker) {
        long deadline = System.nanoTime() + timeout.toNanos();
        byte[] question = codec.encode(new ReportRequest());
        Map<String, Future<byte[]>> answers = new LinkedHashMap<>();
        for (Member member : registry.members()) {
            RpcEndpointRef endpoint = endpoints.get(member.executorId());
            if (endpoint != null) {
                answers.put(member.executorId(), RegistryAsk.start(endpoint, question, null, timeout));
            }
        }
        Set<String> silent = new HashSet<>(answers.keySet());
        answers.forEach((executorId, answer) -> {
            Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
            try {
                if (RegistryAsk.await(answer, codec, left) instanceof Report report) {
                    taker.accept(report);
                    silent.remove(executorId);
                }
            } catch (Exception e) {
                // Scala throws RpcTimeoutException and SparkException without declaring them.
                LOG.debug("No report of executor {}: it has stopped, or does not answer", executorId, e);
            }
        });
        return silent;
    }

    @Override
    public void close() {
        context.removeSparkListener(events);
        rpcEnv.stop(self);
        flusher.shutdownNow();
    }

    private void flushSoon() {
        soon(this::flushOrLog, RegistryServer.FLUSH_DELAY);
    }

    private void soon(Runnable work, Duration delay) {
        try {
            var unused = flusher.schedule(work, delay.toMillis(), TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("The application ends; a change of its members is not sent", e);
        }
    }

    private void flushOrLog() {
        try {
            registry.flush();
        } catch (RuntimeException | Error e) {
            LOG.warn("Cannot send a membership change; executors learn of it at their next sweep", e);
            // Pending changes would never be flushed, because only a first change schedules a flush.
            flushSoon();
        }
    }

    /** Returns whether a new shuffle is compressed for the network, or that its writers have to ask. */
    public NetworkCompression compressionOf(int shuffleId) {
        return compression.atRegistration(shuffleId);
    }

    /** Drops the decision for a removed shuffle. */
    public void forgetShuffle(int shuffleId) {
        compression.forget(shuffleId);
        Orphans held = orphans;
        if (held != null && !held.isEmpty()) {
            // Spark forgets the shuffle a little later.
            soon(held::shuffleRemoved, ORPHAN_CHECK);
        }
    }

    /** Asks Spark, whose answer comes from a thread of its own, for all executors that it knows, announced or not. */
    private Map<String, String> executorHosts() {
        Map<String, String> hosts = new HashMap<>();
        try {
            for (BlockManagerId id : ScalaCollections.list(
                    context.env().blockManager().master().getMemoryStatus().keysIterator())) {
                if (!id.isDriver()) {
                    hosts.put(id.executorId(), id.host());
                }
            }
        } catch (Exception e) {
            // Scala throws RpcTimeoutException and SparkException without declaring them.
            LOG.debug("Spark's executors are not known now", e);
        }
        return hosts;
    }

    /** Returns the cores of an executor; 0 if Spark does not know it, or not any more. */
    private int coresOf(String executorId) {
        try {
            return context.statusStore().executorSummary(executorId).totalCores();
        } catch (RuntimeException e) {
            // NoSuchElementException while Spark has not processed the event of its start.
            LOG.debug("The cores of executor {} are not known now", executorId, e);
            return 0;
        }
    }

    private @Nullable RegistryMessage handle(RegistryMessage message, @Nullable RpcEndpointRef replyTo) {
        if (message instanceof Report report) {
            take(report);
            return orphans == null ? new Taken() : answer(orphans, report);
        }
        if (message instanceof CompressionRequest request) {
            // Of one that has been removed nothing is kept, whatever its stragglers write.
            return new CompressionReply(
                    tracker.containsShuffle(request.shuffleId()) && compression.decide(request.shuffleId()));
        }
        if (message instanceof Announce announce && replyTo != null) {
            String executorId = announce.member().executorId();
            endpoints.put(executorId, replyTo);
            RegistryMessage answer = registry.handle(message, wire.toMember(new RpcMember(replyTo)));
            if (answer instanceof AnnounceRefused) {
                // Spark has removed it, and will not say so again.
                endpoints.remove(executorId, replyTo);
            } else if (orphans != null) {
                orphans.joined();
            }
            return answer;
        }
        return registry.handle(message, wire.toMember(new RpcMember(replyTo)));
    }

    /** Pushes to an executor over Spark's RPC, along the connection that the executor opened. */
    private record RpcMember(@Nullable RpcEndpointRef endpoint) implements MemberChannel {
        /** An executor that does not take a message by then is passed over. */
        private static final Duration DELIVERY_TIMEOUT = Duration.ofSeconds(5);

        @Override
        public void send(byte[] message) {
            if (endpoint != null) {
                endpoint.send(new RegistryEnvelope(message, null).toWire());
            }
        }

        @Override
        public CompletableFuture<Void> deliver(byte[] message) {
            if (endpoint == null) {
                return CompletableFuture.failedFuture(new IllegalStateException("no way back to the executor"));
            }
            return ScalaFutures.toJava(RegistryAsk.start(endpoint, message, null, DELIVERY_TIMEOUT))
                    .thenAccept(answer -> {});
        }
    }

    private final class SchedulerListener extends SparkListener {
        @Override
        public void onTaskEnd(SparkListenerTaskEnd event) {
            // A task that failed before it ran has none.
            TaskMetrics metrics = event.taskMetrics();
            if (metrics != null && metrics.shuffleReadMetrics().remoteBlocksFetched() > 0) {
                ShuffleReadMetrics read = metrics.shuffleReadMetrics();
                compression.taskEnded(
                        read.fetchWaitTime(), metrics.executorRunTime(), read.remoteBytesRead(), read.totalBytesRead());
            }
            if (orphans != null && event.reason() instanceof FetchFailed failed && failed.bmAddress() != null) {
                orphans.fetchFailed(failed.bmAddress().executorId());
            }
        }

        @Override
        public void onApplicationEnd(SparkListenerApplicationEnd event) {
            if (orphans != null) {
                orphans.end();
                // Executors, which end in a moment, remove files of pools that are not a member's any more.
                soon(DriverEndpoint.this::flushOrLog, Duration.ZERO);
            }
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            endpoints.remove(event.executorId());
            compression.executorRemoved(event.executorId());
            if (orphans == null) {
                registry.memberRemoved(event.executorId());
            } else {
                Orphans held = orphans;
                held.executorRemoved(event.executorId());
                soon(() -> held.dropStragglers(event.executorId()), ORPHAN_CHECK);
            }
        }
    }
}
