// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.conf.OfiConfig;
import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.conf.TcpConfig;
import io.rdmashuffle.conf.VerbsConfig;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricProvider;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.ofi.OfiFabric;
import io.rdmashuffle.fabric.ofi.OfiSettings;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.fabric.tcp.TcpSettings;
import io.rdmashuffle.fabric.verbs.VerbsFabric;
import io.rdmashuffle.fabric.verbs.VerbsSettings;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.ofi.KernelDevices;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.QueuePairTuning;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.ServiceLoader;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.internal.config.package$;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Choice of the fabrics that configuration and machine allow, best first, with one log line if RDMA is not among them.
 *
 * <p>A machine without RDMA is no error, even if RDMA was asked for: shared memory, TCP and Netty serve the job.
 *
 * <p><b>Threading:</b> stateless.
 */
final class FabricChoice {
    private static final Logger LOG = LoggerFactory.getLogger(FabricChoice.class);

    /** Spark's default. */
    private static final int PORT_RETRIES = 16;

    private FabricChoice() {}

    /**
     * Opened fabrics.
     *
     * @param fabrics best first; owned by the caller
     * @param whyNotRdma reason for the user; null if RDMA is among them
     */
    record Opened(List<Fabric> fabrics, @Nullable String whyNotRdma) {
        /** Of a process without peers. */
        static Opened nothing() {
            return new Opened(new ArrayList<>(), "this application has one process");
        }
    }

    /**
     * Opens the fabrics of an executor; the caller closes them.
     *
     * @param disk what peers of the same host may read beside memory; null if there is no disk tier
     */
    static Opened open(SparkConf conf, ShuffleConfig config, PoolSettings pool, @Nullable DiskTier disk) {
        String whyNotRdma = null;
        List<Fabric> fabrics = new ArrayList<>();
        FabricMode mode = config.get(ShuffleConfig.FABRIC_MODE);
        if (mode != FabricMode.NETTY) {
            fabrics.addAll(provided(conf, config, disk));
        }
        if (mode == FabricMode.AUTO || mode == FabricMode.SHM) {
            fabrics.add(new ShmFabric(
                    config.get(ShuffleConfig.FABRIC_SHM_THREADS),
                    config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT),
                    config.get(ShuffleConfig.FABRIC_SHM_IN_PLACE),
                    disk));
        }
        if (mode == FabricMode.AUTO || mode == FabricMode.VERBS || mode == FabricMode.OFI) {
            try {
                fabrics.add(rdma(conf, config, pool));
            } catch (RdmaUnavailableException | RuntimeException e) {
                explain(mode, e);
                whyNotRdma = String.valueOf(e.getMessage());
            }
        } else {
            whyNotRdma = "spark.shuffle.rdma.fabric.mode=" + mode.name().toLowerCase(Locale.ROOT);
        }
        if (mode == FabricMode.AUTO || mode == FabricMode.TCP) {
            String reason = reasonAgainstOpenBytes(conf).orElse(null);
            if (reason == null) {
                fabrics.add(new TcpFabric(tcpSettings(conf, config)));
            } else if (mode == FabricMode.TCP) {
                LOG.warn("One-sided reads over TCP are not used: {} (spark.shuffle.rdma.fabric.mode)", reason);
            } else {
                LOG.info("One-sided reads over TCP are not used: {} (spark.shuffle.rdma.fabric.mode)", reason);
            }
        }
        return new Opened(fabrics, whyNotRdma);
    }

    private static TcpSettings tcpSettings(SparkConf conf, ShuffleConfig config) {
        return new TcpSettings(
                // Its service starts after the fabrics.
                () -> SparkHost.of(SparkEnv.get().blockManager().blockTransferService()),
                new TcpSettings.Ports(config.get(TcpConfig.PORT), conf.getInt("spark.port.maxRetries", PORT_RETRIES)),
                config.get(TcpConfig.THREADS),
                config.get(TcpConfig.CONNECT_TIMEOUT),
                config.get(TcpConfig.IDLE_TIMEOUT),
                config.get(ShuffleConfig.FABRIC_READ_TIMEOUT),
                config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT),
                secret(conf));
    }

    private static List<Fabric> provided(SparkConf conf, ShuffleConfig config, @Nullable DiskTier disk) {
        List<Fabric> fabrics = new ArrayList<>();
        // Beside the plugin's own jar, not on the class path of whatever thread comes first.
        ServiceLoader.load(FabricProvider.class, FabricChoice.class.getClassLoader())
                .forEach(provider -> provider.open(
                                key -> conf.get(key, null), config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT), disk)
                        .ifPresent(fabric -> {
                            LOG.info(
                                    "Using the fabric {} of {}",
                                    fabric.name(),
                                    provider.getClass().getName());
                            fabrics.add(fabric);
                        }));
        return fabrics;
    }

    /** Logs the reason why RDMA is not used: at WARN if it was requested, or the machine has a device. */
    static void explain(FabricMode mode, Exception why) {
        if (mode == FabricMode.VERBS
                || mode == FabricMode.OFI
                || !DeviceList.ofKernel().isEmpty()
                || KernelDevices.provider().isPresent()) {
            LOG.warn(
                    "RDMA is not used: {}. Other paths of spark.shuffle.rdma.fabric.mode serve peers",
                    why.getMessage());
        } else {
            LOG.info(
                    "RDMA is not used: {}. Other paths of spark.shuffle.rdma.fabric.mode serve peers",
                    why.getMessage());
        }
        LOG.debug("RDMA is not used", why);
    }

    /** Opens verbs, or else libfabric where the kernel has devices that only libfabric can use. */
    private static Fabric rdma(SparkConf conf, ShuffleConfig config, PoolSettings pool)
            throws RdmaUnavailableException {
        FabricMode mode = config.get(ShuffleConfig.FABRIC_MODE);
        if (mode == FabricMode.OFI) {
            return ofi(conf, config, pool);
        }
        try {
            return verbs(conf, config, pool);
        } catch (RdmaUnavailableException | RuntimeException e) {
            if (mode == FabricMode.AUTO && KernelDevices.provider().isPresent()) {
                return ofiInsteadOfVerbs(conf, config, pool, e);
            }
            throw e;
        }
    }

    private static Fabric ofiInsteadOfVerbs(
            SparkConf conf, ShuffleConfig config, PoolSettings pool, Exception againstVerbs)
            throws RdmaUnavailableException {
        try {
            return ofi(conf, config, pool);
        } catch (RdmaUnavailableException | RuntimeException e) {
            e.addSuppressed(againstVerbs);
            throw new RdmaUnavailableException(
                    "through libfabric: " + e.getMessage() + "; by verbs: " + againstVerbs.getMessage(), e);
        }
    }

    private static Fabric verbs(SparkConf conf, ShuffleConfig config, PoolSettings pool)
            throws RdmaUnavailableException {
        String reason = reasonAgainstOpenBytes(conf)
                .or(() -> withoutDevice(config, DeviceList.ofKernel()))
                .orElse(null);
        if (reason != null) {
            throw new RdmaUnavailableException(reason);
        }
        return affordable(VerbsFabric.open(settings(config, secret(conf))), HostLimits.read(pool, 0), pool);
    }

    private static Fabric ofi(SparkConf conf, ShuffleConfig config, PoolSettings pool) throws RdmaUnavailableException {
        boolean isRefused = security(conf).isAuthenticationEnabled() && !config.get(OfiConfig.TRUST_NETWORK);
        String reason = isRefused
                ? "spark.authenticate=true, and libfabric authenticates no reader; where only trusted hosts reach the"
                        + " device, set spark.shuffle.rdma.fabric.ofi.trustNetwork=true"
                : reasonAgainstOpenBytes(conf).orElse(null);
        if (reason != null) {
            throw new RdmaUnavailableException(reason);
        }
        OfiSettings settings = new OfiSettings(
                provider(config.get(OfiConfig.PROVIDER), KernelDevices.provider()),
                config.ofiDevices(),
                SparkHost.address(),
                config.get(OfiConfig.CONNECT_TIMEOUT),
                config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT));
        return affordable(OfiFabric.open(settings), HostLimits.read(pool, 0), pool);
    }

    /** Returns the provider of libfabric: the one that is set, or that of the kernel's devices. */
    static String provider(String set, Optional<String> ofKernel) throws RdmaUnavailableException {
        return set.equals(OfiConfig.AUTO)
                ? ofKernel.orElseThrow(() -> new RdmaUnavailableException(
                        "this machine has no device of AWS EFA or Slingshot; for another network set"
                                + " spark.shuffle.rdma.fabric.ofi.provider"))
                : set;
    }

    /** Returns the reason why blocks must not cross the network without encryption; empty if they may. */
    static Optional<String> reasonAgainstOpenBytes(SparkConf conf) {
        return new SparkSettings(key -> conf.get(key, null)).reasonAgainstOpenBytes();
    }

    /**
     * Returns that the kernel has no device, where one is neither asked for nor waited for; empty otherwise. Most
     * machines have none, and there the libraries of RDMA need not be loaded to find that out.
     */
    static Optional<String> withoutDevice(ShuffleConfig config, List<String> devicesOfKernel) {
        return config.get(ShuffleConfig.FABRIC_MODE) == FabricMode.AUTO
                        && PortSelector.parse(config.get(VerbsConfig.DEVICES)).isEmpty()
                        && devicesOfKernel.isEmpty()
                ? Optional.of(ExecutorReport.NO_RDMA_DEVICE)
                : Optional.empty();
    }

    /** Returns the fabric if this process may lock as much memory as it will pin; if not, closes it. */
    static Fabric affordable(Fabric fabric, HostLimits limits, PoolSettings pool) throws RdmaUnavailableException {
        String shortage = limits.pinShortage(pool, fabric.pinnings()).orElse(null);
        if (shortage != null) {
            fabric.close();
            throw new RdmaUnavailableException(shortage);
        }
        return fabric;
    }

    /** Returns the application's secret, none if Spark does not authenticate. */
    static Secret secret(SparkConf conf) {
        SecurityManager security = security(conf);
        return security.isAuthenticationEnabled()
                ? Secret.of(security.getSecretKey().getBytes(StandardCharsets.UTF_8))
                : Secret.NONE;
    }

    /**
     * Spark 3.5 creates the shuffle manager before its environment; what an executor's environment gets is made of the
     * same settings.
     */
    private static SecurityManager security(SparkConf conf) {
        SparkEnv env = SparkEnv.get();
        return env == null
                ? new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE_EXECUTOR())
                : env.securityManager();
    }

    private static VerbsSettings settings(ShuffleConfig config, Secret secret) {
        int vector = config.get(VerbsConfig.COMPLETION_VECTOR);
        QueuePairTuning tuning = new QueuePairTuning(
                config.get(VerbsConfig.ACK_TIMEOUT),
                config.get(VerbsConfig.RETRY_COUNT),
                orProposed(config.get(VerbsConfig.MTU)),
                orProposed(config.get(VerbsConfig.SERVICE_LEVEL)),
                orProposed(config.get(VerbsConfig.TRAFFIC_CLASS)));
        return new VerbsSettings(
                PortSelector.parse(config.get(VerbsConfig.DEVICES)),
                config.get(VerbsConfig.DEVICE_TIMEOUT),
                config.get(VerbsConfig.THREADS),
                config.get(VerbsConfig.POLL_TIME),
                config.get(VerbsConfig.INITIATOR_DEPTH),
                config.get(VerbsConfig.QUEUE_DEPTH),
                Math.toIntExact(config.get(VerbsConfig.READ_SIZE)),
                tuning,
                config.get(VerbsConfig.CONNECT_TIMEOUT),
                config.get(VerbsConfig.IDLE_TIMEOUT),
                config.get(ShuffleConfig.FABRIC_MAX_BYTES_IN_FLIGHT),
                config.fabricMaxBytesStaged(),
                config.get(ShuffleConfig.FABRIC_READ_TIMEOUT),
                config.get(VerbsConfig.ON_DEMAND_PAGING),
                config.get(VerbsConfig.RELAXED_ORDERING),
                vector < 0 ? OptionalInt.empty() : OptionalInt.of(vector),
                secret);
    }

    private static int orProposed(int value) {
        return value == 0 ? QueuePairTuning.AS_PROPOSED : value;
    }
}
