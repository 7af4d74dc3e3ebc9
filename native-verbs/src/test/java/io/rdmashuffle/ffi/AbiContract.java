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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every size, offset and constant, compared with what a C compiler reads in the headers.
 *
 * <p>The probe is generated from the classes, so a field that is added is a field that is compared.
 */
@Tag("abi")
@Timeout(120)
abstract class AbiContract {
    /** What the expressions need. */
    static final String INCLUDES = """
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <poll.h>
            #include <pthread.h>
            #include <stddef.h>
            #include <stdio.h>
            #include <netinet/in.h>
            #include <sys/eventfd.h>
            #include <sys/file.h>
            #include <sys/mman.h>
            #include <sys/socket.h>
            #include <infiniband/verbs.h>
            #include <rdma/rdma_cma.h>
            """;

    /** What is not a struct. */
    private static final Map<String, String> C_TYPES =
            Map.of("ibv_gid", "union ibv_gid", "pthread_mutex_t", "pthread_mutex_t");

    @TempDir
    Path directory;

    /** Returns the values of C expressions, in their order; skips the test where there is no compiler for them. */
    abstract List<Long> evaluate(String name, List<String> expressions) throws Exception;

    /** Returns layouts as they are on the architecture that the expressions are evaluated for. */
    abstract Class<?> onTarget(Class<?> layouts) throws Exception;

    private Map<String, Long> layouts(Class<?>... owners) throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        for (Class<?> owner : owners) {
            for (Class<?> struct : onTarget(owner).getDeclaredClasses()) {
                String name = struct.getSimpleName();
                String type = C_TYPES.getOrDefault(name, "struct " + name);
                for (Field field : constants(struct)) {
                    String expression = field.getName().equals("SIZEOF")
                            ? "sizeof(" + type + ")"
                            : "offsetof(" + type + ", " + field.getName().replace("__", ".") + ")";
                    expected.put(expression, (long) field.getInt(null));
                }
            }
        }
        return expected;
    }

    private static Map<String, Long> constantsOf(Class<?>... owners) throws IllegalAccessException {
        Map<String, Long> expected = new LinkedHashMap<>();
        for (Class<?> owner : owners) {
            for (Field field : constants(owner)) {
                expected.put(field.getName(), ((Number) field.get(null)).longValue());
            }
        }
        return expected;
    }

    private static List<Field> constants(Class<?> owner) {
        List<Field> fields = new ArrayList<>();
        for (Field field : owner.getDeclaredFields()) {
            if (Modifier.isPublic(field.getModifiers()) && Modifier.isStatic(field.getModifiers())) {
                fields.add(field);
            }
        }
        return fields;
    }

    private void compare(String name, Map<String, Long> expected) throws Exception {
        List<String> expressions = List.copyOf(expected.keySet());
        List<Long> values = evaluate(name, expressions);
        assertThat(values).hasSameSizeAs(expressions);
        Map<String, Long> actual = new LinkedHashMap<>();
        for (String expression : expressions) {
            actual.put(expression, values.get(actual.size()));
        }
        List<String> mismatches = new ArrayList<>();
        expected.forEach((expression, java) -> {
            if (!java.equals(actual.get(expression))) {
                mismatches.add(expression + " is " + actual.get(expression) + " in C and " + java + " here");
            }
        });
        assertThat(mismatches).isEmpty();
    }

    @Test
    void layoutsOfVerbsAreThoseOfTheHeader() throws Exception {
        Map<String, Long> expected =
                layouts(VerbsLayout.class, DeviceLayout.class, QueueLayout.class, WorkLayout.class);
        assertThat(expected).hasSizeGreaterThan(330).containsKey("sizeof(struct ibv_send_wr)");
        compare("verbs", expected);
    }

    @Test
    void everyLayoutOfVerbsIsReachableByOneName() {
        assertThat(VerbsLayout.class.getInterfaces())
                .containsExactlyInAnyOrder(DeviceLayout.class, QueueLayout.class, WorkLayout.class);
    }

    @Test
    void layoutsOfTheConnectionManagerAreThoseOfTheHeader() throws Exception {
        Map<String, Long> expected = layouts(CmLayout.class);
        assertThat(expected)
                .hasSizeGreaterThan(80)
                .containsKey("offsetof(struct rdma_cm_event, param.conn.private_data)");
        compare("cm", expected);
    }

    @Test
    void constantsAreThoseOfTheHeaders() throws Exception {
        Map<String, Long> expected = constantsOf(VerbsConstants.class, CmConstants.class);
        assertThat(expected).hasSizeGreaterThan(230).containsKeys("IBV_WR_RDMA_READ", "RDMA_PS_TCP");
        compare("constants", expected);
    }

    @Test
    void constantsOfTheCLibraryAreThoseOfTheHeaders() throws Exception {
        Map<String, Long> expected = constantsOf(LibC.class);
        for (Errno errno : Errno.values()) {
            expected.put(errno.name(), (long) errno.number());
        }
        assertThat(expected).hasSizeGreaterThan(55).containsKeys("MAP_FAILED", "POLLIN", "EADDRNOTAVAIL");
        compare("libc", expected);
    }

    @Test
    void theMarkOfExtendedContextsIsThatOfTheHeader() throws Exception {
        compare("mark", Map.of("(size_t) __VERBS_ABI_IS_EXTENDED", ExtendedVerbs.VERBS_ABI_IS_EXTENDED));
    }
}
