// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import io.rdmashuffle.conf.ConfigReader.Rule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Every key under {@value #PREFIX}, and one consistent set of values for them.
 *
 * <p>{@link #read} checks everything at once: unreadable and out-of-range values, values that contradict each other,
 * and keys that do not exist.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class ShuffleConfig {
    /** Prefix of all keys. */
    public static final String PREFIX = "spark.shuffle.rdma.";

    /** Divisor of bytes in flight for staging: an owner stages for several readers, for the time of a READ. */
    private static final long STAGED_SHARE = 4;

    public static final ConfigEntry<FabricMode> FABRIC_MODE =
            ConfigEntry.choice("fabric.mode", FabricMode.class, "auto").doc("""
                `auto`: the best path to each peer: shared memory, RDMA (by verbs, or through libfabric where the host
                has devices of AWS EFA or Slingshot), one-sided reads over TCP, Spark's block transfer (Netty). `shm`:
                shared memory on one host, Netty between hosts. `verbs`: RDMA, also on one host, otherwise Netty. `tcp`:
                one-sided reads over TCP, also on one host, otherwise Netty. `ofi`: RDMA through libfabric, also on one
                host, otherwise Netty. `netty`: Spark's block transfer serves the pool. `sort`: Spark's sort shuffle
                with files.
                """);
    public static final ConfigEntry<Long> FABRIC_MAX_BYTES_IN_FLIGHT = ConfigEntry.bytes(
                    "fabric.maxBytesInFlight", "48m")
            .between("1m", "1t")
            .doc("""
                Maximum of outstanding bytes of an executor's one-sided reads. The default is that of
                `spark.reducer.maxSizeInFlight`; 1.2 MB fill 100 Gb/s at a latency of 100 us. The pool reserves as many
                bytes for reads, at most a quarter of its size. If only TCP copies, it reserves at most 8m or a 32nd of
                the pool, whichever is more. For staging of the disk tier over RDMA a quarter of this value is
                reserved, at most a sixteenth of the pool.
                """);
    public static final ConfigEntry<Duration> FABRIC_READ_TIMEOUT = ConfigEntry.duration("fabric.readTimeout", "30s")
            .between("100ms", "1h")
            .doc("""
                Deadline of a one-sided read. Afterwards the path is quarantined and Netty serves the block. 48m take
                0.4 s at 1 Gb/s. Blocks staged for a peer are kept for at most twice as long. Not above
                `fetch.timeout`; the default is lowered to it.
                """);
    public static final ConfigEntry<Boolean> FABRIC_SHM_IN_PLACE =
            ConfigEntry.flag("fabric.shm.inPlace", "true").doc("""
                Read the bytes of peers on the same host in place instead of copying them.
                """);
    public static final ConfigEntry<Integer> FABRIC_SHM_THREADS = ConfigEntry.count(
                    "fabric.shm.threads", "threads", "1")
            .between("1", "64")
            .doc("""
                Threads of an executor that copy from pools of peers on the same host. One core copies several GB/s.
                """);

    public static final ConfigEntry<Long> POOL_MAX_SIZE =
            ConfigEntry.bytes("pool.maxSize", "1g").between("1m", "1p").doc("""
                Hard limit of an executor's pool, which is outside the heap: add it to `spark.executor.memoryOverhead`,
                and provide room in `pool.directory`. Map outputs that do not fit go to the disk tier (`disk.enabled`).
                """);
    public static final ConfigEntry<Long> POOL_INITIAL_SIZE =
            ConfigEntry.bytes("pool.initialSize", "64m").between("0", "1p").doc("""
                Memory mapped and registered when the executor starts; 0 is one region. The pool grows to
                `pool.maxSize` by regions (`pool.regionSize`). For RDMA set it to `pool.maxSize`, so that no task waits
                for a registration. Not above `pool.maxSize`; the default is lowered to it.
                """);
    public static final ConfigEntry<Long> POOL_REGION_SIZE = ConfigEntry.bytesOr("pool.regionSize", "auto", 1 << 20)
            .between("auto", "1t")
            .doc("""
                Maximum size of a region, which is one file and one registration; at least `1m`. `auto` is a
                thirty-second of `pool.maxSize`, at least `256m` and at most `8g`. Each new region is as large as the
                pool, from `256m` up to this size. A map output may span several regions. Few large regions are better
                for the address translation cache of a network card. A pool has at most 65536, the kernel's limit of
                mappings.
                """);
    public static final ConfigEntry<String> POOL_DIRECTORY =
            ConfigEntry.path("pool.directory", "/dev/shm").doc("""
                Directory of region files: a tmpfs, or a hugetlbfs mount for huge pages. Each pool has a subdirectory
                of mode 0700. Executors of one host share memory only if they see the same directory and run as the
                same user.
                """);
    public static final ConfigEntry<OnShortage> POOL_ON_SHORTAGE =
            ConfigEntry.choice("pool.onShortage", OnShortage.class, "shrink").doc("""
                Behaviour if `pool.directory`, the container's memory limit or a device does not allow `pool.maxSize`.
                `shrink`: start with a smaller pool, or none, and one warning; in a short directory the pool starts
                with a sixteenth, so that other executors have some. `fail`: do not start.
                """);
    public static final ConfigEntry<Hugepages> POOL_HUGEPAGES =
            ConfigEntry.choice("pool.hugepages", Hugepages.class, "advise").doc("""
                `advise` requests transparent huge pages if the tmpfs of `pool.directory` is mounted with
                `huge=advise`, `within_size` or `always` (`mount -o remount,huge=advise /dev/shm`; Linux 5.14): first
                writes cost a seventh. `off` leaves it to the mount. A hugetlbfs mount needs neither.
                """);
    public static final ConfigEntry<Long> POOL_CHUNK_SIZE =
            ConfigEntry.bytes("pool.chunkSize", "1m").between("4k", "1g").doc("""
                Unit of growth of a map output while it is written. A read of 1m takes 84 us at 100 Gb/s; 1000
                concurrent map outputs use at least 1g. Not above `pool.regionSize` and `pool.maxSize`.
                """);
    public static final ConfigEntry<Duration> POOL_RESERVE_TIMEOUT = ConfigEntry.duration(
                    "pool.reserveTimeout", "100ms")
            .between("0ms", "1min")
            .doc("""
                Time that a read waits for room in a full pool before Netty serves its block. After a wait of length t,
                no read of the executor waits again for 100 t, or for 400 t if the wait was in vain. Map outputs
                wait only while the pool grows; otherwise they go to the disk tier. Not above `fetch.timeout`.
                """);

    public static final ConfigEntry<Duration> POOL_IDLE_TIMEOUT =
            ConfigEntry.duration("pool.idleTimeout", "1min").between("1s", "1d").doc("""
                Idle time after which an unused region is released: deregistered, unmapped and removed. The pool keeps
                `pool.initialSize` and grows again on demand, in 50 to 100 ms per region.
                """);

    public static final ConfigEntry<Integer> POOL_HIGH_WATER_MARK = ConfigEntry.count(
                    "pool.highWaterMark", "percent", "85")
            .between("1", "100")
            .doc("""
                Share of the pool's memory for map outputs above which the oldest shuffles move to the disk tier
                (`disk.enabled`). They move until the share is 15 percentage points lower. Only shuffles without writes
                for 10 s move, and only while another one is written. They stay readable. 100 disables this.
                """);

    public static final ConfigEntry<Boolean> DISK_ENABLED =
            ConfigEntry.flag("disk.enabled", "true").doc("""
                Use a second tier in Spark's local directories (`spark.local.dir`) for map outputs that do not fit in
                memory. They have the same format; executors of the same host open the files, others read them over TCP
                or staged over RDMA. Without it such outputs become shuffle files.
                """);
    public static final ConfigEntry<Long> DISK_MIN_FREE =
            ConfigEntry.bytes("disk.minFree", "1g").between("0", "1p").doc("""
                Free space that the disk tier leaves in a local directory's file system. Map outputs that fit in none
                of them become shuffle files.
                """);
    public static final ConfigEntry<DiskCompression> DISK_COMPRESS =
            ConfigEntry.choice("disk.compress", DiskCompression.class, "auto").doc("""
                Compression of direct map outputs in the disk tier. `auto`: if the disk takes longer than the codec,
                both measured; with `spark.io.compression.codec`, or if that key is not set, with Zstandard or packed
                rows if they take less time. `always`: all, with `spark.io.compression.codec`, or packed rows if that
                key is not set. `never`: none. `spark.shuffle.compress=false` disables compression.
                """);

    public static final ConfigEntry<Integer> DIRECTORY_MAX_SHUFFLES = ConfigEntry.count(
                    "directory.maxShuffles", "shuffles", "4096")
            .between("16", "1048576")
            .doc("""
                Slots of the directory's first table, 64 bytes each. If the ids of two live shuffles differ by a
                multiple of this, the later one uses a second table of twice as many slots, and so on. The slots must
                fit in one region: see `pool.regionSize` and `pool.maxSize`.
                """);

    public static final ConfigEntry<Boolean> DIRECT_ENABLED =
            ConfigEntry.flag("direct.enabled", "true").doc("""
                Write uncompressed records to the pool and read them without Spark's streams, if possible: with a
                serializer whose records can be relocated (Spark SQL, Kryo), without I/O encryption, unless
                `spark.shuffle.compress=true` is set explicitly or `fabric.mode=netty`. `spark.shuffle.compress` and
                `spark.io.compression.codec` apply to outputs in shuffle files, and to whole shuffles if most pairs of
                executors have no one-sided path or compression saves tasks more time than it takes.
                """);
    public static final ConfigEntry<Integer> DIRECT_COMPRESS_ABOVE = ConfigEntry.count(
                    "direct.compressAbove", "percent", "75")
            .between("0", "100")
            .doc("""
                Share of the pool above which uncompressed map outputs are compressed, if there is no disk tier
                (`disk.enabled`). 0 always compresses, 100 only outputs that would not fit.
                `spark.shuffle.compress=false` disables compression, except for a rare map output with a block that
                begins like a compressed one.
                """);

    public static final ConfigEntry<Duration> FETCH_TIMEOUT =
            ConfigEntry.duration("fetch.timeout", "2min").between("1s", "1d").doc("""
                Time without an arriving block, on any path, after which a fetch fails and Spark repeats the stage that
                wrote the block. Downloads to disk end by `spark.shuffle.io.connectionTimeout` instead. The default is
                that of `spark.network.timeout`.
                """);
    public static final ConfigEntry<Boolean> FETCH_VERIFY_CHECKSUM =
            ConfigEntry.flag("fetch.verifyChecksum", "true").doc("""
                Compare each block of a pool with the writer's checksum. One-sided reads have no server that reports
                removed blocks, and damaged bytes may crash the process when LZ4 decompresses them. Do not disable it.
                """);

    public static final ConfigEntry<Duration> REGISTRY_TIMEOUT = ConfigEntry.duration("registry.timeout", "10s")
            .between("100ms", "10min")
            .doc("""
                Time that an executor waits for the driver's answer about a peer; afterwards Netty serves that peer. An
                answer takes about 1 ms; 10s outlast a long garbage collection of the driver. Not above
                `fetch.timeout`; the default is lowered to it.
                """);
    public static final ConfigEntry<Duration> REGISTRY_SWEEP_INTERVAL = ConfigEntry.duration(
                    "registry.sweepInterval", "1min")
            .between("1s", "1d")
            .doc("""
                Interval at which an executor asks the driver for removed shuffles and missed membership changes. Spark
                does not notify executors of removed shuffles while it considers them lost, for some seconds after a
                fetch failure.
                """);
    public static final ConfigEntry<Duration> PEER_QUARANTINE =
            ConfigEntry.duration("peer.quarantine", "30s").between("0ms", "1h").doc("""
                Time after a failure of a path to a peer during which the next path, or Netty, serves it. If the peer
                cannot be connected to, the pause doubles each time, up to 10 min.
                """);

    public static final ConfigEntry<Duration> MIGRATION_TIMEOUT = ConfigEntry.duration("migration.timeout", "2min")
            .between("1s", "1d")
            .doc("""
                Time without new data after which a partially migrated map output is dropped by its receiver; the
                sender tries another executor. The default is that of `spark.network.timeout`.
                """);

    public static final ConfigEntry<Boolean> OUTLIVE_ENABLED =
            ConfigEntry.flag("outlive.enabled", "true").doc("""
                Keep the map outputs of an executor that has ended, as long as another executor of the host can serve
                them; without it, Spark writes them again. Has no effect unless the cluster manager gives each
                application a directory (standalone, YARN), or there are `hostPath` volumes on Kubernetes. If it is set
                to `true`, Spark's external shuffle service serves them (`spark.shuffle.service.enabled=true`); if it is
                not set, sort shuffle serves applications that have such a service.
                """);
    public static final ConfigEntry<Long> OUTLIVE_MAX_BYTES =
            ConfigEntry.bytes("outlive.maxBytes", "4g").between("0", "1p").doc("""
                Maximum of the pools of ended executors that an application keeps on a host, by their last reports.
                Beyond it the oldest are dropped, and Spark writes their map outputs again; with an external shuffle
                service they are moved to disk instead.
                """);

    public static final ConfigEntry<Duration> OUTLIVE_HOLD =
            ConfigEntry.duration("outlive.hold", "5s").between("0ms", "5min").doc("""
                Time within which another executor of the host must serve the pool of one that was killed, if executors
                of other hosts need it. They wait as long; after that Spark writes the map outputs again.
                """);

    private static final List<ConfigEntry<?>> FABRIC = List.of(
            FABRIC_MODE, FABRIC_MAX_BYTES_IN_FLIGHT, FABRIC_READ_TIMEOUT, FABRIC_SHM_IN_PLACE, FABRIC_SHM_THREADS);
    private static final List<ConfigEntry<?>> OTHERS = List.of(
            POOL_MAX_SIZE,
            POOL_INITIAL_SIZE,
            POOL_REGION_SIZE,
            POOL_DIRECTORY,
            POOL_ON_SHORTAGE,
            POOL_HUGEPAGES,
            POOL_CHUNK_SIZE,
            POOL_RESERVE_TIMEOUT,
            POOL_IDLE_TIMEOUT,
            POOL_HIGH_WATER_MARK,
            DISK_ENABLED,
            DISK_MIN_FREE,
            DISK_COMPRESS,
            DIRECTORY_MAX_SHUFFLES,
            DIRECT_ENABLED,
            DIRECT_COMPRESS_ABOVE,
            FETCH_TIMEOUT,
            FETCH_VERIFY_CHECKSUM,
            REGISTRY_TIMEOUT,
            REGISTRY_SWEEP_INTERVAL,
            PEER_QUARANTINE,
            MIGRATION_TIMEOUT,
            OUTLIVE_ENABLED,
            OUTLIVE_MAX_BYTES,
            OUTLIVE_HOLD);
    private static final List<ConfigEntry<?>> ENTRIES = Stream.of(
                    FABRIC, VerbsConfig.ENTRIES, TcpConfig.ENTRIES, OfiConfig.ENTRIES, OTHERS, MetricsConfig.ENTRIES)
            .<ConfigEntry<?>>flatMap(List::stream)
            .toList();

    /** Keys whose values must not exceed others; in this order, because defaults are lowered along chains. */
    static final List<ConfigReader.Order<?>> ORDERS = List.of(
            new ConfigReader.Order<>(POOL_INITIAL_SIZE, POOL_MAX_SIZE),
            new ConfigReader.Order<>(POOL_CHUNK_SIZE, POOL_MAX_SIZE),
            new ConfigReader.Order<>(POOL_CHUNK_SIZE, POOL_REGION_SIZE),
            new ConfigReader.Order<>(POOL_RESERVE_TIMEOUT, FETCH_TIMEOUT),
            new ConfigReader.Order<>(FABRIC_READ_TIMEOUT, FETCH_TIMEOUT),
            new ConfigReader.Order<>(REGISTRY_TIMEOUT, FETCH_TIMEOUT),
            new ConfigReader.Order<>(VerbsConfig.CONNECT_TIMEOUT, FABRIC_READ_TIMEOUT),
            new ConfigReader.Order<>(TcpConfig.CONNECT_TIMEOUT, FABRIC_READ_TIMEOUT),
            new ConfigReader.Order<>(OfiConfig.CONNECT_TIMEOUT, FABRIC_READ_TIMEOUT),
            new ConfigReader.Order<>(VerbsConfig.INITIATOR_DEPTH, VerbsConfig.QUEUE_DEPTH));

    static final ConfigReader.Rule<Integer, Long> DIRECTORY_IN_REGION =
            PoolRules.directoryIn("a region", DIRECTORY_MAX_SHUFFLES, POOL_REGION_SIZE);
    static final ConfigReader.Rule<Integer, Long> DIRECTORY_IN_POOL =
            PoolRules.directoryIn("the pool", DIRECTORY_MAX_SHUFFLES, POOL_MAX_SIZE);
    static final ConfigReader.Rule<Long, Long> REGIONS_OF_POOL =
            PoolRules.countOfRegions(POOL_REGION_SIZE, POOL_MAX_SIZE);

    private final Map<ConfigEntry<?>, Object> values;

    private ShuffleConfig(Map<ConfigEntry<?>, Object> values) {
        this.values = Map.copyOf(values);
    }

    /** Returns all entries, grouped by area. */
    public static List<ConfigEntry<?>> entries() {
        return ENTRIES;
    }

    /**
     * Reads and verifies all keys.
     *
     * @param lookup the raw text of a key, null where the key is absent
     * @param presentKeys all keys that are set; keys without {@link #PREFIX}, in any case, are ignored
     * @throws ConfigException with one line per problem
     */
    public static ShuffleConfig read(Function<String, @Nullable String> lookup, Set<String> presentKeys) {
        ConfigReader reader = new ConfigReader();
        reader.read(ENTRIES, lookup);
        reader.derive(POOL_REGION_SIZE, POOL_MAX_SIZE, PoolRules::regionBytes);
        ORDERS.forEach(reader::check);
        reader.check(DIRECTORY_IN_REGION);
        reader.check(DIRECTORY_IN_POOL);
        reader.check(REGIONS_OF_POOL);
        reader.refuseUnknown(ENTRIES, presentKeys);
        return new ShuffleConfig(reader.finish());
    }

    /** Reads and checks everything except for keys that do not exist, which {@code lookup} cannot list. */
    public static ShuffleConfig read(Function<String, @Nullable String> lookup) {
        return read(lookup, Set.of());
    }

    /** Reads and checks settings that are at hand as a map. */
    public static ShuffleConfig read(Map<String, String> settings) {
        return read(settings::get, settings.keySet());
    }

    /** Returns the value of an entry. */
    public <T extends Comparable<T>> T get(ConfigEntry<T> entry) {
        return entry.in(values);
    }

    /**
     * Returns the bound on bytes of the disk tier that lie in memory for peers to read: a fourth of those in flight.
     */
    public long fabricMaxBytesStaged() {
        return get(FABRIC_MAX_BYTES_IN_FLIGHT) / STAGED_SHARE;
    }

    /** Returns the devices of libfabric that are named; empty if none is. */
    public List<String> ofiDevices() {
        String names = get(OfiConfig.DEVICES);
        return names.equals(OfiConfig.AUTO) ? List.of() : List.of(names.split(","));
    }

    /** Returns {@code key=value} for every entry, for one line in the log. */
    @Override
    public String toString() {
        return ENTRIES.stream().map(entry -> entry.key() + "=" + text(entry)).collect(Collectors.joining(", "));
    }

    private <T extends Comparable<T>> String text(ConfigEntry<T> entry) {
        return entry.format(get(entry));
    }

    /**
     * Conditions between the keys of the pool in addition to orders.
     *
     * <p><b>Threading:</b> stateless.
     */
    private static final class PoolRules {
        /** Bytes of a slot of the directory, and of its header. */
        private static final long SLOT_BYTES = 64;

        /** Each region is a mapping, of which Linux allows a process 65,530 (vm.max_map_count), and a registration. */
        private static final long MAX_REGIONS = 1 << 16;

        /** Most regions that a pool has unless the largest size bounds them: few registrations, little left of each. */
        private static final long REGIONS = 32;

        /** Growth by this takes 50 to 100 ms. */
        private static final long LEAST_REGION_BYTES = 256L << 20;

        /** A pool of 400 GB has 50 such regions; one is cleared and pinned at about 1 GB/s. */
        private static final long LARGEST_REGION_BYTES = 8L << 30;

        /** Of regions that follow from the cap: a card's pages are 2 MB at best. */
        private static final long REGION_UNIT = 2L << 20;

        private PoolRules() {}

        /** Returns the size of regions in a pool of {@code maxBytes} where the user has set none. */
        static long regionBytes(long maxBytes) {
            long share = (maxBytes / REGIONS + REGION_UNIT - 1) / REGION_UNIT * REGION_UNIT;
            long bounded = Math.min(Math.max(share, LEAST_REGION_BYTES), LARGEST_REGION_BYTES);
            return Math.max(bounded, maxBytes / MAX_REGIONS);
        }

        /** The memory, which messages call {@code what}, must hold the directory's slots. */
        static Rule<Integer, Long> directoryIn(String what, ConfigEntry<Integer> slots, ConfigEntry<Long> room) {
            return new Rule<>(
                    slots,
                    room,
                    PoolRules::holdsDirectory,
                    what + " must hold a directory of 64 bytes for each shuffle and 64 more");
        }

        /** A pool must not be cut into more regions than a process may map. */
        static Rule<Long, Long> countOfRegions(ConfigEntry<Long> regionSize, ConfigEntry<Long> maxSize) {
            return new Rule<>(
                    regionSize,
                    maxSize,
                    (regionBytes, maxBytes) -> maxBytes <= MAX_REGIONS * regionBytes,
                    "a pool has at most " + MAX_REGIONS + " regions: raise the size of a region");
        }

        private static boolean holdsDirectory(int slots, long bytes) {
            return SLOT_BYTES * (1L + slots) <= bytes;
        }
    }
}
