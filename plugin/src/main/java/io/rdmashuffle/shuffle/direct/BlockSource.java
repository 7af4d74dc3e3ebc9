package io.rdmashuffle.shuffle.direct;

import org.jspecify.annotations.Nullable;

/**
 * Memory in which blocks of one executor can be read.
 *
 * <p><b>Threading:</b> one task thread. <b>Ownership:</b> opened blocks are closed before their source.
 */
interface BlockSource extends AutoCloseable {
    /** Opens a block; null if it is not there, or not what it should be: then Spark's fetch has to find out more. */
    @Nullable
    OpenBlock open(WantedBlock wanted);

    @Override
    void close();
}
