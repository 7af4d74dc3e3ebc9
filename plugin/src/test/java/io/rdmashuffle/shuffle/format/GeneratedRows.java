// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Blocks of rows as Spark SQL makes them, all of one schema: keys, prices below and above zero, flags, doubles,
 * strings, all with nulls now and then.
 *
 * <p><b>Threading:</b> one test's.
 */
final class GeneratedRows {
    private static final int KINDS = 7;

    private final Random random;
    private final int[] kinds;
    private final UnsafeRowWriter writer;

    private GeneratedRows(Random random, int... kinds) {
        this.random = random;
        this.kinds = kinds;
        this.writer = new UnsafeRowWriter(kinds.length);
    }

    /** Chooses a schema. */
    static GeneratedRows ofAnySchema(Random random, int fields) {
        return new GeneratedRows(random, random.ints(fields, 0, KINDS).toArray());
    }

    /** Makes rows of days, keys, flags and a constant, as facts have them. */
    static GeneratedRows ofNumbers(Random random) {
        return new GeneratedRows(random, 0, 3, 3, 2, 5, 3, 0, 3, 2);
    }

    /** Returns rows with their lengths, as they lie in a block. */
    byte[] block(int rows) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < rows; i++) {
            byte[] row = row().getBytes();
            out.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(row.length).array());
            out.writeBytes(row);
        }
        return out.toByteArray();
    }

    private UnsafeRow row() {
        writer.reset();
        writer.zeroOutNullBytes();
        for (int i = 0; i < kinds.length; i++) {
            if (random.nextInt(20) == 0) {
                writer.setNullAt(i);
            } else {
                write(i);
            }
        }
        return writer.getRow();
    }

    private void write(int field) {
        switch (kinds[field]) {
            case 0 -> writer.write(field, 2_450_000 + random.nextInt(2_000));
            case 1 -> writer.write(field, random.nextInt(20_000) - 2_000L);
            case 2 -> writer.write(field, random.nextBoolean());
            case 3 -> writer.write(field, random.nextInt(100_000));
            case 4 -> writer.write(field, random.nextDouble());
            case 5 -> writer.write(field, 0.5);
            default -> writer.write(field, UTF8String.fromString("x".repeat(random.nextInt(30)) + random.nextInt()));
        }
    }
}
