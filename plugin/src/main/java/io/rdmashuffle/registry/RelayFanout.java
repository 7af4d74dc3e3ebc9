// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.EncodedUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RelayParts.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Distribution of one update to the members of a range: each part to one of its members, and where that cannot be
 * reached, to another of them.
 *
 * <p>Which member is tried first goes round with the version, through {@link #TURNS} choices: a member that loses what
 * it should pass on starves different ones, and an executor keeps connections to few others. Members that the update
 * itself adds come last, as they may know few others yet.
 *
 * <p><b>Threading:</b> thread-safe. The first messages are sent by the caller, those after a failure by the thread that
 * brought it.
 */
final class RelayFanout {
    /** Members of one part that are tried before the part is divided further. */
    static final int MAX_ATTEMPTS = 3;
    /** Messages of one fan-out, failed ones among them. */
    static final int MAX_MESSAGES = 64;

    private static final Logger LOG = LoggerFactory.getLogger(RelayFanout.class);
    private static final int TURNS = 4;

    private final EncodedUpdate update;
    private final BiFunction<Member, Relay, CompletableFuture<Void>> push;
    private final Set<String> added;
    private final int turn;
    private final AtomicInteger messages = new AtomicInteger();

    /**
     * Starts without a message.
     *
     * @param push the way to a member, as {@link PeerChannel#push} promises it
     */
    RelayFanout(EncodedUpdate update, BiFunction<Member, Relay, CompletableFuture<Void>> push) {
        this.update = update;
        this.push = push;
        this.added = update.content().added().stream().map(Member::executorId).collect(Collectors.toSet());
        this.turn = HashRange.mix((int) (update.content().version() % TURNS));
    }

    /**
     * Sends to all parts of a range.
     *
     * @param members those in the range, in the order of their hashes, without the sender
     * @param ownHash of the sender, or {@link RelayParts#NO_HASH}
     */
    void spread(HashRange range, List<Member> members, long ownHash) {
        for (Part part : RelayParts.of(range, members, ownHash)) {
            hand(part, 1);
        }
    }

    private void hand(Part part, int attempt) {
        if (messages.incrementAndGet() > MAX_MESSAGES) {
            LOG.warn(
                    "Gave up forwarding version {} of the membership after {} messages; {} members may find out at"
                            + " their next sweep",
                    update.content().version(),
                    MAX_MESSAGES,
                    part.members().size());
            return;
        }
        Member to = choose(part.members());
        var unused = push.apply(to, new Relay(part.range(), update)).whenComplete((done, failure) -> {
            if (failure != null) {
                LOG.debug(
                        "{} did not take version {} of the membership",
                        to,
                        update.content().version(),
                        failure);
                instead(part, to, attempt);
            }
        });
    }

    /** Continues without a member that cannot be reached; if it lives, it finds out at its next sweep. */
    private void instead(Part part, Member failed, int attempt) {
        List<Member> others = new ArrayList<>(part.members());
        others.remove(failed);
        if (others.isEmpty()) {
            return;
        }
        if (attempt < MAX_ATTEMPTS) {
            hand(new Part(part.range(), others), attempt + 1);
        } else {
            spread(part.range(), others, RelayParts.NO_HASH);
        }
    }

    private Member choose(List<Member> members) {
        int start = Math.floorMod(turn, members.size());
        for (int i = 0; i < members.size() && !added.isEmpty(); i++) {
            Member member = members.get((start + i) % members.size());
            if (!added.contains(member.executorId())) {
                return member;
            }
        }
        return members.get(start);
    }
}
