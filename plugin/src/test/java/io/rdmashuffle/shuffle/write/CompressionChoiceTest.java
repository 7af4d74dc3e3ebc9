// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.DiskCompression;
import io.rdmashuffle.shuffle.format.FrameCodec;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Disks and codecs of given speeds. */
@Tag("unit")
class CompressionChoiceTest {
    private static final int OUTPUTS = 10 * CompressionChoice.PROBE_INTERVAL;
    private static final long OUTPUT_BYTES = 1 << 20;

    private final CompressionChoice auto = new CompressionChoice(DiskCompression.AUTO, true);

    /**
     * What compressing a byte takes and leaves; with Zstandard half as much, in four times the time; as rows a little
     * less, in a third of the time.
     */
    private record Data(double lz4Nanos, double lz4Stored) {
        long nanos(FrameCodec codec) {
            return (long) (OUTPUT_BYTES
                    * lz4Nanos
                    * switch (codec) {
                        case APPLICATION -> 1;
                        case ZSTD -> 4;
                        case ROWS -> 1.0 / 3;
                    });
        }

        long stored(FrameCodec codec) {
            return (long) (OUTPUT_BYTES
                    * lz4Stored
                    / switch (codec) {
                        case APPLICATION -> 1;
                        case ZSTD -> 2;
                        case ROWS -> 1.2;
                    });
        }
    }

    private static final Data HALF = new Data(2, 0.5);
    private static final Data RANDOM = new Data(2, 2);

    /** Has many map outputs written to a disk; returns how many of them were compressed with what. */
    private static Map<FrameCodec, Integer> compressed(CompressionChoice choice, double diskNanos, Data data) {
        return compressed(choice, diskNanos, data, false);
    }

    private static Map<FrameCodec, Integer> compressed(
            CompressionChoice choice, double diskNanos, Data data, boolean rows) {
        Map<FrameCodec, Integer> counts = new EnumMap<>(FrameCodec.class);
        for (int i = 0; i < OUTPUTS; i++) {
            FrameCodec codec = choice.next(diskNanos, rows);
            if (codec != null) {
                counts.merge(codec, 1, Integer::sum);
                choice.compressed(codec, OUTPUT_BYTES, data.stored(codec), data.nanos(codec));
            }
        }
        return counts;
    }

    private static int total(Map<FrameCodec, Integer> counts) {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    @Test
    void nothingIsCompressedWhileThePageCacheTakesIt() {
        assertThat(compressed(auto, 0, HALF)).isEmpty();
        assertThat(compressed(auto, 0.4, HALF)).isEmpty();
    }

    @Test
    void aDiskThatIsFasterThanCodecsIsProbedOnly() {
        assertThat(compressed(auto, 2, HALF)).containsOnlyKeys(FrameCodec.APPLICATION, FrameCodec.ZSTD);
        assertThat(total(compressed(auto, 2, HALF))).isBetween(18, 24);
    }

    @Test
    void aSlowDiskHasTheFastCodecAndASlowerOneZstandard() {
        assertThat(compressed(auto, 10, HALF).getOrDefault(FrameCodec.APPLICATION, 0))
                .isGreaterThan(OUTPUTS - 20);
        assertThat(compressed(auto, 60, HALF).getOrDefault(FrameCodec.ZSTD, 0)).isGreaterThan(OUTPUTS - 20);
    }

    @Test
    void dataThatDoesNotCompressIsProbedOnly() {
        compressed(auto, 60, RANDOM);
        assertThat(total(compressed(auto, 60, RANDOM))).isBetween(18, 24);
    }

    /** The next shuffle has other data, and the disk other users. */
    @Test
    void theChoiceFollowsDataAndDisk() {
        compressed(auto, 60, RANDOM);
        assertThat(total(compressed(auto, 60, new Data(2, 0.3)))).isGreaterThan(OUTPUTS / 2);
        assertThat(compressed(auto, 0.5, HALF)).isEmpty();
    }

    /** Classes and native libraries are loaded then. */
    @Test
    void theFirstOutputOfACodecDoesNotCount() {
        for (int i = 0; i < 2; i++) {
            FrameCodec first = Objects.requireNonNull(auto.next(60, false));
            auto.compressed(first, OUTPUT_BYTES, HALF.stored(first), 1000 * HALF.nanos(first));
        }
        assertThat(compressed(auto, 60, HALF).getOrDefault(FrameCodec.ZSTD, 0)).isGreaterThan(OUTPUTS - 20);
    }

    @Test
    void aCodecThatTheUserHasSetIsTheOnlyOne() {
        CompressionChoice set = new CompressionChoice(DiskCompression.AUTO, false);
        assertThat(compressed(set, 60, HALF, true)).containsOnlyKeys(FrameCodec.APPLICATION);
        assertThat(compressed(set, 60, HALF)).containsOnlyKeys(FrameCodec.APPLICATION);
    }

    @Test
    void rowsArePackedWhereTheDiskIsNotVerySlow() {
        assertThat(compressed(auto, 5, HALF, true).getOrDefault(FrameCodec.ROWS, 0))
                .isGreaterThan(OUTPUTS - 30);
        assertThat(compressed(auto, 60, HALF, true).getOrDefault(FrameCodec.ZSTD, 0))
                .isGreaterThan(OUTPUTS - 30);
    }

    /** In an application with both, measurements of rows must not cause packing of other records. */
    @Test
    void otherRecordsAreNeverPacked() {
        compressed(auto, 5, HALF, true);
        assertThat(compressed(auto, 5, HALF, false)).doesNotContainKey(FrameCodec.ROWS);
    }

    @Test
    void rowsArePackedUnlessACodecIsSet() {
        assertThat(auto.standard(true)).isEqualTo(FrameCodec.ROWS);
        assertThat(auto.standard(false)).isEqualTo(FrameCodec.APPLICATION);
        assertThat(new CompressionChoice(DiskCompression.AUTO, false).standard(true))
                .isEqualTo(FrameCodec.APPLICATION);
    }

    @Test
    void modesAreObeyed() {
        CompressionChoice rows = new CompressionChoice(DiskCompression.ALWAYS, true);
        assertThat(compressed(rows, 0, HALF, true)).isEqualTo(Map.of(FrameCodec.ROWS, OUTPUTS));
        CompressionChoice always = new CompressionChoice(DiskCompression.ALWAYS, true);
        assertThat(compressed(always, 0, HALF)).isEqualTo(Map.of(FrameCodec.APPLICATION, OUTPUTS));
        CompressionChoice never = new CompressionChoice(DiskCompression.NEVER, true);
        assertThat(compressed(never, 1000, HALF)).isEmpty();
    }
}
