// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs in one temporary file. */
@Tag("unit")
@Timeout(60)
class SpillFileTest {
    /** Longer than the buffers on the way. */
    private static final int BYTES = 200_000;

    @TempDir
    Path directory;

    private final byte[] first = content(1);
    private final byte[] second = content(2);
    private File path;
    private SpillFile file;

    @BeforeEach
    void open() throws IOException {
        path = directory.resolve("spill").toFile();
        file = new SpillFile(path);
    }

    @AfterEach
    void close() {
        file.close();
    }

    private static byte[] content(int seed) {
        byte[] content = new byte[BYTES];
        new Random(seed).nextBytes(content);
        return content;
    }

    private long append(byte[] content, int length) throws IOException {
        return file.append(10L * length, out -> {
            out.write(content, 0, length);
            return null;
        });
    }

    @Test
    void runsAreReadSideBySide() throws IOException {
        assertThat(append(first, BYTES)).isEqualTo(BYTES);
        assertThat(append(second, 77)).isEqualTo(77);
        assertThat(append(second, BYTES)).isEqualTo(BYTES);
        assertThat(file.runs()).isEqualTo(3);
        assertThat(file.recordBytes()).isEqualTo(10 * (2 * BYTES + 77));
        InputStream one = file.open(0);
        InputStream three = file.open(2);
        byte[] ofOne = new byte[BYTES];
        byte[] ofThree = new byte[BYTES];
        for (int i = 0; i < BYTES; i++) {
            ofOne[i] = (byte) one.read();
            ofThree[i] = (byte) three.read();
        }
        assertThat(ofOne).isEqualTo(first);
        assertThat(ofThree).isEqualTo(second);
        assertThat(one.read()).as("the next run is not this one's").isEqualTo(-1);
        assertThat(file.open(1).readAllBytes()).isEqualTo(Arrays.copyOf(second, 77));
        assertThat(file.open(2, 100, 150_000).readAllBytes()).isEqualTo(Arrays.copyOfRange(second, 100, 150_000));
        assertThat(file.open(2, 7, 7).readAllBytes()).isEmpty();
    }

    @Test
    void skippedBytesAreNotRead() throws IOException {
        append(first, BYTES);
        append(second, BYTES);
        InputStream run = file.open(0);
        run.skipNBytes(150_000);
        ByteArrayOutputStream rest = new ByteArrayOutputStream();
        run.transferTo(rest);
        assertThat(rest.toByteArray()).isEqualTo(Arrays.copyOfRange(first, 150_000, BYTES));
        assertThat(run.skip(1)).as("at its end").isZero();
    }

    @Test
    void aRunThatCannotBeWrittenLeavesThoseBefore() throws IOException {
        append(first, BYTES);
        assertThatThrownBy(() -> file.append(BYTES, out -> {
                    out.write(second);
                    throw new IOException("disk full");
                }))
                .hasMessage("disk full");
        assertThat(file.runs()).isEqualTo(1);
        assertThat(file.recordBytes()).isEqualTo(10 * BYTES);
        append(second, BYTES);
        assertThat(file.open(0).readAllBytes()).isEqualTo(first);
        assertThat(file.open(1).readAllBytes()).isEqualTo(second);
    }

    @Test
    void aFileThatEndsEarlyIsAnError() throws IOException {
        append(first, BYTES);
        InputStream run = file.open(0);
        try (RandomAccessFile other = new RandomAccessFile(path, "rw")) {
            other.setLength(100);
        }
        assertThat(run.readNBytes(100)).isEqualTo(Arrays.copyOf(first, 100));
        assertThatThrownBy(run::read)
                .isInstanceOf(EOFException.class)
                .hasMessageContaining(path + " ends at 100, before the end of a run at 200000");
    }

    @Test
    void droppedRangesFreeTheirSpace() throws IOException {
        append(first, BYTES);
        file.clear();
        assertThat(file.runs()).isZero();
        assertThat(file.recordBytes()).isZero();
        assertThat(path.length()).isZero();
        append(second, BYTES);
        assertThat(file.open(0).readAllBytes()).isEqualTo(second);
        assertThat(file).hasToString(path.toString());
        file.close();
        assertThat(path).doesNotExist();
    }
}
