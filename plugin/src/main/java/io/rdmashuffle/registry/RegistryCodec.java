// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import com.esotericsoftware.kryo.kryo5.io.Input;
import com.esotericsoftware.kryo.kryo5.io.Output;
import io.rdmashuffle.registry.RegistryMessage.EncodedUpdate;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Codec of registry messages; any malformed input is a {@link RegistryCodecException}.
 *
 * <pre>
 *   0               4    5    6               10              14
 *  +---------------+----+----+---------------+---------------+----------------------------+
 *  | magic "RSRG"  |ver |type| body length   | CRC32C        | body: fields               |
 *  +---------------+----+----+---------------+---------------+----------------------------+
 *    big endian     1    1..17 int32, bytes    of bytes 4..9 and the body
 * </pre>
 *
 * <p>Fields go through Kryo's streams; the type is chosen by the header, never by a class name in the bytes. Lengths
 * are checked against bounds and against the bytes left before anything is allocated. {@code docs/design/registry.md}
 * shows the bodies.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class RegistryCodec {
    /** First bytes of every message: "RSRG". */
    static final int MAGIC = 0x52535247;
    /** Version of the protocol; driver and executors of one application run the same jar. */
    static final byte VERSION = 3;

    static final int HEADER_BYTES = 14;
    /** Longest message: half of the default of {@code spark.rpc.message.maxSize}. */
    static final int MAX_MESSAGE_BYTES = 64 << 20;

    private static final int CRC_OFFSET = 10;

    /** Writes a message. Throws {@link RegistryCodecException} if it exceeds the bounds of the protocol. */
    public byte[] encode(RegistryMessage message) {
        try (Output output = new Output(256, MAX_MESSAGE_BYTES)) {
            output.setPosition(HEADER_BYTES);
            MessageSerializers.write(output, message);
            byte[] bytes = output.toBytes();
            ByteBuffer.wrap(bytes)
                    .putInt(MAGIC)
                    .put(VERSION)
                    .put((byte) MessageType.of(message).number())
                    .putInt(bytes.length - HEADER_BYTES)
                    .putInt(CRC_OFFSET, crc(bytes));
            return bytes;
        } catch (RegistryCodecException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new RegistryCodecException(
                    "cannot encode a " + message.getClass().getSimpleName() + " of the registry", e);
        }
    }

    /** Writes a change whose bytes many {@link RegistryMessage.Relay}s share. Throws as {@link #encode} does. */
    EncodedUpdate encodeOnce(MembershipUpdate update) {
        byte[] message = encode(update);
        return new EncodedUpdate(update, Arrays.copyOfRange(message, HEADER_BYTES, message.length));
    }

    /** Reads a message. Throws {@link RegistryCodecException} if {@code bytes} are not exactly one. */
    public RegistryMessage decode(byte[] bytes) {
        MessageType type = checkHeader(bytes);
        try (Input input = new Input(bytes, HEADER_BYTES, bytes.length - HEADER_BYTES)) {
            RegistryMessage message = MessageSerializers.read(input, type);
            if (input.position() != bytes.length) {
                throw new RegistryCodecException(
                        (bytes.length - input.position()) + " bytes after the end of a " + type);
            }
            return message;
        } catch (RegistryCodecException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new RegistryCodecException("malformed " + type + " of the registry", e);
        }
    }

    private static MessageType checkHeader(byte[] bytes) {
        if (bytes.length < HEADER_BYTES || bytes.length > MAX_MESSAGE_BYTES) {
            throw new RegistryCodecException("a registry message of " + bytes.length + " bytes: must have between "
                    + HEADER_BYTES + " and " + MAX_MESSAGE_BYTES);
        }
        ByteBuffer header = ByteBuffer.wrap(bytes);
        int magic = header.getInt();
        if (magic != MAGIC) {
            throw new RegistryCodecException(
                    String.format("not a registry message: it starts with %08x, not %08x", magic, MAGIC));
        }
        int version = Byte.toUnsignedInt(header.get());
        if (version != VERSION) {
            throw new RegistryCodecException("registry protocol version " + version + ", expected " + VERSION
                    + ": give driver and executors the same jar of the RDMA shuffle");
        }
        int type = Byte.toUnsignedInt(header.get());
        if (header.getInt() != bytes.length - HEADER_BYTES) {
            throw new RegistryCodecException(
                    "a registry message of " + bytes.length + " bytes is truncated or too long for its header");
        }
        if (header.getInt() != crc(bytes)) {
            throw new RegistryCodecException("checksum of a registry message does not match its bytes");
        }
        return MessageType.numbered(type);
    }

    /** CRC32C of everything that neither the magic nor the checksum itself covers. */
    static int crc(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, Integer.BYTES, CRC_OFFSET - Integer.BYTES);
        crc.update(bytes, HEADER_BYTES, bytes.length - HEADER_BYTES);
        return (int) crc.getValue();
    }
}
