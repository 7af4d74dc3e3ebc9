// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves a native object open. */
public final class LeakCheck implements AfterEachCallback {
    @Override
    public void afterEach(ExtensionContext context) {
        assertThat(ResourceLedger.open()).as("native objects left open").isEmpty();
    }
}
