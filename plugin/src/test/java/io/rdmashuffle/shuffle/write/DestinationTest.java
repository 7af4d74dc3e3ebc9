// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static io.rdmashuffle.shuffle.write.Destination.FILE_BARE;
import static io.rdmashuffle.shuffle.write.Destination.FILE_COMPRESSED;
import static io.rdmashuffle.shuffle.write.Destination.POOL_BARE;
import static io.rdmashuffle.shuffle.write.Destination.POOL_COMPRESSED;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Where map outputs are tried, in which order. */
@Tag("unit")
class DestinationTest {
    @Test
    void theLastOneRefusesNothing() {
        assertThat(Destination.inOrder(true, true)).containsExactly(POOL_COMPRESSED);
        assertThat(Destination.inOrder(true, false)).containsExactly(POOL_BARE, FILE_COMPRESSED);
        assertThat(Destination.inOrder(false, false))
                .as("compressed only if a bare block begins as a compressed one does")
                .containsExactly(POOL_BARE, FILE_BARE, FILE_COMPRESSED);
    }

    @Test
    void eachSaysWhatItIs() {
        assertThat(Destination.values()).filteredOn(Destination::isPooled).containsExactly(POOL_BARE, POOL_COMPRESSED);
        assertThat(Destination.values())
                .filteredOn(Destination::isCompressed)
                .containsExactly(POOL_COMPRESSED, FILE_COMPRESSED);
    }
}
