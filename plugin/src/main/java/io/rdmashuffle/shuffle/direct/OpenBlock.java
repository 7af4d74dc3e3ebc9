package io.rdmashuffle.shuffle.direct;

import io.rdmashuffle.shuffle.ShuffleCounter;
import java.io.InputStream;

/**
 * A block whose bytes have been found right and can be read where they lie.
 *
 * <p><b>Ownership:</b> closing lets its memory go; the stream must not be used afterwards.
 *
 * @param stream its bytes; a read fails if the memory has been given away since
 * @param lengthBytes of the block
 * @param path how it is read
 * @param memory what closing gives back
 */
record OpenBlock(InputStream stream, long lengthBytes, ShuffleCounter path, Runnable memory) implements AutoCloseable {
    @Override
    public void close() {
        memory.run();
    }
}
