// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBytes;
import io.rdmashuffle.shuffle.buffer.MovingBytes;
import io.rdmashuffle.shuffle.read.InPlaceBlock.Outcome;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A block that is read in place, in pieces, and may be moved by its owner meanwhile: then it is looked up again, and
 * compared with its checksum again before anything of it is used.
 *
 * <p><b>Threading:</b> thread-safe; one thread reads, another may close.
 *
 * <p><b>Ownership:</b> owns the block that it begins with, and those that it finds; all stay mapped until it is closed,
 * since streams may have begun at any of them.
 */
final class FollowedBlock<B extends StoredBytes> implements MovingBytes, AutoCloseable {
    /** Other outputs of the shuffle may be freed one after another, and each time it has to be looked up again. */
    private static final int MAX_ATTEMPTS = 5;

    private final Finder<B> finder;
    private final boolean verify;
    private final List<InPlaceBlock<B>> found = new ArrayList<>();
    private Place place;
    private boolean closed;

    /** Looks a block up. */
    @FunctionalInterface
    interface Finder<B extends StoredBytes> {
        /** Returns the block where it is now, owned by the caller; null if it is not to be had in place. */
        @Nullable
        InPlaceBlock<B> find();
    }

    /**
     * Follows a block that was found and is good.
     *
     * @param verify whether to compare it with its checksum
     */
    FollowedBlock(InPlaceBlock<B> block, Finder<B> finder, boolean verify) {
        this.found.add(block);
        this.place = placeOf(block);
        this.finder = finder;
        this.verify = verify;
    }

    private static Place placeOf(InPlaceBlock<?> block) {
        return new Place(block.bytes().pieces(), block.current());
    }

    /** Returns where the block was found last. */
    synchronized Place place() {
        return place;
    }

    @Override
    public synchronized @Nullable Place moved(Place from) throws IOException {
        if (closed) {
            return null;
        }
        if (!place.equals(from)) {
            return place;
        }
        for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
            InPlaceBlock<B> next = finder.find();
            if (next == null) {
                return null;
            }
            found.add(next);
            Outcome outcome = check(next);
            if (outcome != Outcome.WITHDRAWN) {
                place = placeOf(next);
                return outcome == Outcome.GOOD ? place : null;
            }
        }
        return null;
    }

    private Outcome check(InPlaceBlock<B> next) throws IOException {
        try {
            return next.check(verify);
        } catch (IOException e) {
            if (next.current().getAsBoolean()) {
                throw e;
            }
            return Outcome.WITHDRAWN;
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        found.forEach(InPlaceBlock::close);
        found.clear();
    }
}
