package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.RemoteSlice;
import java.util.List;

/**
 * What a link knows of its peer's regions, and whether it has asked for more.
 *
 * <p><b>Threading:</b> the data thread; {@link #known()} and {@link #forget()} are for any thread.
 */
final class PeerRegions {
    private volatile RegionTable table = RegionTable.EMPTY;
    private boolean asking;
    /** How many regions the peer said that it has. */
    private int existing;

    /** What stands between a read and its posting. */
    enum Verdict {
        /** Nothing: the read has what it needs. */
        READY,
        /** The peer must be asked, or has been and has not answered. */
        UNKNOWN,
        /** It reaches outside of what the peer has. */
        IMPOSSIBLE
    }

    /** Returns how many regions are known by rkey. */
    int known() {
        return table.size();
    }

    /** Drops what is known; the next read asks again. */
    void forget() {
        table = RegionTable.EMPTY;
    }

    /** Replaces what is known; for tests. */
    void replace(RegionTable other) {
        table = other;
    }

    /** Starts anew, with another connection or without one. */
    void reset() {
        table = RegionTable.EMPTY;
        asking = false;
        existing = 0;
    }

    boolean isAsking() {
        return asking;
    }

    /** Looks up all regions that a read needs, once, before anything of it is posted. */
    Verdict lookUp(PendingRead read) {
        RegionTable known = table;
        List<RemoteSlice> sources = read.request().sources();
        for (int i = 0; i < sources.size(); i++) {
            RemoteSlice source = sources.get(i);
            if (!known.knows(source.regionId())) {
                boolean answerable = asking || known.size() < existing || read.mayAskForRegions();
                return answerable ? Verdict.UNKNOWN : Verdict.IMPOSSIBLE;
            }
            if (!isInside(known, source)) {
                return Verdict.IMPOSSIBLE;
            }
        }
        read.use(known);
        return Verdict.READY;
    }

    /** Says why a read is impossible. */
    String reasonAgainst(PendingRead read) {
        RegionTable known = table;
        for (RemoteSlice source : read.request().sources()) {
            if (!known.knows(source.regionId())) {
                return source + ": the peer has " + known.size() + " regions";
            }
            if (!isInside(known, source)) {
                return source + " is outside the region of " + known.lengthBytes(source.regionId()) + " bytes";
            }
        }
        return "the peer's regions changed";
    }

    /** Written so that offsets near the largest number do not overflow. */
    private static boolean isInside(RegionTable known, RemoteSlice source) {
        long length = known.lengthBytes(source.regionId());
        return source.lengthBytes() <= length && source.offset() <= length - source.lengthBytes();
    }

    /** Writes the question for the regions behind those that are known; an answer must follow. */
    void ask(long question) {
        asking = true;
        RegionTable.writeQuestion(question, table.size());
    }

    /**
     * Takes an answer; returns whether there is more to ask for.
     *
     * @throws IllegalArgumentException if it does not continue what is known, of which nothing is left then
     */
    boolean answered(long answer, int lengthBytes) {
        asking = false;
        RegionTable before = table;
        try {
            RegionTable after = before.withAnswer(answer, lengthBytes);
            table = after;
            existing = RegionTable.existing(answer);
            return after.size() > before.size() && after.size() < existing;
        } catch (IllegalArgumentException e) {
            // Regions were dropped while the question was under way, or the peer is not what it should be: the next
            // read
            // asks again, and fails when it has asked too often.
            table = RegionTable.EMPTY;
            existing = 0;
            throw e;
        }
    }
}
