// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import com.esotericsoftware.kryo.kryo5.io.Input;
import com.esotericsoftware.kryo.kryo5.io.Output;
import io.rdmashuffle.registry.RegistryMessage.Report;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes the fields of a {@link Report}.
 *
 * <p><b>Threading:</b> stateless.
 */
final class ReportSerializer {
    static final int MAX_LATENCIES = 256;
    static final int MAX_PATHS = 16;

    private ReportSerializer() {}

    static void write(Output out, Report report) {
        writeName(out, report.executorId());
        writeName(out, report.host());
        out.writeBoolean(report.last());
        writeCounters(out, report.counters());
        BoundedFields.writeCount(out, report.readLatencies().size(), MAX_LATENCIES, "latencies");
        report.readLatencies().forEach(count -> out.writeVarLong(count, true));
        BoundedFields.writeCount(out, report.paths().size(), MAX_PATHS, "paths");
        report.paths().forEach(group -> {
            writeName(out, group.path());
            out.writeVarInt(group.executors(), true);
            writeNames(out, group.some());
        });
        writeNames(out, report.quarantined());
        BoundedFields.writeText(out, report.whyNotRdma(), MessageSerializers.MAX_REASON_BYTES, "reason");
    }

    static Report read(Input in) {
        return new Report(
                readName(in),
                readName(in),
                in.readBoolean(),
                readCounters(in),
                readLatencies(in),
                readPaths(in),
                readNames(in),
                BoundedFields.readText(in, MessageSerializers.MAX_REASON_BYTES, "reason"));
    }

    static void writeCounters(Output out, Map<String, Long> counters) {
        BoundedFields.writeCount(out, counters.size(), MessageSerializers.MAX_COUNTERS, "counters");
        counters.forEach((name, value) -> {
            writeName(out, name);
            out.writeVarLong(value, false);
        });
    }

    static Map<String, Long> readCounters(Input in) {
        int count = BoundedFields.readCount(in, MessageSerializers.MAX_COUNTERS, "counters");
        Map<String, Long> counters = new HashMap<>();
        for (int i = 0; i < count; i++) {
            counters.put(readName(in), in.readVarLong(false));
        }
        return counters;
    }

    private static List<Long> readLatencies(Input in) {
        int count = BoundedFields.readCount(in, MAX_LATENCIES, "latencies");
        List<Long> latencies = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            latencies.add(in.readVarLong(true));
        }
        return latencies;
    }

    private static List<PathGroup> readPaths(Input in) {
        int count = BoundedFields.readCount(in, MAX_PATHS, "paths");
        List<PathGroup> paths = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            paths.add(new PathGroup(readName(in), in.readVarInt(true), readNames(in)));
        }
        return paths;
    }

    private static void writeNames(Output out, List<String> names) {
        BoundedFields.writeCount(out, names.size(), PathGroup.MAX_NAMED, "names");
        names.forEach(name -> writeName(out, name));
    }

    private static List<String> readNames(Input in) {
        int count = BoundedFields.readCount(in, PathGroup.MAX_NAMED, "names");
        List<String> names = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            names.add(readName(in));
        }
        return names;
    }

    private static void writeName(Output out, String name) {
        BoundedFields.writeText(out, name, Member.MAX_NAME_BYTES, "name");
    }

    private static String readName(Input in) {
        return BoundedFields.readText(in, Member.MAX_NAME_BYTES, "name");
    }
}
