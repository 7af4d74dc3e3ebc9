// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.fabric.tcp.TcpSettings.Host;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetAddress;
import java.net.UnknownHostException;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.util.Utils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names of this process, as Spark's block transfer has them.
 *
 * <p><b>Threading:</b> stateless.
 */
final class SparkHost {
    private static final Logger LOG = LoggerFactory.getLogger(SparkHost.class);

    private SparkHost() {}

    /** Returns the address of this host, as Spark finds it before its services have started; null if it has none. */
    static @Nullable InetAddress address() {
        try {
            return InetAddress.getByName(Utils.localHostName());
        } catch (UnknownHostException e) {
            LOG.debug("Cannot resolve the name of this host", e);
            return null;
        }
    }

    /**
     * Returns the name that the service announces, and the address to which it is bound ({@code --bind-address}, {@code
     * SPARK_LOCAL_IP}, {@code spark.driver.bindAddress}). No method of Spark returns the latter.
     */
    static Host of(BlockTransferService service) {
        String announced = service.hostName();
        try {
            VarHandle bound = MethodHandles.privateLookupIn(NettyBlockTransferService.class, MethodHandles.lookup())
                    .findVarHandle(NettyBlockTransferService.class, "bindAddress", String.class);
            return new Host(announced, (String) bound.get((NettyBlockTransferService) service));
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.info("Cannot determine the address that Spark binds; listening on {}", announced, e);
            return Host.of(announced);
        }
    }
}
