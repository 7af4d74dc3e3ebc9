// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The libraries of rdma-core themselves, as far as they answer without a device. */
@Tag("abi")
@Timeout(60)
class VerbsLibraryTest {
    /** A library that is nowhere. */
    public interface Missing {
        int nothing();
    }

    @Test
    void everyFunctionIsExported() {
        Requirements.verbsLibraries();
        assertThat(IbVerbs.missing()).isEmpty();
        assertThat(RdmaCm.missing()).isEmpty();
    }

    @Test
    void constantsHaveTheNamesThatTheLibraryKnows() {
        Requirements.verbsLibraries();
        IbVerbs verbs = IbVerbs.load();
        assertThat(verbs.ibv_wc_status_str(VerbsConstants.IBV_WC_RETRY_EXC_ERR))
                .isEqualTo("transport retry counter exceeded");
        assertThat(verbs.ibv_event_type_str(VerbsConstants.IBV_EVENT_DEVICE_FATAL))
                .isEqualTo("local catastrophic error");
        assertThat(verbs.ibv_node_type_str(VerbsConstants.IBV_NODE_RNIC)).isEqualTo("iWARP NIC");
        assertThat(verbs.ibv_port_state_str(VerbsConstants.IBV_PORT_ACTIVE)).isEqualTo("active");
        assertThat(RdmaCm.load().rdma_event_str(CmConstants.RDMA_CM_EVENT_ESTABLISHED))
                .isEqualTo("RDMA_CM_EVENT_ESTABLISHED");
    }

    @Test
    void devicesAreListedOrTheErrorIsKept() {
        Requirements.verbsLibraries();
        try (NativeBuffer count = new NativeBuffer(4)) {
            long list = IbVerbs.load().ibv_get_device_list(count.address());
            if (list == 0) {
                assertThat(NativeException.lastErrno()).isPositive();
                return;
            }
            for (int i = 0; i < count.getInt(0); i++) {
                long device = RawMemory.getLong(list + 8L * i);
                assertThat(IbVerbs.load().ibv_get_device_name(device)).isNotEmpty();
            }
            assertThat(RawMemory.getLong(list + 8L * count.getInt(0))).isZero();
            IbVerbs.load().ibv_free_device_list(list);
        }
    }

    /** So one of an older rdma-core is of use for all that it has. */
    @Test
    void aFunctionThatALibraryLacksIsMissedWhenItIsCalled(@TempDir Path directory) throws Exception {
        Requirements.compiler(directory);
        Path library = CCompiler.library(directory, "older", "int ibv_fork_init(void) { return 38; }\n");
        SharedLibrary<IbVerbs> bound = SharedLibrary.bind(IbVerbs.class, library.toString(), "");
        IbVerbs older = bound.functions();
        assertThat(older.ibv_fork_init()).isEqualTo(38);
        SharedLibrary<RdmaCm> olderCm = SharedLibrary.bind(RdmaCm.class, library.toString(), "");
        assertThat(olderCm.missing()).contains("rdma_establish", "rdma_connect").doesNotContain("load", "missing");
        assertThat(bound.missing()).contains("_ibv_query_gid_table").doesNotContain("ibv_fork_init");
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> older._ibv_query_gid_table(0, 0, 0, 0, 0))
                    .isInstanceOf(UnsatisfiedLinkError.class);
        }
    }

    @Test
    void aMissingLibraryIsReportedEachTimeWithItsCause() {
        SharedLibrary<Missing> missing =
                SharedLibrary.bind(Missing.class, "libnowhere.so.1", "install the package nowhere");
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(missing::functions)
                    .isInstanceOf(UnsatisfiedLinkError.class)
                    .hasMessageStartingWith("cannot load libnowhere.so.1: ")
                    .hasMessageContaining("cannot open shared object file")
                    .hasMessageEndingWith("; install the package nowhere")
                    .hasCauseInstanceOf(UnsatisfiedLinkError.class);
        }
    }
}
