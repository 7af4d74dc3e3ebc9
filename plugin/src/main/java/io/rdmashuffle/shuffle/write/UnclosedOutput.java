// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Output stream that leaves the underlying stream open and unflushed, for codecs that close their target.
 *
 * <p><b>Threading:</b> that of the stream. <b>Ownership:</b> borrows it.
 */
final class UnclosedOutput extends FilterOutputStream {
    UnclosedOutput(OutputStream out) {
        super(out);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        out.write(source, offset, length);
    }

    @Override
    public void close() {}
}
