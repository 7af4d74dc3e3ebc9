package io.rdmashuffle.shuffle.direct;

import io.rdmashuffle.shuffle.ReadServices;
import io.rdmashuffle.shuffle.ShuffleCounter;
import io.rdmashuffle.shuffle.SparkFetch;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * All blocks of a reduce task as one stream of records: first those in memory that this process sees, one after the other
 * where they lie, then those that Spark's fetch brings meanwhile, then those that turned out not to be where they should.
 *
 * <p><b>Threading:</b> one task thread. <b>Ownership:</b> owns the sources; close it when the task ends.
 */
final class RecordStream extends InputStream {
    /** Metrics are told of so many blocks at once. */
    private static final int REPORTED_BLOCKS = 256;

    private final SparkFetch fetch;
    private final boolean inBatches;
    private final ReadServices services;
    private final ShuffleReadMetricsReporter metrics;
    private final Function<BlockManagerId, @Nullable BlockSource> sources;
    private final List<WantedBlock> missed = new ArrayList<>();
    private final Iterator<WantedBlock> wanted;
    private final Map<BlockManagerId, BlockSource> open = new LinkedHashMap<>();
    private scala.collection.Iterator<Tuple2<BlockId, InputStream>> fetched;
    private @Nullable WantedBlock current;
    private @Nullable OpenBlock block;
    private InputStream stream = InputStream.nullInputStream();
    private int blocks;
    private long bytes;
    private @Nullable ShuffleCounter path;

    RecordStream(
            List<WantedBlock> direct,
            List<WantedBlock> others,
            Map<BlockManagerId, BlockSource> sources,
            SparkFetch fetch,
            boolean inBatches) {
        this.wanted = direct.iterator();
        this.open.putAll(sources);
        this.sources = open::get;
        this.fetch = fetch;
        this.inBatches = inBatches;
        this.services = fetch.services();
        this.metrics = fetch.metrics();
        this.fetched = start(others);
    }

    private scala.collection.Iterator<Tuple2<BlockId, InputStream>> start(List<WantedBlock> blocks) {
        if (blocks.isEmpty()) {
            return CollectionConverters.asScala(
                    List.<Tuple2<BlockId, InputStream>>of().iterator());
        }
        Map<BlockManagerId, List<Tuple3<BlockId, Object, Object>>> byOwner = new LinkedHashMap<>();
        for (WantedBlock each : blocks) {
            byOwner.computeIfAbsent(each.owner(), owner -> new ArrayList<>()).add(each.block());
        }
        List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> byAddress = new ArrayList<>();
        byOwner.forEach((owner, owned) -> byAddress.add(
                new Tuple2<>(owner, CollectionConverters.asScala(owned).toSeq())));
        return fetch.start(CollectionConverters.asScala(byAddress.iterator()), (id, in) -> in, inBatches);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        while (true) {
            int count = readSome(target, offset, length);
            if (count > 0) {
                return count;
            }
            if (!advance()) {
                return -1;
            }
        }
    }

    private int readSome(byte[] target, int offset, int length) throws IOException {
        try {
            return stream.read(target, offset, length);
        } catch (IOException e) {
            if (block == null || current == null) {
                throw e;
            }
            throw sneaky(new FetchFailedException(
                    current.owner(),
                    current.id().shuffleId(),
                    current.id().mapId(),
                    current.mapIndex(),
                    current.id().reduceId(),
                    "the block was given away while it was read",
                    e));
        }
    }

    /** Goes to the next block; false if there is none. */
    private boolean advance() throws IOException {
        closeBlock();
        while (wanted.hasNext()) {
            WantedBlock next = wanted.next();
            BlockSource source = sources.apply(next.owner());
            OpenBlock opened = source == null ? null : source.open(next);
            if (opened != null) {
                current = next;
                block = opened;
                stream = opened.stream();
                count(opened);
                return true;
            }
            missed.add(next);
        }
        report();
        stream.close();
        // Readers may ask again after the end.
        stream = InputStream.nullInputStream();
        if (!fetched.hasNext() && !missed.isEmpty()) {
            fetched = start(List.copyOf(missed));
            missed.clear();
        }
        if (!fetched.hasNext()) {
            return false;
        }
        stream = fetched.next()._2();
        return true;
    }

    private void closeBlock() {
        OpenBlock last = block;
        block = null;
        if (last != null) {
            stream = InputStream.nullInputStream();
            last.close();
        }
    }

    private void count(OpenBlock opened) {
        if (opened.path() != path || blocks == REPORTED_BLOCKS) {
            report();
            path = opened.path();
        }
        blocks++;
        bytes += opened.lengthBytes();
    }

    private void report() {
        ShuffleCounter counter = path;
        if (counter == null || blocks == 0) {
            return;
        }
        services.counters().add(counter, bytes);
        if (counter == ShuffleCounter.LOCAL_BYTES) {
            metrics.incLocalBlocksFetched(blocks);
            metrics.incLocalBytesRead(bytes);
        } else {
            metrics.incRemoteBlocksFetched(blocks);
            metrics.incRemoteBytesRead(bytes);
        }
        blocks = 0;
        bytes = 0;
    }

    /** Lets all memory go; Spark's fetch ends with the task by itself. */
    @Override
    public void close() {
        closeBlock();
        report();
        open.values().forEach(BlockSource::close);
        open.clear();
    }

    /** Spark's exceptions are checked for Java, and undeclared where they come through. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> E sneaky(Throwable failure) throws E {
        throw (E) failure;
    }
}
