// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.link;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricProvider;
import io.rdmashuffle.memory.disk.DiskTier;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Offers the model to applications that ask for it ({@link LinkModel#settings}). */
public final class ModelledFabricProvider implements FabricProvider {
    @Override
    public Optional<Fabric> open(
            Function<String, @Nullable String> settings, long maxBytesInFlight, @Nullable DiskTier disk) {
        return LinkModel.read(settings).map(model -> new ModelledFabric(model, maxBytesInFlight, disk));
    }
}
