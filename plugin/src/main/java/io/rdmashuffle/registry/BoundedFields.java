// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import com.esotericsoftware.kryo.kryo5.io.Input;
import com.esotericsoftware.kryo.kryo5.io.Output;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Reads and writes counts, byte strings and text so that no length on the wire makes the reader allocate more than
 * the bytes that are really there.
 *
 * <p><b>Threading:</b> stateless.
 */
final class BoundedFields {
    private BoundedFields() {}

    static void writeCount(Output output, int count, int max, String what) {
        check(count, max, what);
        output.writeVarInt(count, true);
    }

    /** Reads a count of things that take at least one byte each. */
    static int readCount(Input input, int max, String what) {
        int count = input.readVarInt(true);
        check(count, max, what);
        int remaining = input.limit() - input.position();
        if (count > remaining) {
            throw new RegistryCodecException(count + " " + what + " announced, " + remaining + " bytes left");
        }
        return count;
    }

    static void writeBytes(Output output, byte[] bytes, int max, String what) {
        writeCount(output, bytes.length, max, "bytes of " + what);
        output.writeBytes(bytes);
    }

    static byte[] readBytes(Input input, int max, String what) {
        return input.readBytes(readCount(input, max, "bytes of " + what));
    }

    static void writeText(Output output, String text, int max, String what) {
        writeBytes(output, text.getBytes(StandardCharsets.UTF_8), max, what);
    }

    static String readText(Input input, int max, String what) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(readBytes(input, max, what)))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new RegistryCodecException(what + " is not UTF-8", e);
        }
    }

    private static void check(int count, int max, String what) {
        if (count < 0 || count > max) {
            throw new RegistryCodecException(
                    Integer.toUnsignedString(count) + " " + what + ": at most " + max + " are allowed");
        }
    }
}
