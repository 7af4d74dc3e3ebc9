// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.StatisticsReply;
import io.rdmashuffle.registry.RegistryMessage.StatisticsRequest;
import io.rdmashuffle.registry.RegistryServer;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.concurrent.Future;

/**
 * The registry's place on the driver: an RPC endpoint that executors announce themselves to, and a listener for those
 * that Spark loses.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns endpoint and listener; {@link #close()} takes both away.
 */
final class DriverEndpoint implements AutoCloseable {
    static final String ENDPOINT = "rdma-shuffle-registry";

    private static final Logger LOG = LoggerFactory.getLogger(DriverEndpoint.class);

    private final SparkContext context;
    private final RpcEnv rpcEnv;
    private final RegistryCodec codec = new RegistryCodec();
    private final RegistryServer registry;
    private final Map<String, RpcEndpointRef> endpoints = new ConcurrentHashMap<>();
    private final RegistryWire wire;
    private final RpcEndpointRef self;
    private final RemovalListener removals = new RemovalListener();

    DriverEndpoint(SparkContext context, RpcEnv rpcEnv, RegistryWire wire) {
        this.wire = wire;
        this.context = context;
        this.rpcEnv = rpcEnv;
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) context.env().mapOutputTracker();
        this.registry = new RegistryServer(tracker::containsShuffle);
        this.self = rpcEnv.setupEndpoint(ENDPOINT, new RegistryEndpoint(rpcEnv, codec, this::handle));
        context.addSparkListener(removals);
    }

    long messagesReceived() {
        return registry.messagesReceived();
    }

    /** Asks all members at once for their counters and waits for those that answer in time. */
    Map<String, Map<ShuffleCounter, Long>> collectStatistics(Duration timeout) {
        Map<String, Future<RegistryEnvelope>> answers = new LinkedHashMap<>();
        for (Member member : registry.members()) {
            RpcEndpointRef endpoint = endpoints.get(member.executorId());
            if (endpoint != null) {
                answers.put(
                        member.executorId(),
                        RegistryAsk.start(endpoint, codec, new StatisticsRequest(), null, timeout));
            }
        }
        Map<String, Map<ShuffleCounter, Long>> counters = new HashMap<>();
        answers.forEach((executorId, answer) -> {
            try {
                if (RegistryAsk.await(answer, codec, timeout) instanceof StatisticsReply reply) {
                    counters.put(executorId, byCounter(reply.counters()));
                }
            } catch (Exception e) {
                // Scala throws RpcTimeoutException and SparkException without declaring them.
                LOG.info("No statistics of executor {} within {}", executorId, Quantities.duration(timeout), e);
            }
        });
        return counters;
    }

    private static Map<ShuffleCounter, Long> byCounter(Map<String, Long> named) {
        return named.entrySet().stream()
                .collect(Collectors.toMap(entry -> ShuffleCounter.valueOf(entry.getKey()), Map.Entry::getValue));
    }

    @Override
    public void close() {
        context.removeSparkListener(removals);
        rpcEnv.stop(self);
    }

    private @Nullable RegistryMessage handle(RegistryMessage message, @Nullable RpcEndpointRef replyTo) {
        if (message instanceof Announce announce && replyTo != null) {
            endpoints.put(announce.member().executorId(), replyTo);
        }
        return registry.handle(message, wire.toMember(update -> {
            if (replyTo != null) {
                replyTo.send(new RegistryEnvelope(codec.encode(update), null));
            }
        }));
    }

    private final class RemovalListener extends SparkListener {
        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
            endpoints.remove(event.executorId());
            registry.memberRemoved(event.executorId());
        }
    }
}
