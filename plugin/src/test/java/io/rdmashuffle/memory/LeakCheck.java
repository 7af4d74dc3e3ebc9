// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.memory.slice.DiskFile;
import io.rdmashuffle.memory.slice.Mapping;
import io.rdmashuffle.verbs.ResourceLedger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/**
 * Fails a test that leaves more mappings or open files, or more objects on RDMA devices, behind than it found.
 *
 * <p>Leases need no counting: a pool throws when it is closed while leases are out, and keeps their mapping.
 */
public final class LeakCheck implements BeforeEachCallback, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(LeakCheck.class);
    private static final int STANDARD_INPUT = 0;
    private static final String BEFORE = "mappings";
    private static final String FILES = "files";
    private static final String RESOURCES = "resources";

    @Override
    public void beforeEach(ExtensionContext context) {
        context.getStore(NAMESPACE).put(BEFORE, Mapping.live());
        context.getStore(NAMESPACE).put(FILES, DiskFile.live());
        context.getStore(NAMESPACE).put(RESOURCES, ResourceLedger.open());
    }

    @Override
    public void afterEach(ExtensionContext context) {
        assertThat(Mapping.live())
                .as("mappings after the test")
                .isEqualTo(context.getStore(NAMESPACE).get(BEFORE, Long.class));
        assertThat(DiskFile.live())
                .as("files of the disk tier after the test")
                .isEqualTo(context.getStore(NAMESPACE).get(FILES, Long.class));
        assertThat(LibC.load().fcntl(STANDARD_INPUT, LibC.F_GETFL, 0) & LibC.O_NONBLOCK)
                .as("standard input is non-blocking, and surefire reads it")
                .isZero();
        assertThat(ResourceLedger.open())
                .as("objects on RDMA devices after the test")
                .isEqualTo(context.getStore(NAMESPACE).get(RESOURCES));
    }
}
