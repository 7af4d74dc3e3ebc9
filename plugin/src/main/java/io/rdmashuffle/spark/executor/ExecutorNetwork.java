// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.peer.InheritedPools;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.registry.DriverChannel;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.PathGroup;
import io.rdmashuffle.registry.Receipt;
import io.rdmashuffle.registry.RegistryAgent;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Inherit;
import io.rdmashuffle.registry.RegistryMessage.Inherited;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.MoveToDisk;
import io.rdmashuffle.registry.RegistryMessage.Refused;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryUnavailableException;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.shuffle.read.KillWatch;
import io.rdmashuffle.shuffle.read.ReadServices;
import io.rdmashuffle.shuffle.read.TransferClient;
import io.rdmashuffle.spark.compat.SparkLine;
import io.rdmashuffle.spark.rpc.PeerAddress;
import io.rdmashuffle.spark.rpc.PeerMessages;
import io.rdmashuffle.spark.rpc.PeerTransfer;
import io.rdmashuffle.spark.rpc.RegistryAsk;
import io.rdmashuffle.spark.rpc.RegistryEndpoint;
import io.rdmashuffle.spark.support.KeptOutputs;
import io.rdmashuffle.store.ShuffleCounters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.util.RpcUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Connection of one executor to the others: announces its memory to the driver, learns of theirs, reads from them.
 *
 * <p><b>Threading:</b> its parts are thread-safe.
 *
 * <p><b>Ownership:</b> owns its parts; must be closed before the {@link ExecutorMemory} that it announced.
 */
final class ExecutorNetwork implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorNetwork.class);
    private static final String ENDPOINT = "rdma-shuffle-member";

    private final RpcEnv rpcEnv;
    private final RegistryCodec codec = new RegistryCodec();
    private final Supplier<Report> report;
    private final RpcEndpointRef self;
    private final PeerTransfer transfer;
    private final PeerMessages messages;
    private final RegistryAgent agent;
    private final PeerPaths paths;
    private final InheritedPools inherited;
    /** Null if map outputs do not outlive their executors. */
    private final @Nullable MemberHeirs heirs;

    /** Null without an external shuffle service. */
    private final @Nullable OutputMover mover;

    private final TransferClient client;
    private final PeerLookups lookups;
    private final KillWatch kills = new KillWatch();
    private final ReadServices readServices;
    private final Member member;
    /** Decisions of the driver on shuffles that were registered before it knew any executor. */
    private final Map<Integer, Boolean> compressed = new ConcurrentHashMap<>();

    /**
     * Prepares to join. A driver that does not answer is no failure: later lookups try again, and Spark's block
     * transfer serves until then.
     *
     * @param spark the calls that differ between versions of Spark
     * @param report this executor's, when the driver asks for it
     * @param wire carries questions to the driver
     */
    ExecutorNetwork(
            SparkLine spark,
            SparkEnv env,
            ShuffleConfig config,
            ExecutorMemory memory,
            ShuffleCounters counters,
            Supplier<Report> report,
            RegistryWire wire) {
        this.rpcEnv = env.rpcEnv();
        this.report = report;
        BlockTransferService blocks = env.blockManager().blockTransferService();
        this.transfer = new PeerTransfer(blocks, codec);
        this.agent = new RegistryAgent(
                env.executorId(),
                wire.toDriver(driver(env)),
                wire.toPeers(transfer),
                config.get(ShuffleConfig.REGISTRY_TIMEOUT),
                wire.directMembers(),
                System::nanoTime);
        this.messages = new PeerMessages(agent, codec, transfer.threads());
        ReceiveLeases leases =
                new ReceiveLeases(memory.pool().memory(), config.get(ShuffleConfig.POOL_RESERVE_TIMEOUT));
        this.paths = new PeerPaths(
                memory.fabrics(),
                new BlockingReads(leases, config.get(ShuffleConfig.FABRIC_READ_TIMEOUT)),
                agent,
                config.get(ShuffleConfig.PEER_QUARANTINE));
        agent.addListener(paths);
        this.inherited = new InheritedPools(
                env.executorId(),
                memory.fabrics(),
                new BlockingReads(leases, config.get(ShuffleConfig.FABRIC_READ_TIMEOUT)));
        agent.addListener(inherited);
        this.lookups = new PeerLookups(config.get(ShuffleConfig.FETCH_TIMEOUT));
        SparkSettings settings = new SparkSettings(key -> env.conf().get(key, null));
        boolean isServed = settings.isServed();
        boolean haveHeirs = KeptOutputs.areKept(env.conf(), config) && !isServed;
        this.mover = isServed
                ? new OutputMover(
                        env.blockManager().blockStoreClient(),
                        env.blockManager().shuffleServerId(),
                        config.get(ShuffleConfig.REGISTRY_TIMEOUT),
                        config.get(ShuffleConfig.DISK_MIN_FREE))
                : null;
        this.heirs =
                haveHeirs ? new MemberHeirs(agent, config.get(ShuffleConfig.OUTLIVE_HOLD), lookups.executor()) : null;
        this.client = new TransferClient(
                env.blockManager().blockStoreClient(),
                counters,
                config.get(ShuffleConfig.FETCH_TIMEOUT),
                heirs == null ? TransferClient.Heirs.NONE : heirs);
        // Spark would look for peers' files on this host's disks, past their pools.
        env.blockManager().hostLocalDirManager_$eq(Option.empty());
        this.readServices = new ReadServices(spark, env, config, client, memory.store(), paths, lookups, leases, kills);
        Map<String, byte[]> addresses = new HashMap<>(memory.addresses());
        addresses.put(PeerAddress.NAME, new PeerAddress(blocks.hostName(), blocks.port()).encode());
        this.member = new Member(env.executorId(), memory.incarnation(), addresses);
        this.self = rpcEnv.setupEndpoint(ENDPOINT, new RegistryEndpoint(rpcEnv, codec, new Messages()));
    }

    /** Announces this executor to the driver; not used in local mode, which has no peers. */
    void announce() {
        agent.announce(member);
        messages.repairSoon();
    }

    /** Sends the driver a report of this executor, and returns its answer. */
    Receipt report(Report report, Duration timeout, boolean matters) {
        return agent.report(report, timeout, matters);
    }

    /** Returns the number of executors by path. */
    List<PathGroup> pathGroups() {
        return paths.executorsByFabric().entrySet().stream()
                .map(entry -> PathGroup.of(entry.getKey(), entry.getValue()))
                .toList();
    }

    /** Returns some of the executors to which a path failed that is not used for a while. */
    List<String> someQuarantined() {
        return paths.quarantined().stream().limit(PathGroup.MAX_NAMED).toList();
    }

    /** Returns the number of other known executors. */
    int peers() {
        return agent.peers().size();
    }

    /** Returns whether a pool that may outlive its process is that of another member, as far as this executor knows. */
    boolean mayBeMember(Path pool) {
        return agent.completeVersion() == 0
                || agent.isStale()
                || agent.peers().stream()
                        .flatMap(peer -> ExecutorMemory.directoryOf(peer).stream())
                        .anyMatch(pool::equals);
    }

    /** Returns the reserved blocks for other executors. */
    PeerMessages messages() {
        return messages;
    }

    /** Returns the pools of ended executors that this one serves. */
    InheritedPools inherited() {
        return inherited;
    }

    ReadServices readServices() {
        return readServices;
    }

    /** Announces again if the driver has not taken it yet; cheap when it has. */
    void ensureAnnounced() {
        agent.ensureAnnounced();
        messages.repairSoon();
    }

    /** Queries the driver which of these shuffles have been removed; none if it does not answer. */
    Set<Integer> removedShuffles(Set<Integer> held) {
        Set<Integer> removed = agent.removedShuffles(held);
        // The peers that it asked may have missed the same change.
        messages.repairSoon();
        return removed;
    }

    /** Asks the driver, once, whether a shuffle is compressed; not if it does not answer. */
    boolean isCompressed(int shuffleId) {
        Boolean known = compressed.get(shuffleId);
        if (known != null) {
            return known;
        }
        Optional<Boolean> answer = agent.isCompressed(shuffleId);
        answer.ifPresent(said -> compressed.put(shuffleId, said));
        return answer.orElse(false);
    }

    void forgetShuffle(int shuffleId) {
        compressed.remove(shuffleId);
        paths.forgetShuffle(shuffleId);
        inherited.forgetShuffle(shuffleId);
    }

    PeerPaths paths() {
        return paths;
    }

    @Override
    public void close() {
        agent.close();
        messages.close();
        transfer.close();
        if (heirs != null) {
            heirs.close();
        }
        if (mover != null) {
            mover.close();
        }
        client.close();
        kills.close();
        lookups.close();
        inherited.close();
        paths.close();
        rpcEnv.stop(self);
    }

    private DriverChannel driver(SparkEnv env) {
        return new DriverChannel() {
            private volatile @Nullable RpcEndpointRef driver;

            @Override
            public RegistryMessage ask(RegistryMessage request, Duration timeout) throws RegistryUnavailableException {
                try {
                    RpcEndpointRef known = driver;
                    if (known == null) {
                        known = RpcUtils.makeDriverRef(RegistryEndpoint.DRIVER, env.conf(), rpcEnv);
                        driver = known;
                    }
                    return RegistryAsk.await(
                            RegistryAsk.start(known, codec.encode(request), self, timeout), codec, timeout);
                } catch (Exception e) {
                    // Scala throws RpcTimeoutException, SparkException and InterruptedException without declaring them.
                    if (isInterruption(e)) {
                        Thread.currentThread().interrupt();
                    }
                    throw new RegistryUnavailableException("the driver's registry does not answer", e);
                }
            }
        };
    }

    private RegistryMessage inherit(Member ended) {
        try {
            Member served = inherited.inherit(ended);
            // A new executor may be asked before it has the answer to its announcement.
            if (agent.lookup(ended.executorId()).isEmpty()) {
                // The driver has dropped it meanwhile, which no later message repeats.
                inherited.changed(ended, null);
                return new Refused("executor " + ended.executorId() + " is no member any more");
            }
            return new Inherited(served);
        } catch (PeerUnreachableException e) {
            LOG.info("Cannot serve the map outputs of executor {}, which has ended", ended.executorId(), e);
            return new Refused(String.valueOf(e.getMessage()));
        }
    }

    private static boolean isInterruption(Throwable e) {
        return e instanceof InterruptedException || e.getCause() instanceof InterruptedException;
    }

    private final class Messages implements RegistryEndpoint.Handler {
        @Override
        public @Nullable RegistryMessage handle(RegistryMessage message, @Nullable RpcEndpointRef replyTo) {
            if (message instanceof MembershipUpdate update) {
                agent.onMessage(update);
                messages.repairSoon();
            } else if (message instanceof Relay relay) {
                messages.take(relay);
                return new Taken();
            } else if (message instanceof ReportRequest) {
                return report.get();
            } else if (message instanceof Inherit inherit) {
                return inherit(inherit.ended());
            }
            return null;
        }

        @Override
        public @Nullable CompletableFuture<RegistryMessage> begin(RegistryMessage question) {
            return mover != null && question instanceof MoveToDisk move ? mover.move(move) : null;
        }
    }
}
