// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every offset and constant of libfabric, compared with what a C compiler reads in its headers; those of another
 * version are in {@code -Drdmashuffle.ofi.headers=DIRECTORY}.
 */
@Tag("ofi-abi")
@Timeout(120)
class LibFabricAbiTest {
    private static final String HEADERS = System.getProperty("rdmashuffle.ofi.headers", "/usr/include");
    private static final String INCLUDES = """
            #include <signal.h>
            #include <stddef.h>
            #include <stdio.h>
            #include <sys/uio.h>
            """
            + List.of("fabric", "fi_domain", "fi_endpoint", "fi_cm", "fi_rma", "fi_eq", "fi_errno").stream()
                    .map(header -> "#include \"" + HEADERS + "/rdma/" + header + ".h\"\n")
                    .collect(Collectors.joining());

    @TempDir
    Path directory;

    private void compare(String name, Map<String, Long> expected) throws Exception {
        CCompiler.Result headers = CCompiler.program(directory, "headers", INCLUDES + "int main(void) { return 0; }\n");
        Requirements.require(headers.ok(), "no headers: apt-get install libfabric-dev; " + headers.output());
        StringBuilder source = new StringBuilder(INCLUDES).append("int main(void) {\n");
        expected.keySet()
                .forEach(expression -> source.append("    printf(\"%lld\\n\", (long long) (")
                        .append(expression)
                        .append("));\n"));
        CCompiler.Result result = CCompiler.program(
                directory, name, source.append("    return 0;\n}\n").toString());
        assertThat(result.ok()).as(result.output()).isTrue();
        List<Long> values = result.output().lines().map(Long::valueOf).toList();
        List<String> mismatches = new ArrayList<>();
        int next = 0;
        for (Map.Entry<String, Long> each : expected.entrySet()) {
            long value = values.get(next++);
            if (value != each.getValue()) {
                mismatches.add(each.getKey() + " is " + value + " in C and " + each.getValue() + " here");
            }
        }
        assertThat(mismatches).isEmpty();
    }

    private static List<Field> constants(Class<?> owner) {
        return List.of(owner.getDeclaredFields()).stream()
                .filter(field -> Modifier.isPublic(field.getModifiers()) && Modifier.isStatic(field.getModifiers()))
                .toList();
    }

    @Test
    void layoutsAreThoseOfTheHeaders() throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        for (Class<?> struct : LibFabricLayout.class.getDeclaredClasses()) {
            String type = "struct " + struct.getSimpleName();
            for (Field field : constants(struct)) {
                long value = field.getInt(null);
                switch (field.getName()) {
                    case "SIZEOF" -> expected.put("sizeof(" + type + ")", value);
                    // Newer versions add fields, and a library fills all that it knows.
                    case "ROOM" -> expected.put("sizeof(" + type + ") <= " + value, 1L);
                    default -> expected.put("offsetof(" + type + ", " + field.getName() + ")", value);
                }
            }
        }
        assertThat(expected).hasSizeGreaterThan(80).containsKey("offsetof(struct fi_ops_rma, readmsg)");
        compare("layouts", expected);
    }

    @Test
    void constantsAreThoseOfTheHeaders() throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        for (Field field : constants(LibFabricConstants.class)) {
            expected.put(field.getName(), ((Number) field.get(null)).longValue());
        }
        assertThat(expected).hasSizeGreaterThan(20).containsKey("FI_MR_PROV_KEY");
        compare("constants", expected);
    }

    /** Tables begin with their length, all at the same place. */
    @Test
    void tablesBeginWithTheirLength() throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        for (String table : List.of(
                "fi_ops",
                "fi_ops_fabric",
                "fi_ops_domain",
                "fi_ops_mr",
                "fi_ops_av",
                "fi_ops_cq",
                "fi_ops_cm",
                "fi_ops_msg",
                "fi_ops_rma")) {
            expected.put("offsetof(struct " + table + ", size)", (long) LibFabricLayout.fi_ops.size);
        }
        expected.put("sizeof(struct sigaction)", 152L);
        compare("tables", expected);
    }
}
