// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;

import com.kenai.jffi.Function;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.Library;
import com.kenai.jffi.Type;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import jnr.ffi.LibraryLoader;
import jnr.ffi.types.u_int16_t;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every function of {@link IbVerbs} and {@link RdmaCm}, called through jnr-ffi in a library that was generated from
 * their signatures and writes down what arrives.
 *
 * <p>jnr-ffi compiles a stub per signature. The one for six plain numbers garbles the sixth on x86-64 (jnr-ffi 2.3.0,
 * jffi 1.4.0), so there is no such function here, and no other shape goes unchecked.
 */
@Tag("abi")
@Timeout(120)
class CallingConventionTest {
    private static final String PRELUDE = """
            #include <stdint.h>
            static uint64_t seen[8];
            uint64_t seen_at(int index) { return seen[index]; }
            """;

    /** All bits of interest set: high halves, sign bits, and different in each place. */
    private static final long[] PATTERNS = {
        0x1111111192222222L, 0xFEDCBA9876543210L, 0x3333333384444444L, 0x80000000F0000001L, 0x5555555596666666L
    };

    private static final long RETURNED_LONG = 0xFEDCBA9876543210L;
    private static final int RETURNED_INT = 0x8765FEDC;

    @TempDir
    Path directory;

    /** What the generated library adds. */
    public interface Seen {
        long seen_at(int index);
    }

    @BeforeEach
    void compiler() throws Exception {
        Requirements.compiler(directory);
    }

    private static List<Method> functions(Class<?> library) {
        return Arrays.stream(library.getDeclaredMethods())
                .filter(method -> Modifier.isAbstract(method.getModifiers()))
                .toList();
    }

    private static String cType(Class<?> type) {
        return switch (type.getSimpleName()) {
            case "void" -> "void";
            case "byte" -> "uint8_t";
            case "int" -> "int32_t";
            case "long" -> "uint64_t";
            case "String" -> "const char *";
            default -> throw new IllegalArgumentException("no C type here for " + type);
        };
    }

    /** A C function that keeps its arguments, sign-extended where C would, and returns a known value. */
    private static String definition(Method method) {
        List<String> parameters = new ArrayList<>();
        StringBuilder body = new StringBuilder();
        Class<?>[] types = method.getParameterTypes();
        for (int i = 0; i < types.length; i++) {
            parameters.add(cType(types[i]) + " a" + i);
            body.append("seen[")
                    .append(i)
                    .append("] = (uint64_t) (int64_t) a")
                    .append(i)
                    .append("; ");
        }
        String result = switch (method.getReturnType().getSimpleName()) {
            case "void" -> "";
            case "int" -> "return (int32_t) " + RETURNED_INT + "; ";
            case "long" -> "return 0x" + Long.toHexString(RETURNED_LONG) + "UL; ";
            default -> "return \"" + method.getName() + "\"; ";
        };
        return cType(method.getReturnType()) + " " + method.getName() + "("
                + (parameters.isEmpty() ? "void" : String.join(", ", parameters)) + ") { " + body + result + "}\n";
    }

    private static Object returned(Method method) {
        return switch (method.getReturnType().getSimpleName()) {
            case "int" -> method.isAnnotationPresent(u_int16_t.class) ? RETURNED_INT & 0xFFFF : RETURNED_INT;
            case "long" -> RETURNED_LONG;
            case "String" -> method.getName();
            default -> "nothing";
        };
    }

    private static Object argument(Class<?> type, long pattern) {
        return switch (type.getSimpleName()) {
            case "byte" -> (byte) 148;
            case "int" -> (int) pattern;
            default -> pattern;
        };
    }

    private static long arrived(Class<?> type, long pattern) {
        return switch (type.getSimpleName()) {
            case "byte" -> 148;
            case "int" -> (int) pattern;
            default -> pattern;
        };
    }

    private <T> void callAll(Class<T> type) throws Exception {
        List<Method> functions = functions(type);
        StringBuilder source = new StringBuilder(PRELUDE);
        functions.forEach(method -> source.append(definition(method)));
        Path path = CCompiler.library(directory, type.getSimpleName(), source.toString());
        T library = LibraryLoader.create(type).failImmediately().load(path.toString());
        Seen seen = LibraryLoader.create(Seen.class).failImmediately().load(path.toString());
        for (Method method : functions) {
            Class<?>[] types = method.getParameterTypes();
            Object[] arguments = new Object[types.length];
            for (int i = 0; i < types.length; i++) {
                arguments[i] = argument(types[i], PATTERNS[i]);
            }
            Object result = method.invoke(library, arguments);
            assertThat(result == null ? "nothing" : result)
                    .as("result of " + method)
                    .isEqualTo(returned(method));
            for (int i = 0; i < types.length; i++) {
                assertThat(seen.seen_at(i))
                        .as("argument " + i + " of " + method)
                        .isEqualTo(arrived(types[i], PATTERNS[i]));
            }
        }
    }

    @Test
    void everyArgumentAndResultOfVerbsArrives() throws Exception {
        assertThat(functions(IbVerbs.class)).hasSizeGreaterThan(30);
        callAll(IbVerbs.class);
    }

    @Test
    void connectionManagerArgumentsAndResultsArrive() throws Exception {
        assertThat(functions(RdmaCm.class)).hasSizeGreaterThan(24);
        callAll(RdmaCm.class);
    }

    /** As {@link LibC} calls mmap: jffi itself garbles nothing. */
    @Test
    void sixArgumentsArriveThroughJffi() throws Exception {
        Path path = CCompiler.library(directory, "six", PRELUDE + """
                          uint64_t six(uint64_t a, uint64_t b, int c, int d, int e, uint64_t f) {
                              seen[0] = a; seen[1] = b; seen[2] = (int64_t) c; seen[3] = (int64_t) d;
                              seen[4] = (int64_t) e; seen[5] = f;
                              return b;
                          }
                          """);
        Seen seen = LibraryLoader.create(Seen.class).failImmediately().load(path.toString());
        long address = Library.openLibrary(path.toString(), Library.NOW).getSymbolAddress("six");
        Function six = new Function(
                address, Type.POINTER, Type.POINTER, Type.ULONG, Type.SINT, Type.SINT, Type.SINT, Type.SINT64);
        assertThat(Invoker.getInstance().invokeNNNNNNrN(six, 0, PATTERNS[1], -3, -4, -5, PATTERNS[2]))
                .isEqualTo(PATTERNS[1]);
        assertThat(Stream.of(0, 1, 2, 3, 4, 5).map(seen::seen_at))
                .containsExactly(0L, PATTERNS[1], -3L, -4L, -5L, PATTERNS[2]);
    }

    @Test
    void noFunctionOfJnrTakesSixPlainNumbers() {
        assertThat(Stream.of(IbVerbs.class, RdmaCm.class).flatMap(type -> functions(type).stream()))
                .noneMatch(method -> method.getParameterCount() > 5);
    }
}
