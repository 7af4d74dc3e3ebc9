// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.submit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The two things of Spark's launcher that are not public: which options spark-submit has, and the command that runs it.
 *
 * <p><b>Threading:</b> one thread; standard output is diverted while the launcher prints.
 */
final class SparkLauncherAccess {
    private static final String PARSER = "org.apache.spark.launcher.SparkSubmitOptionParser";
    private static final String MAIN = "org.apache.spark.launcher.Main";
    private static final String SUBMIT = "org.apache.spark.deploy.SparkSubmit";

    private SparkLauncherAccess() {}

    /** Returns the options that take a value; each with its names, the long one first. */
    static List<List<String>> valuedOptions() {
        return table("opts");
    }

    /** Returns the options without a value; each with its names, the long one first. */
    static List<List<String>> switches() {
        return table("switches");
    }

    private static List<List<String>> table(String field) {
        try {
            Class<?> parser = Class.forName(PARSER);
            Constructor<?> constructor = parser.getDeclaredConstructor();
            constructor.setAccessible(true);
            Field names = parser.getDeclaredField(field);
            names.setAccessible(true);
            List<List<String>> table = new ArrayList<>();
            for (String[] option : (String[][]) names.get(constructor.newInstance())) {
                table.add(List.of(option));
            }
            return table;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Spark's launcher differs from that of 4.1: no " + PARSER + "." + field, e);
        }
    }

    /** Returns the command that runs spark-submit with these arguments: what Spark's {@code spark-class} would run. */
    static List<String> command(List<String> arguments) throws IOException {
        List<String> all = new ArrayList<>();
        all.add(SUBMIT);
        all.addAll(arguments);
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream standard = System.out;
        try (PrintStream diverted = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
            System.setOut(diverted);
            Method main = Class.forName(MAIN).getDeclaredMethod("main", String[].class);
            main.setAccessible(true);
            main.invoke(null, (Object) all.toArray(String[]::new));
        } catch (InvocationTargetException e) {
            throw new IOException("Spark's launcher: " + e.getCause(), e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Spark's launcher differs from that of 4.1: no " + MAIN, e);
        } finally {
            System.setOut(standard);
        }
        // A line with a lone NUL, then the arguments, each ended by a NUL.
        String command = printed.toString(StandardCharsets.UTF_8);
        int start = command.indexOf("\0\n");
        return List.of(command.substring(start < 0 ? 0 : start + 2).split("\0", 0));
    }
}
