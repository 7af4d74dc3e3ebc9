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
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every size, offset and constant, compared with what a C compiler reads in the headers.
 *
 * <p>The probe is generated from the classes, so a field that is added is a field that is compared. It holds for every
 * rdma-core: what a newer one adds where a struct may grow is allowed for. Headers that are older than what the classes
 * were written from lack names; with {@code -Drdmashuffle.abi.older=true} these are printed and left out.
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
            #include <signal.h>
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

    /** Layouts that are not structs. */
    private static final Map<String, String> C_TYPES =
            Map.of("ibv_gid", "union ibv_gid", "pthread_mutex_t", "pthread_mutex_t");

    /** Structs that libraries fill up to a given length, or to the length of an earlier version. */
    private static final Set<String> GROW_AT_THE_END = Set.of("ibv_port_attr");

    /** Structs that grow at the front, with the field from which the others are found. */
    private static final Map<String, String> GROW_AT_THE_FRONT = Map.of("verbs_context", "context");

    /** As the compiler calls them, whatever its quotation marks. */
    private static final Pattern UNKNOWN =
            Pattern.compile("error: \\W+(\\w+)\\W+undeclared|has no member named \\W+(\\w+)");

    private static final boolean OLDER = Boolean.getBoolean("rdmashuffle.abi.older");

    @TempDir
    Path directory;

    /** Compiles a probe of C expressions, and runs it where it can be run. */
    abstract CCompiler.Result compile(String name, List<String> expressions) throws Exception;

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
                String anchor = GROW_AT_THE_FRONT.get(name);
                String from = anchor == null ? "" : " - offsetof(" + type + ", " + anchor + ")";
                long fromHere = anchor == null ? 0 : struct.getField(anchor).getInt(null);
                for (Field field : constants(struct)) {
                    int value = field.getInt(null);
                    if (!field.getName().equals("SIZEOF")) {
                        String offset =
                                "offsetof(" + type + ", " + field.getName().replace("__", ".") + ")";
                        expected.put(withSign(offset + from), value - fromHere);
                    } else if (GROW_AT_THE_END.contains(name)) {
                        expected.put("sizeof(" + type + ") >= " + value, 1L);
                    } else {
                        expected.put(withSign("sizeof(" + type + ")" + from), value - fromHere);
                    }
                }
            }
        }
        return expected;
    }

    private static String withSign(String expression) {
        return expression.contains(" - ") ? "(long) (" + expression + ")" : expression;
    }

    /** Returns what the headers do not know of the names in C expressions. */
    private Set<String> unknown(String name, List<String> expressions) throws Exception {
        Set<String> names = new TreeSet<>();
        Matcher matcher = UNKNOWN.matcher(compile(name + "-names", expressions).output());
        while (matcher.find()) {
            names.add(matcher.group(1) == null ? matcher.group(2) : matcher.group(1));
        }
        return names;
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
        if (OLDER) {
            Set<String> unknown = unknown(name, List.copyOf(expected.keySet()));
            System.out.println("unknown to these headers: " + unknown);
            expected.keySet()
                    .removeIf(expression ->
                            unknown.stream().anyMatch(each -> expression.matches(".*\\b" + each + "\\b.*")));
        }
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
        Map<String, Long> expected = constantsOf(onTarget(LibC.class));
        for (Errno errno : Errno.values()) {
            expected.put(errno.name(), (long) errno.number());
        }
        assertThat(expected).hasSizeGreaterThan(55).containsKeys("MAP_FAILED", "O_NOFOLLOW", "POLLIN", "EADDRNOTAVAIL");
        compare("libc", expected);
    }

    @Test
    void theMarkOfExtendedContextsIsThatOfTheHeader() throws Exception {
        compare(
                "mark",
                new LinkedHashMap<>(Map.of("(size_t) __VERBS_ABI_IS_EXTENDED", ExtendedVerbs.VERBS_ABI_IS_EXTENDED)));
    }
}
