// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.conf;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ConfigReader.Order;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Values, pairs of values and keys that cannot be, for every entry there is: refused by name, never the default
 * instead.
 */
@Tag("unit")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadConfigurationTest {
    /** No entry can read these. */
    private static final List<String> RUBBISH = List.of(
            "",
            " ",
            "\t",
            "\u00a0",
            "\0",
            "a b",
            "1 g",
            "5 s",
            "1,",
            ",",
            "--",
            "${spark.x}",
            "1m;2m",
            "\u0663",
            "\uff11",
            "\ud800",
            "x".repeat(100_000) + " ");

    /** These are no numbers, but might be the names of a device. */
    private static final List<String> NO_NUMBERS = List.of(
            "NaN",
            "Infinity",
            "-Infinity",
            "null",
            "rubbish",
            "1.5",
            "1.5g",
            "1e3",
            "0x10",
            "+1",
            "-1",
            "-1g",
            "-1s",
            "--1",
            "1x",
            "1gg",
            "1kib",
            "99999999999g",
            "9999999999999p",
            "9999999999d",
            "106752d",
            "9223372036854775808",
            "99999999999999999999",
            "yes");

    private static final List<String> NO_NAMES =
            List.of("", "a b", ",", "a,", ",a", "a,,b", "a/b", "a\0", "ä", "x".repeat(65), "a,".repeat(16) + "a");
    private static final List<String> NO_PORTS = List.of(
            "mlx5_0:",
            "mlx5_0:x",
            ":1",
            "mlx5_0:0",
            "mlx5_0:255",
            "mlx5_0:-1",
            "mlx5_0:1:",
            "mlx5_0:1:2:3",
            "mlx5_0,,mlx5_1",
            "mlx5_0,mlx5_0",
            "auto,mlx5_0",
            "mlx5_0,auto",
            "auto:1",
            "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q");

    @Test
    void noEntryReadsRubbish() {
        try (FuzzRun run = new FuzzRun("configuration values")) {
            for (ConfigEntry<?> entry : ShuffleConfig.entries()) {
                badValues(entry)
                        .forEach(raw -> run.attempt(() -> entry + "=" + raw, raw.length(), () -> {
                            assertThat(problemOf(entry, raw)).isNotNull();
                            return false;
                        }));
            }
        }
    }

    @Test
    void whateverIsWrittenIsReadAsItIsOrRefused() {
        try (FuzzRun run = new FuzzRun("configuration values at random")) {
            Mutations mutations = new Mutations(run.random());
            for (ConfigEntry<?> entry : ShuffleConfig.entries()) {
                List<String> good = goodValues(entry);
                for (int round = 0; round < run.times(200); round++) {
                    byte[] bytes = good.get(run.random().nextInt(good.size())).getBytes(StandardCharsets.ISO_8859_1);
                    byte[] changed = run.random().nextInt(4) == 0 ? mutations.garbage(12) : oneChange(run, bytes);
                    String raw = new String(changed, StandardCharsets.ISO_8859_1);
                    run.attempt(() -> entry + "=" + raw, raw.length(), () -> problemOf(entry, raw) == null);
                }
            }
        }
    }

    @Test
    void everyContradictionNamesBothKeysAndDefaultsGiveWay() {
        try (FuzzRun run = new FuzzRun("configuration contradictions")) {
            ShuffleConfig.ORDERS.forEach(order -> tryOrder(run, order));
            tryRule(run, ShuffleConfig.DIRECTORY_IN_REGION, "1048576", "1m");
            tryRule(run, ShuffleConfig.DIRECTORY_IN_REGION, "16384", "1m");
            tryRule(run, ShuffleConfig.DIRECTORY_IN_POOL, "1048576", "64m");
            tryRule(run, ShuffleConfig.REGIONS_OF_POOL, "1m", "1p");
            tryRule(run, ShuffleConfig.REGIONS_OF_POOL, "16m", "1025g");
        }
    }

    @Test
    void everyMisspeltKeyIsRefusedWithTheOneThatWasMeant() {
        try (FuzzRun run = new FuzzRun("configuration keys")) {
            for (ConfigEntry<?> entry : ShuffleConfig.entries()) {
                for (String key : misspelt(entry.key())) {
                    run.attempt(() -> key, key.length(), () -> {
                        assertThat(problems(Map.of(key, "1")))
                                .containsExactly(key + ": no such key; the nearest is " + entry.key());
                        return false;
                    });
                }
            }
        }
    }

    private static List<String> badValues(ConfigEntry<?> entry) {
        if (entry.type().equals(ValueType.NAMES)) {
            return NO_NAMES;
        }
        List<String> bad = new ArrayList<>(RUBBISH);
        if (entry.type().equals(ValueType.PORTS)) {
            bad.addAll(NO_PORTS);
            return bad;
        }
        bad.addAll(NO_NUMBERS);
        Object min = entry.min();
        Object max = entry.max();
        boolean readsOne = min instanceof Long low ? low <= 1 : min instanceof Integer least && least <= 1;
        if (!readsOne) {
            bad.add("1");
        }
        if (min instanceof Long low && max instanceof Long high) {
            bad.addAll(List.of((low - 1) + "", (high + 1) + "", "8e", "5s", "1ms", Long.MAX_VALUE + ""));
        } else if (min instanceof Integer low && max instanceof Integer high) {
            bad.addAll(List.of((low - 1) + "", (high + 1L) + "", Integer.MIN_VALUE + "", "1k", "1s", "2147483648"));
        } else if (min instanceof Duration low && max instanceof Duration high) {
            bad.addAll(
                    List.of("1g", "1k", "1ns", "1month", low.toNanos() / 1000 - 1 + "us", high.toMillis() + 1 + "ms"));
        } else if (entry.type().equals(ValueType.PATH)) {
            bad.addAll(List.of("tmp", "./x", "~/x", "file:///dev/shm", "/a\0b", "/" + "x".repeat(5000)));
        }
        return bad;
    }

    private static <T extends Comparable<T>> List<String> goodValues(ConfigEntry<T> entry) {
        List<String> good = new ArrayList<>(entry.type().choices());
        good.add(entry.format(entry.defaultValue()));
        T min = entry.min();
        T max = entry.max();
        if (min != null && max != null) {
            good.add(entry.format(min));
            good.add(entry.format(max));
        }
        return good;
    }

    private static byte[] oneChange(FuzzRun run, byte[] text) {
        byte[] changed = text.clone();
        changed[run.random().nextInt(changed.length)] =
                (byte) (' ' + run.random().nextInt(95));
        return changed;
    }

    /** Returns the reason why a single value is refused; null if it is accepted. */
    private static <T extends Comparable<T>> @Nullable String problemOf(ConfigEntry<T> entry, String raw) {
        List<String> problems = new ArrayList<>();
        T value = entry.read(raw, problems::add);
        if (problems.isEmpty()) {
            assertThat(value).isEqualTo(entry.type().parser().apply(raw.strip()));
            assertThat(entry.type().parser().apply(entry.format(value))).isEqualTo(value);
            return null;
        }
        String start = raw.length() > 200 ? raw.substring(0, 200) + "..." : raw;
        assertThat(problems)
                .hasSize(1)
                .first()
                .asString()
                .startsWith(entry.key() + "=" + start.replaceAll("\\p{Cntrl}", "?") + ": ")
                .contains("must be " + entry.range())
                .endsWith("(" + entry.unit() + ")")
                .hasSizeLessThan(1000);
        assertThat(problems(Map.of(entry.key(), raw))).containsAll(problems);
        return problems.get(0);
    }

    private static <T extends Comparable<T>> void tryOrder(FuzzRun run, Order<T> order) {
        ConfigEntry<T> smaller = order.smaller();
        ConfigEntry<T> larger = order.larger();
        String high = smaller.format(Objects.requireNonNull(smaller.max()));
        // The least value of this entry is a word.
        String low = larger.equals(ShuffleConfig.POOL_REGION_SIZE)
                ? "1m"
                : larger.format(Objects.requireNonNull(larger.min()));
        run.attempt(() -> smaller + "=" + high + ", " + larger + "=" + low, 0, () -> {
            assertThat(problems(Map.of(smaller.key(), high, larger.key(), low)))
                    .anyMatch(problem -> problem.startsWith(smaller.key() + "=" + high + ": must not be above "
                            + larger.key() + "=" + low + "; allowed: " + smaller.range()));
            return false;
        });
        run.attempt(() -> larger + "=" + low + " alone", 0, () -> {
            ShuffleConfig config = ShuffleConfig.read(Map.of(larger.key(), low));
            assertThat(config.get(smaller)).isLessThanOrEqualTo(config.get(larger));
            assertThat(config.get(larger)).isEqualTo(larger.type().parser().apply(low));
            return true;
        });
    }

    private static void tryRule(FuzzRun run, ConfigReader.Rule<?, ?> rule, String first, String second) {
        Map<String, String> settings = new HashMap<>();
        settings.put(rule.first().key(), first);
        settings.put(rule.second().key(), second);
        run.attempt(settings::toString, 0, () -> {
            assertThat(problems(settings))
                    .anyMatch(problem -> problem.startsWith(rule.first().key() + "=")
                            && problem.contains(
                                    ": does not go with " + rule.second().key() + "=")
                            && problem.endsWith(rule.demand()));
            return false;
        });
    }

    private static List<String> misspelt(String key) {
        int dot = ShuffleConfig.PREFIX.length();
        String local = key.substring(dot);
        return List.of(
                ShuffleConfig.PREFIX + local.substring(0, local.length() - 1),
                key + "s",
                ShuffleConfig.PREFIX + local.substring(1),
                ShuffleConfig.PREFIX + local.toUpperCase(Locale.ROOT),
                "spark.shuffle.RDMA." + local);
    }

    private static List<String> problems(Map<String, String> settings) {
        try {
            ShuffleConfig accepted = ShuffleConfig.read(settings);
            throw new AssertionError(settings + " was accepted: " + accepted);
        } catch (ConfigException e) {
            assertThat(e.getMessage()).contains(e.problems());
            return e.problems();
        }
    }
}
