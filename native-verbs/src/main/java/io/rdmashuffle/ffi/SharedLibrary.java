// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.Library;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.stream.Stream;
import jnr.ffi.LibraryLoader;
import org.jspecify.annotations.Nullable;

/**
 * Result of binding a shared library: its functions, or the failure.
 *
 * <p>After a static initializer has thrown, the JVM reports NoClassDefFoundError without a cause. This keeps the cause,
 * and every {@link #functions()} reports it.
 *
 * <p><b>Threading:</b> immutable. <b>Ownership:</b> a library stays loaded until the process ends.
 */
final class SharedLibrary<T> {
    private final Class<T> type;
    private final String soname;
    private final String remedy;
    private final @Nullable T functions;
    private final @Nullable Throwable failure;

    private SharedLibrary(
            Class<T> type, String soname, String remedy, @Nullable T functions, @Nullable Throwable failure) {
        this.type = type;
        this.soname = soname;
        this.remedy = remedy;
        this.functions = functions;
        this.failure = failure;
    }

    /**
     * Tries to bind, and never throws for what a machine lacks.
     *
     * @param soname the versioned name, {@code libibverbs.so.1}: jnr-ffi passes it to dlopen as it is, so the runtime
     *     package is enough and the loader's search order holds; {@code ibverbs} would mean a search for files by
     *     jnr-ffi
     * @param remedy what to install
     */
    static <T> SharedLibrary<T> bind(Class<T> type, String soname, String remedy) {
        try {
            T functions = LibraryLoader.create(type).failImmediately().load(soname);
            return new SharedLibrary<>(type, soname, remedy, functions, null);
        } catch (LinkageError | RuntimeException e) {
            return new SharedLibrary<>(type, soname, remedy, null, e);
        }
    }

    /** Returns the functions, or throws {@link UnsatisfiedLinkError} with the cause: each time, with the same one. */
    T functions() {
        if (functions == null) {
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(
                    "cannot load " + soname + ": " + (failure == null ? "" : failure.getMessage()) + "; " + remedy);
            error.initCause(failure);
            throw error;
        }
        return functions;
    }

    /**
     * Returns the names of the functions that the library lacks, in order: each of them is bound when it is first
     * called, and throws {@link UnsatisfiedLinkError} then. Throws it here if there is no library.
     */
    List<String> missing() {
        functions();
        Library library = Library.getCachedInstance(soname, Library.LAZY | Library.LOCAL);
        return Stream.of(type.getMethods())
                .filter(method -> Modifier.isAbstract(method.getModifiers()))
                .map(Method::getName)
                .filter(name -> library == null || library.getSymbolAddress(name) == 0)
                .sorted()
                .toList();
    }
}
