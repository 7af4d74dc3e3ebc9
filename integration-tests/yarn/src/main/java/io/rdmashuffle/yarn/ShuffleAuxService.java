// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.jspecify.annotations.Nullable;

/**
 * Spark's external shuffle service in a NodeManager: Spark's own handler of blocks. Stands in for Spark's class {@code
 * YarnShuffleService}, whose jar is no artifact but a part of Spark's distribution.
 *
 * <p><b>Threading:</b> the NodeManager's. <b>Ownership:</b> owns the server and its port.
 */
public final class ShuffleAuxService extends AuxiliaryService {
    /** Name of the service, which Spark's executors ask for. */
    static final String NAME = "spark_shuffle";

    /** Key of the port, in yarn-site.xml and in Spark. */
    static final String PORT_KEY = "spark.shuffle.service.port";

    private @Nullable ExternalBlockHandler handler;
    private @Nullable TransportContext context;
    private @Nullable TransportServer server;

    /** Called by the NodeManager through reflection. */
    public ShuffleAuxService() {
        super(NAME);
    }

    @Override
    protected void serviceInit(Configuration conf) throws Exception {
        TransportConf transport = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
        ExternalBlockHandler blocks = new ExternalBlockHandler(transport, null);
        TransportContext opened = new TransportContext(transport, blocks);
        handler = blocks;
        context = opened;
        server = opened.createServer(conf.getInt(PORT_KEY, 0), List.of());
        super.serviceInit(conf);
    }

    @Override
    public void initializeApplication(ApplicationInitializationContext application) {}

    @Override
    public void stopApplication(ApplicationTerminationContext application) {
        ExternalBlockHandler blocks = handler;
        if (blocks != null) {
            blocks.applicationRemoved(application.getApplicationId().toString(), false);
        }
    }

    @Override
    public ByteBuffer getMetaData() {
        return ByteBuffer.allocate(0);
    }

    @Override
    protected void serviceStop() throws IOException {
        if (server != null) {
            server.close();
        }
        if (context != null) {
            context.close();
        }
        if (handler != null) {
            handler.close();
        }
    }
}
