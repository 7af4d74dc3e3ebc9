// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import io.rdmashuffle.registry.DriverChannel;
import io.rdmashuffle.registry.MemberChannel;
import io.rdmashuffle.registry.RegistryUnavailableException;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.spark.RdmaShuffleManager;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;

/**
 * Our shuffle, with a registry of whose messages some get lost, come twice, or come late. Spark loads it in driver and
 * executors.
 */
public final class LossyRegistryManager extends RdmaShuffleManager {
    /** Seed of the first process; others follow from it and their own name. */
    static final String SEED = "spark.test.registry.seed";

    /** Called by Spark. */
    public LossyRegistryManager(SparkConf conf, boolean isDriver) {
        super(
                conf,
                isDriver,
                new LossyWire(conf.getLong(SEED, 1) * 31
                        + conf.get("spark.executor.id", "").hashCode()));
    }

    /** Of ten messages, three are lost, two come twice and two come late. */
    private static final class LossyWire implements RegistryWire {
        private static final int LATEST_MILLIS = 1_500;

        private final Random random;

        LossyWire(long seed) {
            this.random = new Random(seed);
        }

        /** {@inheritDoc} Either the query or the answer may be lost. */
        @Override
        public DriverChannel toDriver(DriverChannel channel) {
            return (request, timeout) -> {
                int fate = random.nextInt(10);
                if (fate < 2) {
                    throw new RegistryUnavailableException("the question was lost", new IllegalStateException("test"));
                }
                if (fate < 4) {
                    channel.ask(request, timeout);
                }
                if (fate == 4) {
                    channel.ask(request, timeout);
                    throw new RegistryUnavailableException("the answer was lost", new IllegalStateException("test"));
                }
                return channel.ask(request, timeout);
            };
        }

        @Override
        public MemberChannel toMember(MemberChannel channel) {
            return message -> {
                int fate = random.nextInt(10);
                if (fate < 3) {
                    return;
                }
                if (fate < 5) {
                    channel.send(message);
                }
                if (fate < 7) {
                    Executor late =
                            CompletableFuture.delayedExecutor(random.nextInt(LATEST_MILLIS), TimeUnit.MILLISECONDS);
                    late.execute(() -> channel.send(message));
                } else {
                    channel.send(message);
                }
            };
        }
    }
}
