// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What of a process's resident memory is pools, in MiB.
 *
 * <p><b>Threading:</b> immutable. <b>Source:</b> proc(5), {@code smaps}.
 *
 * @param resident all of it
 * @param anonymous heap, thread stacks and everything else that no file backs
 * @param ownPool of the process's own pool, mapped for reading and writing
 * @param peersPools of other pools, mapped for reading
 */
record PoolsInMemory(long resident, long anonymous, long ownPool, long peersPools) {
    private static final String POOL = "/rdma-shuffle-";
    private static final Pattern MAPPING = Pattern.compile("[0-9a-f]+-[0-9a-f]+ ([rwxps-]{4}) .*");
    private static final Pattern SIZE = Pattern.compile("(Rss|Anonymous): +(\\d+) kB");

    static PoolsInMemory of(ProcessHandle process) throws IOException {
        return parse(Files.readAllLines(
                Path.of("/proc", Long.toString(process.pid()), "smaps"), StandardCharsets.ISO_8859_1));
    }

    static PoolsInMemory parse(List<String> smaps) {
        long resident = 0;
        long anonymous = 0;
        long own = 0;
        long peers = 0;
        String permissions = "";
        boolean pool = false;
        for (String line : smaps) {
            Matcher mapping = MAPPING.matcher(line);
            Matcher size = SIZE.matcher(line);
            if (mapping.matches()) {
                permissions = mapping.group(1);
                pool = line.contains(POOL);
            } else if (size.matches() && size.group(1).equals("Anonymous")) {
                anonymous += Long.parseLong(size.group(2));
            } else if (size.matches()) {
                long kibibytes = Long.parseLong(size.group(2));
                resident += kibibytes;
                own += pool && permissions.equals("rw-s") ? kibibytes : 0;
                peers += pool && permissions.equals("r--s") ? kibibytes : 0;
            }
        }
        return new PoolsInMemory(resident >> 10, anonymous >> 10, own >> 10, peers >> 10);
    }

    @Override
    public String toString() {
        return resident + " MiB resident: " + anonymous + " anonymous, " + ownPool + " own pool, " + peersPools
                + " peers' pools";
    }
}
