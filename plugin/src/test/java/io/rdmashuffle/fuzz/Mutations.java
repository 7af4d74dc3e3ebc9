// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fuzz;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * Damage to an encoding that was whole: what a torn write, a flipped bit, another version or malice would make of it.
 *
 * <p><b>Threading:</b> none; for one thread, as the {@link Random} is.
 */
public final class Mutations {
    /** Ends and neighbours of ranges, and what overflows when something is added to it or it is multiplied. */
    private static final long[] HOSTILE = {
        0,
        1,
        -1,
        2,
        Byte.MAX_VALUE,
        255,
        Short.MAX_VALUE,
        0xFFFF,
        1 << 20,
        Integer.MAX_VALUE - 1,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE,
        0xFFFFFFFFL,
        1L << 32,
        1L << 40,
        1L << 58,
        Long.MAX_VALUE - 64,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        Long.MIN_VALUE + 1
    };

    private final Random random;

    /** Draws from {@code random}. */
    public Mutations(Random random) {
        this.random = random;
    }

    /**
     * Every kind of damage: all truncations, all flipped bits, hostile numbers everywhere, and {@code rounds} at
     * random.
     */
    public void all(byte[] valid, int rounds, Consumer<byte[]> use) {
        otherLengths(valid, use);
        flippedBits(valid, use);
        hostileNumbers(valid, use);
        for (int i = 0; i < rounds; i++) {
            use.accept(atRandom(valid));
            use.accept(garbage(2 * valid.length + 1));
        }
    }

    /** Damage that leaves the length as it is, for memory. */
    public void inPlace(byte[] valid, int rounds, Consumer<byte[]> use) {
        flippedBits(valid, use);
        hostileNumbers(valid, use);
        for (int i = 0; i < rounds; i++) {
            use.accept(atRandom(valid));
        }
    }

    /** Cut off after each byte, and longer than it should be. */
    public void otherLengths(byte[] valid, Consumer<byte[]> use) {
        for (int length = 0; length < valid.length; length++) {
            use.accept(Arrays.copyOf(valid, length));
        }
        for (int more : new int[] {1, 3, 8, 64}) {
            byte[] longer = Arrays.copyOf(valid, valid.length + more);
            use.accept(longer);
            byte[] noisy = longer.clone();
            for (int i = valid.length; i < noisy.length; i++) {
                noisy[i] = (byte) random.nextInt();
            }
            use.accept(noisy);
        }
    }

    /** Each bit flipped, one at a time. */
    public void flippedBits(byte[] valid, Consumer<byte[]> use) {
        for (int bit = 0; bit < 8 * valid.length; bit++) {
            byte[] flipped = valid.clone();
            flipped[bit / 8] ^= (byte) (1 << (bit % 8));
            use.accept(flipped);
        }
    }

    /** A hostile number at each offset, in 2, 4 and 8 bytes and both byte orders. */
    public void hostileNumbers(byte[] valid, Consumer<byte[]> use) {
        for (int offset = 0; offset < valid.length; offset++) {
            for (long value : HOSTILE) {
                for (ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
                    for (int width = 2; width <= 8; width *= 2) {
                        if (offset + width <= valid.length) {
                            use.accept(withNumber(valid.clone(), offset, width, order, value));
                        }
                    }
                }
            }
        }
    }

    /** One to six changes anywhere: bytes, numbers, parts copied over others, parts cleared. */
    public byte[] atRandom(byte[] valid) {
        byte[] changed = valid.clone();
        for (int i = 1 + random.nextInt(6); i > 0 && changed.length > 8; i--) {
            int at = random.nextInt(changed.length);
            int run = 1 + random.nextInt(Math.min(32, changed.length - at));
            switch (random.nextInt(5)) {
                case 0 -> changed[at] = (byte) random.nextInt();
                case 1 -> Arrays.fill(changed, at, at + run, (byte) 0);
                case 2 -> System.arraycopy(changed, random.nextInt(changed.length - run + 1), changed, at, run);
                case 3 -> withNumber(changed, at / 8 * 8 % (changed.length - 7), 8, ByteOrder.LITTLE_ENDIAN, hostile());
                default ->
                    withNumber(changed, at / 4 * 4 % (changed.length - 3), 4, ByteOrder.LITTLE_ENDIAN, hostile());
            }
        }
        return changed;
    }

    /** Returns random bytes, at most {@code maxLength}. */
    public byte[] garbage(int maxLength) {
        byte[] bytes = new byte[random.nextInt(maxLength + 1)];
        random.nextBytes(bytes);
        return bytes;
    }

    /** A number that is hard on arithmetic. */
    public long hostile() {
        return HOSTILE[random.nextInt(HOSTILE.length)] + random.nextInt(3) - 1;
    }

    private static byte[] withNumber(byte[] bytes, int offset, int width, ByteOrder order, long value) {
        ByteBuffer out = ByteBuffer.wrap(bytes).order(order);
        switch (width) {
            case 2 -> out.putShort(offset, (short) value);
            case 4 -> out.putInt(offset, (int) value);
            default -> out.putLong(offset, value);
        }
        return bytes;
    }
}
