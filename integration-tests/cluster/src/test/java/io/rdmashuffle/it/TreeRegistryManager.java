// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import io.rdmashuffle.registry.DriverChannel;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.PeerChannel;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryUnavailableException;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.spark.RdmaShuffleManager;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.SparkConf;

/**
 * Our shuffle, to which two executors are a large cluster, and which counts what an executor sends to others. Spark
 * loads it in driver and executors.
 */
public final class TreeRegistryManager extends RdmaShuffleManager {
    private static final ConcurrentMap<String, Integer> COUNTS = new ConcurrentHashMap<>();

    /** Called by Spark. */
    public TreeRegistryManager(SparkConf conf, boolean isDriver) {
        super(conf, isDriver, new TreeWire());
    }

    /** Returns how often this process did what, by name. */
    static Map<String, Integer> counts() {
        return new TreeMap<>(COUNTS);
    }

    private static void count(String what) {
        COUNTS.merge(what, 1, Integer::sum);
    }

    private static final class TreeWire implements RegistryWire {
        @Override
        public int directMembers() {
            return 1;
        }

        @Override
        public DriverChannel toDriver(DriverChannel channel) {
            return (request, timeout) -> {
                count("asked the driver: " + request.getClass().getSimpleName());
                return channel.ask(request, timeout);
            };
        }

        @Override
        public PeerChannel toPeers(PeerChannel channel) {
            return new PeerChannel() {
                @Override
                public CompletableFuture<Void> push(Member to, RegistryMessage message) {
                    return channel.push(to, message)
                            .whenComplete((done, failure) -> count(failure == null ? "pushed" : "push failed"));
                }

                @Override
                public RegistryMessage pull(Member from, long atLeast, Duration timeout)
                        throws RegistryUnavailableException {
                    try {
                        RegistryMessage answer = channel.pull(from, atLeast, timeout);
                        count(answer instanceof Snapshot ? "pulled" : "peer was behind");
                        return answer;
                    } catch (RegistryUnavailableException e) {
                        count("pull failed");
                        throw e;
                    }
                }
            };
        }
    }
}
