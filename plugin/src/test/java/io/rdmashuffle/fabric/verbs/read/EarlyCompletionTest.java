// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A control message that completes before READs that were posted earlier, as software iWARP has it. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class EarlyCompletionTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @Test
    void messageStandsForNoReadBeforeIt() throws Exception {
        try (ReadRig rig = new ReadRig(directory, new Random(1))) {
            ReadRequest request = rig.submit(1).get(0);
            int pair = rig.connect();
            Connection on = Objects.requireNonNull(rig.channel().connection());
            long message = on.add(null);
            assertThat(on.completedBy(message)).as("the READ is outstanding").isZero();
            assertThat(rig.outcomes().hasEnded(request)).isFalse();
            rig.queues().succeed(pair, 1);
            rig.settle();
            assertThat(rig.outcomes().hasEnded(request)).isTrue();
            assertThat(on.outstanding()).as("the message is over with it").isZero();
        }
    }
}
