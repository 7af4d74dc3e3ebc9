// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.it.GroupedBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Records of {@link GroupedBytes} in the files of pools and disk tiers. */
final class StoredRecords {
    private static final String DISK_SUFFIX = ".data";

    private StoredRecords() {}

    /**
     * Counts map outputs of which a record lies somewhere as it was made.
     *
     * @param pools directory of pools
     * @param local directory below which disk tiers are, and Spark's own files
     * @param job whose records are looked for
     */
    static int count(Path pools, Path local, GroupedBytes job) throws IOException {
        int found = 0;
        List<Path> files = new ArrayList<>(PoolFolder.filesIn(pools));
        try (Stream<Path> all = Files.walk(local)) {
            all.filter(Files::isRegularFile).forEach(files::add);
        }
        for (Path file : files) {
            try (FileChannel open = FileChannel.open(file, StandardOpenOption.READ)) {
                found += places(open, job).size();
            }
        }
        return found;
    }

    /**
     * Overwrites a byte of a record of each map output that one executor has, in memory or on disk.
     *
     * @param pools directory of pools
     * @param local directory below which disk tiers are
     * @param job whose records are looked for
     * @return how many bytes were overwritten
     */
    static int damage(Path pools, Path local, GroupedBytes job) throws IOException {
        for (List<Path> files : filesByExecutor(pools, local)) {
            int damaged = 0;
            for (Path file : files) {
                damaged += damage(file, job);
            }
            if (damaged > 0) {
                return damaged;
            }
        }
        return 0;
    }

    /** The files of a pool have a directory of their own; those of a disk tier share a part of their names. */
    private static List<List<Path>> filesByExecutor(Path pools, Path local) throws IOException {
        Map<String, List<Path>> byName = new TreeMap<>();
        for (Path file : PoolFolder.filesIn(pools)) {
            byName.computeIfAbsent(String.valueOf(file.getParent()), pool -> new ArrayList<>())
                    .add(file);
        }
        try (Stream<Path> all = Files.walk(local)) {
            all.filter(StoredRecords::isOfDiskTier)
                    .forEach(file -> byName.computeIfAbsent(tierOf(file), tier -> new ArrayList<>())
                            .add(file));
        }
        return List.copyOf(byName.values());
    }

    static boolean isOfDiskTier(Path file) {
        String name = String.valueOf(file.getFileName());
        return name.startsWith("rdma-shuffle-") && name.endsWith(DISK_SUFFIX);
    }

    /** Returns the part of a name that all files of a disk tier in one directory share. */
    static String tierOf(Path file) {
        String name = file.toString();
        return name.substring(0, name.lastIndexOf('.', name.length() - DISK_SUFFIX.length() - 1));
    }

    private static int damage(Path path, GroupedBytes job) throws IOException {
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            List<Integer> places = places(file, job);
            ByteBuffer one = ByteBuffer.allocate(1);
            for (int place : places) {
                file.read(one.clear(), place);
                file.write(one.put(0, (byte) ~one.get(0)).flip(), place);
            }
            return places.size();
        }
    }

    /** Finds where first records of map outputs begin. */
    private static List<Integer> places(FileChannel file, GroupedBytes job) throws IOException {
        Set<Long> beginnings = IntStream.range(0, job.maps())
                .mapToObj(map -> ByteBuffer.wrap(job.firstRecord(map)).getLong())
                .collect(Collectors.toSet());
        List<Integer> places = new ArrayList<>();
        ByteBuffer stored = file.map(MapMode.READ_ONLY, 0, file.size());
        for (int i = 0; i <= stored.limit() - Long.BYTES; i++) {
            if (beginnings.contains(stored.getLong(i))) {
                places.add(i);
            }
        }
        return places;
    }
}
