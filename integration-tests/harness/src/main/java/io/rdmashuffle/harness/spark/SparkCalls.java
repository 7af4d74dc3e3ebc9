// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.spark;

import io.rdmashuffle.spark.compat.ScalaCollections;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import scala.collection.Seq;

/**
 * Reflective calls of methods that differ between Spark versions: methods with {@code Seq}, which is another class in
 * Scala 2.12 than in 2.13, and methods that older versions lack.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class SparkCalls {
    private SparkCalls() {}

    /** Returns whether this Spark has a method. */
    public static boolean has(Class<?> type, String method) {
        return Arrays.stream(type.getMethods()).anyMatch(each -> each.getName().equals(method));
    }

    /** Calls a method that returns a {@code Seq}, of which only one has this name and number of arguments. */
    @SuppressWarnings("unchecked") // The caller knows what Spark says that the method returns.
    public static <T> List<T> list(Object target, String method, Object... arguments) {
        return ScalaCollections.list(((Seq<T>) call(target, method, arguments)).iterator());
    }

    /** Calls a method of which only one has this name and number of arguments; a list of Scala is a {@code Seq}. */
    public static Object call(Object target, String method, Object... arguments) {
        List<Method> found = Arrays.stream(target.getClass().getMethods())
                .filter(each -> each.getName().equals(method)
                        && each.getParameterCount() == arguments.length
                        && !each.isBridge())
                .toList();
        if (found.size() != 1) {
            throw new IllegalArgumentException("there are " + found.size() + " methods "
                    + target.getClass().getName() + "." + method + " with " + arguments.length + " arguments");
        }
        Method only = found.get(0);
        try {
            // What overrides it may be in a class that is not public.
            only.setAccessible(true);
            return only.invoke(target, arguments);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(only + " cannot be called", e);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(only + " failed", e.getCause());
        }
    }
}
