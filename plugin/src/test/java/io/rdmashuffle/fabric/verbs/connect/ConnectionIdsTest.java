// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.verbs.CmId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An id that cannot be destroyed is no reason to leave the others of its port. */
@Tag("unit")
@Timeout(60)
class ConnectionIdsTest {
    @Test
    void anIdThatCannotBeDestroyedDoesNotKeepTheOthers() {
        try (ConnectRig rig = new ConnectRig();
                ConnectionIds ids = new ConnectionIds(rig.rail)) {
            CmId first = rig.events.createId();
            CmId second = rig.events.createId();
            rig.rdma.fail("rdma_destroy_id", Errno.EIO);
            assertThatCode(() -> {
                        ids.end(first);
                        ids.end(second);
                        ids.endDeferred();
                    })
                    .doesNotThrowAnyException();
            assertThat(first.isClosed()).isTrue();
            assertThat(second.isClosed()).isTrue();
            rig.rdma.repair("rdma_destroy_id");
        }
    }
}
