// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import io.rdmashuffle.spark.compat.ScalaCollections;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Request of a reduce task for one block.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
final class BlockRequest {
    private final BlockManagerId owner;
    private final Tuple3<BlockId, Object, Object> block;
    private BlockLocation location = Elsewhere.UNKNOWN;

    /**
     * Requests a block whose location is unknown.
     *
     * @param owner the executor that has it, as the driver believes
     * @param block its id, size and map index, as the map output tracker gives them
     */
    BlockRequest(BlockManagerId owner, Tuple3<BlockId, Object, Object> block) {
        this.owner = owner;
        this.block = block;
    }

    BlockManagerId owner() {
        return owner;
    }

    ShuffleBlockId id() {
        return (ShuffleBlockId) block._1();
    }

    int mapIndex() {
        return (Integer) block._3();
    }

    BlockLocation location() {
        return location;
    }

    void locate(BlockLocation found) {
        location = found;
    }

    private Tuple3<BlockId, Object, Object> sized(int factor) {
        return factor == 1 ? block : new Tuple3<>(block._1(), factor * (Long) block._2(), block._3());
    }

    /**
     * Returns blocks as Spark's fetch iterator expects them: by owner, in the order in which owners come first.
     *
     * @param sizeFactor by how much blocks may be larger than the map output tracker says
     */
    static Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> byOwner(
            List<BlockRequest> blocks, int sizeFactor) {
        Map<BlockManagerId, List<Tuple3<BlockId, Object, Object>>> byOwner = new LinkedHashMap<>();
        for (BlockRequest each : blocks) {
            byOwner.computeIfAbsent(each.owner, owner -> new ArrayList<>()).add(each.sized(sizeFactor));
        }
        List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> owners = new ArrayList<>();
        byOwner.forEach((owner, owned) -> owners.add(new Tuple2<>(owner, ScalaCollections.list(owned))));
        return ScalaCollections.iterator(owners.iterator());
    }
}
