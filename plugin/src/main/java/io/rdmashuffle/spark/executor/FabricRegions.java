// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.RegionListener;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Registration of the pool's regions with every fabric. One that refuses the very first is not used at all; one that
 * refuses a later region ends the pool's growth, and the fabrics that had accepted that region drop it.
 *
 * <p><b>Threading:</b> as {@link RegionListener}.
 *
 * <p><b>Ownership:</b> a fabric that is not used is closed here, and taken out of the list.
 *
 * @param fabrics may be shortened
 * @param whyNot told why, in words for the user
 */
record FabricRegions(FabricMode mode, List<Fabric> fabrics, Consumer<String> whyNot) implements RegionListener {
    @Override
    public void regionAdded(Region region) {
        List<Fabric> accepted = new ArrayList<>();
        for (Fabric fabric : List.copyOf(fabrics)) {
            try {
                fabric.regionAdded(region);
                accepted.add(fabric);
            } catch (NativeException e) {
                if (region.id() > 0) {
                    // The caller unmaps it.
                    accepted.forEach(each -> each.regionRemoved(region));
                    throw e;
                }
                FabricChoice.explain(mode, e);
                whyNot.accept(String.valueOf(e.getMessage()));
                fabrics.remove(fabric);
                fabric.close();
            }
        }
    }

    @Override
    public void regionRemoved(Region region) {
        fabrics.forEach(fabric -> fabric.regionRemoved(region));
    }
}
