// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.kenai.jffi.Library;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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

    private static List<String> notExported(Class<?> type, String soname) {
        Library library = Library.getCachedInstance(soname, Library.LAZY | Library.LOCAL);
        assertThat(library).as(Library.getLastError()).isNotNull();
        List<String> missing = new ArrayList<>();
        for (Method method : type.getDeclaredMethods()) {
            if (Modifier.isAbstract(method.getModifiers()) && library.getSymbolAddress(method.getName()) == 0) {
                missing.add(method.getName());
            }
        }
        return missing;
    }

    @Test
    void everyFunctionIsExported() {
        Requirements.verbsLibraries();
        assertThat(notExported(IbVerbs.class, "libibverbs.so.1")).isEmpty();
        assertThat(notExported(RdmaCm.class, "librdmacm.so.1")).isEmpty();
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
        IbVerbs older =
                SharedLibrary.bind(IbVerbs.class, library.toString(), "").functions();
        assertThat(older.ibv_fork_init()).isEqualTo(38);
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
