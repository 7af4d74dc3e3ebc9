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
    /** What all keys start with. */
    public static final String PREFIX = "spark.shuffle.rdma.";

    /** An owner stages for several readers at once, each piece only for as long as a READ of it takes. */
    private static final long STAGED_SHARE = 4;

    public static final ConfigEntry<FabricMode> FABRIC_MODE =
            ConfigEntry.choice("fabric.mode", FabricMode.class, "auto").doc("""
                `auto`: for each peer the best path that reaches it: shared memory, RDMA, one-sided reads over TCP,
                Spark's block transfer (Netty). `shm`: shared memory between executors of one host, Netty beyond.
                `verbs`: RDMA wherever it reaches, also between executors of one host, Netty beyond. `tcp`: one-sided
                reads over TCP, also between executors of one host, Netty where they fail. `netty`: no one-sided path,
                Spark's block transfer serves the blocks of the pool. `sort`: the manager behaves as Spark's sort
                shuffle, with files and without a pool.
                """);
    public static final ConfigEntry<Long> FABRIC_MAX_BYTES_IN_FLIGHT = ConfigEntry.bytes(
                    "fabric.maxBytesInFlight", "48m")
            .between("1m", "1t")
            .doc("""
                Most bytes that an executor's one-sided reads may have outstanding at once. The default is that of
                `spark.reducer.maxSizeInFlight`; 100 Gb/s x 100 us needs 1.2 MB, so it hides 4 ms of delay. As many
                bytes of the pool are kept for reads, where map outputs cannot go, but at most a quarter; if TCP is the
                only fabric that copies, at most 8m or a 32nd of the pool, whichever is more. For peers that read
                the disk tier over RDMA a quarter of this value is kept, but no more than a sixteenth of the pool.
                """);
    public static final ConfigEntry<Duration> FABRIC_READ_TIMEOUT = ConfigEntry.duration("fabric.readTimeout", "30s")
            .between("100ms", "1h")
            .doc("""
                Deadline of one one-sided read; afterwards the path to that peer counts as failed and Netty serves the
                block. 48m take 0.4 s at 1 Gb/s: only a peer that is gone needs 30s. What an executor has staged of its
                disk tier for a peer is kept for at most twice as long. Not above `fetch.timeout`; the default is
                lowered to it.
                """);
    public static final ConfigEntry<Boolean> FABRIC_SHM_IN_PLACE =
            ConfigEntry.flag("fabric.shm.inPlace", "true").doc("""
                Use the bytes of a peer on the same host where they lie, in that peer's pool, rather than copying them.
                """);
    public static final ConfigEntry<Integer> FABRIC_SHM_THREADS = ConfigEntry.count(
                    "fabric.shm.threads", "threads", "1")
            .between("1", "64")
            .doc("""
                Threads of an executor that copy out of the pools of peers on the same host. One core copies several
                GB/s, more than a few tasks decompress.
                """);

    public static final ConfigEntry<Long> POOL_MAX_SIZE =
            ConfigEntry.bytes("pool.maxSize", "1g").between("1m", "1p").doc("""
                Hard cap of an executor's pool. It is memory outside the heap: add it to `spark.executor.memoryOverhead`
                and leave room for it in `pool.directory`. Map outputs that find no room go to the disk tier
                (`disk.enabled`).
                """);
    public static final ConfigEntry<Long> POOL_INITIAL_SIZE =
            ConfigEntry.bytes("pool.initialSize", "64m").between("0", "1p").doc("""
                Mapped and registered when the executor starts, in whole pages; 0 is one region. The pool grows from
                there to `pool.maxSize` (`pool.regionSize`). For RDMA set it to `pool.maxSize`, so that no task waits
                for a registration. Not above `pool.maxSize`; the default is lowered to it.
                """);
    public static final ConfigEntry<Long> POOL_REGION_SIZE = ConfigEntry.bytesOr("pool.regionSize", "auto", 1 << 20)
            .between("auto", "1t")
            .doc("""
                Largest size of a region, each one file and one registration; at least `1m`. `auto` is a thirty-second
                of `pool.maxSize`, at least `256m` and at most `8g`. A pool grows by one region at a time, each as large
                as the pool is, from `256m` up to this size. Regions at the start are clipped to `pool.initialSize`, the
                last one to `pool.maxSize`. A map output may lie in several regions. Few large regions are better: a
                network card's cache of address translations is small. A pool has at most 65536: Linux allows a process
                little more mappings than 65000.
                """);
    public static final ConfigEntry<String> POOL_DIRECTORY =
            ConfigEntry.path("pool.directory", "/dev/shm").doc("""
                Where the files of the regions lie: a tmpfs, or a hugetlbfs mount for huge pages. Each pool has a
                subdirectory of mode 0700 there. Executors of one host share memory only if they see the same
                directory and run as the same user.
                """);
    public static final ConfigEntry<OnShortage> POOL_ON_SHORTAGE =
            ConfigEntry.choice("pool.onShortage", OnShortage.class, "shrink").doc("""
                What an executor does on a host that cannot hold `pool.maxSize`, because less is free in
                `pool.directory`, the container's memory limit leaves less beside heap, off-heap and Python memory, or a
                device refuses a region. `shrink`: it starts with what can be had, nothing in the worst case, and says
                so in one warning; of a directory that is short it takes a sixteenth, and more as it needs it, so that
                other executors of the host have some. `fail`: it does not start.
                """);
    public static final ConfigEntry<Hugepages> POOL_HUGEPAGES =
            ConfigEntry.choice("pool.hugepages", Hugepages.class, "advise").doc("""
                `advise` asks for transparent huge pages where the tmpfs of `pool.directory` is mounted with
                `huge=advise`, `within_size` or `always` (`mount -o remount,huge=advise /dev/shm`; Linux 5.14): first
                writes cost a seventh. `off` leaves it to the mount. A hugetlbfs mount as `pool.directory` needs none.
                """);
    public static final ConfigEntry<Long> POOL_CHUNK_SIZE =
            ConfigEntry.bytes("pool.chunkSize", "1m").between("4k", "1g").doc("""
                Unit in which a map output grows while it is written. A read of 1m takes 84 us at 100 Gb/s, far above
                the few us that a read costs at all; 1000 map outputs being written take at least 1g. Not above
                `pool.regionSize` nor `pool.maxSize`.
                """);
    public static final ConfigEntry<Duration> POOL_RESERVE_TIMEOUT = ConfigEntry.duration(
                    "pool.reserveTimeout", "100ms")
            .between("0ms", "1min")
            .doc("""
                How long a reader waits for room in a full pool, where a fabric copies, before its block comes over
                Netty. After a wait no reader of the executor waits for a hundred times as long, after one in vain four
                hundred times: what finds no room then comes over Netty at once. A map output never waits: what does not
                fit goes to the disk tier at once. Not above `fetch.timeout`.
                """);

    public static final ConfigEntry<Duration> POOL_IDLE_TIMEOUT =
            ConfigEntry.duration("pool.idleTimeout", "1min").between("1s", "1d").doc("""
                How long nothing of a region may be in use before the region is given back to the host: deregistered,
                unmapped and removed. The pool keeps `pool.initialSize`, and grows again when it needs to. Growing takes
                50 to 100 ms a region; after a minute without use that is a thousandth.
                """);

    public static final ConfigEntry<Integer> POOL_HIGH_WATER_MARK = ConfigEntry.count(
                    "pool.highWaterMark", "percent", "85")
            .between("1", "100")
            .doc("""
                How full of map outputs the pool's memory may become before the oldest shuffles move to the disk tier
                (`disk.enabled`), down to 15 percent points less. Only shuffles of which nothing has been written for
                10 s move, and only while another one is being written. They stay readable. 100 moves none.
                """);

    public static final ConfigEntry<Boolean> DISK_ENABLED =
            ConfigEntry.flag("disk.enabled", "true").doc("""
                Give the pool a second tier: files in each of Spark's local directories (`spark.local.dir`), for map
                outputs that find no room in memory. They are written once, in the same format, and read like those in
                memory; an executor on the same host opens the files, one that reads over RDMA has them staged. Without
                it they become ordinary shuffle files.
                """);
    public static final ConfigEntry<Long> DISK_MIN_FREE =
            ConfigEntry.bytes("disk.minFree", "1g").between("0", "1p").doc("""
                What the disk tier leaves free in a local directory's file system. Map outputs that find no room in any
                of them become ordinary shuffle files.
                """);
    public static final ConfigEntry<DiskCompression> DISK_COMPRESS =
            ConfigEntry.choice("disk.compress", DiskCompression.class, "auto").doc("""
                Which map outputs of direct shuffles are compressed in the disk tier. `auto`: those for which the disk
                takes longer than compressing them, both as measured while the executor runs, with
                `spark.io.compression.codec`, or, where that key is not set, with Zstandard or by packing rows of Spark
                SQL, whichever takes least; none while the page cache takes what is written. `always`: all, with
                `spark.io.compression.codec`, or, where that key is not set, rows packed.
                `spark.shuffle.compress=false` rules out all.
                """);

    public static final ConfigEntry<Integer> DIRECTORY_MAX_SHUFFLES = ConfigEntry.count(
                    "directory.maxShuffles", "shuffles", "4096")
            .between("16", "1048576")
            .doc("""
                How many slots the directory's first table has, 64 bytes each. Of two live shuffles whose ids are a
                multiple of this apart, the later one goes to a second table of twice as many slots, and so on; readers
                look in all tables. The slots lie in one region: `pool.regionSize` and `pool.maxSize` must hold them.
                """);

    public static final ConfigEntry<Boolean> DIRECT_ENABLED =
            ConfigEntry.flag("direct.enabled", "true").doc("""
                Put bare records into the pool and read them from it, neither compressed nor through Spark's block
                streams, where that is possible: with a serialiser whose records stand for themselves (Spark SQL's,
                Kryo), without I/O encryption, and unless `spark.shuffle.compress=true` is set explicitly. Not with
                `fabric.mode=netty`. `spark.shuffle.compress` and `spark.io.compression.codec` say how what finds no
                room in either tier is compressed in files, and how a whole shuffle is where fewer than half of the
                pairs of executors have a path that is one-sided (decided once for each shuffle).
                """);
    public static final ConfigEntry<Integer> DIRECT_COMPRESS_ABOVE = ConfigEntry.count(
                    "direct.compressAbove", "percent", "75")
            .between("0", "100")
            .doc("""
                How full the pool may become with records that are not compressed, where it has no disk tier
                (`disk.enabled`). A map output that would fill it further is compressed into the pool, so that fewer
                become files; reading it takes longer. 0 compresses always, 100 only what would find no room. Nothing is
                compressed with `spark.shuffle.compress=false`, but for the rare map output with a block that begins as
                compressed ones do.
                """);

    public static final ConfigEntry<Duration> FETCH_TIMEOUT =
            ConfigEntry.duration("fetch.timeout", "2min").between("1s", "1d").doc("""
                How long a fetch may go on without a block arriving, on whatever path, Netty included; afterwards the
                task fails with FetchFailed and Spark reruns the stage that wrote the block. Downloads to disk end by
                `spark.shuffle.io.connectionTimeout` instead. The default is that of `spark.network.timeout`.
                """);
    public static final ConfigEntry<Boolean> FETCH_VERIFY_CHECKSUM =
            ConfigEntry.flag("fetch.verifyChecksum", "true").doc("""
                Compare each block of a pool with the checksum that its writer left in the index. A one-sided read has
                no server that could say that the block is gone, and damaged bytes may end the process when LZ4
                decompresses them, so leave this on.
                """);

    public static final ConfigEntry<Duration> REGISTRY_TIMEOUT = ConfigEntry.duration("registry.timeout", "10s")
            .between("100ms", "10min")
            .doc("""
                How long an executor waits for the driver's answer about a peer; without one, Netty serves that peer.
                An answer takes about 1 ms; 10s outlast a long garbage collection of the driver. Not above
                `fetch.timeout`; the default is lowered to it.
                """);
    public static final ConfigEntry<Duration> REGISTRY_SWEEP_INTERVAL = ConfigEntry.duration(
                    "registry.sweepInterval", "1min")
            .between("1s", "1d")
            .doc("""
                How often an executor asks the driver which of the shuffles of which it holds something have been
                removed, and whether it has missed a change of the members. Spark tells executors of removed shuffles
                by itself, but not those that it takes for lost at that moment, as it does for some seconds after a
                fetch failure.
                """);
    public static final ConfigEntry<Duration> PEER_QUARANTINE =
            ConfigEntry.duration("peer.quarantine", "30s").between("0ms", "1h").doc("""
                After a path to a peer has failed, how long the next one, or Netty, serves that peer before the path is
                tried again. Where the peer cannot be connected to, the pause doubles each time, up to 10 min.
                """);

    public static final ConfigEntry<Duration> MIGRATION_TIMEOUT = ConfigEntry.duration("migration.timeout", "2min")
            .between("1s", "1d")
            .doc("""
                How long an executor that takes over a map output of a decommissioned one keeps what has arrived of it
                while nothing more comes; then it is dropped, and its sender tries another executor if it still lives.
                The default is that of `spark.network.timeout`.
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
            MIGRATION_TIMEOUT);
    private static final List<ConfigEntry<?>> ENTRIES = Stream.of(
                    FABRIC, VerbsConfig.ENTRIES, TcpConfig.ENTRIES, OTHERS, MetricsConfig.ENTRIES)
            .<ConfigEntry<?>>flatMap(List::stream)
            .toList();

    /** Keys whose values must not be above those of others; in this order, since defaults give way along chains. */
    static final List<ConfigReader.Order<?>> ORDERS = List.of(
            new ConfigReader.Order<>(POOL_INITIAL_SIZE, POOL_MAX_SIZE),
            new ConfigReader.Order<>(POOL_CHUNK_SIZE, POOL_MAX_SIZE),
            new ConfigReader.Order<>(POOL_CHUNK_SIZE, POOL_REGION_SIZE),
            new ConfigReader.Order<>(POOL_RESERVE_TIMEOUT, FETCH_TIMEOUT),
            new ConfigReader.Order<>(FABRIC_READ_TIMEOUT, FETCH_TIMEOUT),
            new ConfigReader.Order<>(REGISTRY_TIMEOUT, FETCH_TIMEOUT),
            new ConfigReader.Order<>(VerbsConfig.CONNECT_TIMEOUT, FABRIC_READ_TIMEOUT),
            new ConfigReader.Order<>(TcpConfig.CONNECT_TIMEOUT, FABRIC_READ_TIMEOUT),
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

    /** Returns all entries, those of one area side by side. */
    public static List<ConfigEntry<?>> entries() {
        return ENTRIES;
    }

    /**
     * Reads and checks everything.
     *
     * @param lookup the raw text of a key, null where the key is absent
     * @param presentKeys every key that is set; those that do not start with {@link #PREFIX}, in whatever case, are
     *     ignored
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

    /** Returns {@code key=value} for every entry, for one line in the log. */
    @Override
    public String toString() {
        return ENTRIES.stream().map(entry -> entry.key() + "=" + text(entry)).collect(Collectors.joining(", "));
    }

    private <T extends Comparable<T>> String text(ConfigEntry<T> entry) {
        return entry.format(get(entry));
    }

    /**
     * What the keys of the pool demand of one another beyond one not being above the other.
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
