// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/**
 * A test of Spark that fails with this shuffle for a good reason.
 *
 * @param suite the suite of Spark, fully qualified
 * @param test the test's whole name
 * @param reason why it must fail
 * @param equivalent our test that says the same of this shuffle: class, {@code #}, method
 */
record Exemption(String suite, String test, String reason, String equivalent) {
    private static final String RESOURCE = "exemptions.json";

    /** Reads the committed list. */
    static List<Exemption> load() throws IOException {
        try (InputStream stream = Exemption.class.getResourceAsStream(RESOURCE)) {
            if (stream == null) {
                throw new IOException("no resource " + RESOURCE + " beside " + Exemption.class.getName());
            }
            return List.of(new ObjectMapper().readValue(stream, Exemption[].class));
        }
    }
}
