// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.TPCDSSchema;

/**
 * The TPC-DS queries in Spark's own test jar: {@code q1} to {@code q99} of version 1.4, where some come as {@code a}
 * and {@code b}, and the ones that version 2.7 changed, as {@code q5a-v2.7}.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class QueryCatalogue {
    private static final String SUFFIX_27 = "-v2.7";
    private static final Pattern RESOURCE = Pattern.compile("tpcds(-v2\\.7\\.0)?/(q(\\d+)([a-z]?))\\.sql");
    private static final Pattern NAME = Pattern.compile("(q\\d+[a-z]?)(-v2\\.7)?");

    /** The names in the order of their numbers, version 1.4 first. */
    private final List<String> names;

    private QueryCatalogue(List<String> names) {
        this.names = List.copyOf(names);
    }

    /** Lists the queries of the test jar on the class path. */
    public static QueryCatalogue load() throws IOException {
        String jar = TPCDSSchema.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .getPath();
        List<Found> found = new ArrayList<>();
        try (JarFile file = new JarFile(jar)) {
            for (JarEntry entry : (Iterable<JarEntry>) file.stream()::iterator) {
                Matcher matcher = RESOURCE.matcher(entry.getName());
                if (matcher.matches()) {
                    found.add(new Found(
                            matcher.group(1) != null,
                            Integer.parseInt(matcher.group(3)),
                            matcher.group(4),
                            matcher.group(2)));
                }
            }
        }
        return new QueryCatalogue(found.stream()
                .sorted(Comparator.comparing(Found::later)
                        .thenComparing(Found::number)
                        .thenComparing(Found::letter))
                .map(query -> query.later() ? query.name() + SUFFIX_27 : query.name())
                .toList());
    }

    private record Found(boolean later, int number, String letter, String name) {}

    /** Returns every name, those of version 2.7 included. */
    public List<String> names() {
        return names;
    }

    /** Returns the names that {@code all} stands for: the 99 of version 1.4 with their variants. */
    public List<String> all() {
        return names.stream().filter(name -> !name.endsWith(SUFFIX_27)).toList();
    }

    /**
     * Turns what a user wrote into names, in that order and without repetition; {@code q14} stands for {@code q14a} and
     * {@code q14b}.
     *
     * @throws IllegalArgumentException if a name is unknown; the message lists the valid ones
     */
    public List<String> resolve(List<String> wanted) {
        Set<String> resolved = new LinkedHashSet<>();
        for (String written : wanted) {
            String name = written.strip().toLowerCase(Locale.ROOT);
            if (name.equals("all")) {
                resolved.addAll(all());
            } else if (names.contains(name)) {
                resolved.add(name);
            } else {
                resolved.addAll(variants(name));
            }
        }
        return List.copyOf(resolved);
    }

    private List<String> variants(String name) {
        List<String> variants = names.stream()
                .filter(known -> known.matches(Pattern.quote(name) + "[a-z]"))
                .toList();
        if (variants.isEmpty()) {
            throw new IllegalArgumentException(
                    "unknown query '" + name + "'; valid are all, " + String.join(", ", names));
        }
        return variants;
    }

    /** Returns the text of a query. */
    public String text(String name) throws IOException {
        Matcher matcher = NAME.matcher(name);
        if (!names.contains(name) || !matcher.matches()) {
            throw new IllegalArgumentException("unknown query '" + name + "'");
        }
        String folder = matcher.group(2) == null ? "tpcds/" : "tpcds-v2.7.0/";
        String resource = folder + matcher.group(1) + ".sql";
        try (InputStream stream = TPCDSSchema.class.getClassLoader().getResourceAsStream(resource)) {
            if (stream == null) {
                throw new IOException("no resource " + resource);
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
