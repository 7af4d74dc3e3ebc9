// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryWire;
import io.rdmashuffle.spark.ShuffleSettings;
import io.rdmashuffle.spark.StandingListener;
import io.rdmashuffle.spark.rpc.RegistryAsk;
import io.rdmashuffle.spark.rpc.RegistryEndpoint;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.cluster.ExecutorInfo;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.collection.immutable.Map$;

/** The driver's side of the registry in an application without executors. */
@Tag("unit")
@Timeout(120)
class DriverEndpointTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final RegistryCodec codec = new RegistryCodec();

    private RegistryMessage ask(RpcEndpointRef driver, RegistryMessage question) {
        return RegistryAsk.await(RegistryAsk.start(driver, codec.encode(question), null, TIMEOUT), codec, TIMEOUT);
    }

    @Test
    void aSlowListenerKeepsNoExecutorAMember() throws Exception {
        SparkContext context = StandingListener.driver();
        RpcEnv rpcEnv = SparkEnv.get().rpcEnv();
        ShuffleConfig config = ShuffleSettings.read(new SparkConf(false));
        try (DriverEndpoint endpoint = new DriverEndpoint(context, rpcEnv, config, RegistryWire.PLAIN, report -> {});
                StandingListener standing = new StandingListener()) {
            context.addSparkListener(standing);
            RpcEndpointRef driver = rpcEnv.setupEndpointRef(rpcEnv.address(), RegistryEndpoint.DRIVER);
            Member member = new Member("9", new UUID(1, 2), Map.of());
            ask(driver, new Announce(member));
            ExecutorInfo info = new ExecutorInfo("localhost", 1, Map$.MODULE$.empty());
            context.listenerBus().post(new SparkListenerExecutorAdded(0, "9", info));
            standing.awaitStanding();
            assertThat(((LookupReply) ask(driver, new Lookup("9"))).member()).isEqualTo(member);
            context.listenerBus().post(new SparkListenerExecutorRemoved(0, "9", "lost"));
            eventually().until(() -> ((LookupReply) ask(driver, new Lookup("9"))).member() == null);
            assertThat(endpoint.messagesReceived()).isPositive();
        } finally {
            context.stop();
        }
    }
}
