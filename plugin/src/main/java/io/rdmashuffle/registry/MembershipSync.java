// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps an executor's view of the membership complete: announces the executor, takes in and passes on what is pushed,
 * and asks for what did not come.
 *
 * <p><b>Threading:</b> safe. The view is its own lock, which also guards what is here, and which {@link RegistryAgent}
 * takes to read the view; none is held while something is asked or sent.
 */
final class MembershipSync {
    private static final Logger LOG = LoggerFactory.getLogger(MembershipSync.class);
    private static final String FLIGHT = "catch up";

    private final MembershipView view;
    private final MembershipEvents events;
    private final DriverLink driver;
    private final SnapshotSearch search;
    private final RelayDuties duties;
    private final int directMembers;
    private final SingleFlight flights = new SingleFlight();
    private final SnapshotSources sources = new SnapshotSources();
    /** Whether the latest snapshot came from the driver, which knows of members that no update has told of yet. */
    private boolean snapshotFromDriver;

    private @Nullable Member self;
    private boolean announced;
    private boolean refused;
    private boolean closed;

    /** Begins without members; see {@link RegistryAgent} for the last two. */
    MembershipSync(
            MembershipView view,
            MembershipEvents events,
            DriverLink driver,
            PeerChannel peers,
            String ownExecutorId,
            int directMembers) {
        this.view = view;
        this.events = events;
        this.driver = driver;
        this.search = new SnapshotSearch(peers, driver);
        this.duties = new RelayDuties(ownExecutorId, peers);
        this.directMembers = directMembers;
    }

    /** Takes what is to be announced, in place of what was. */
    void announce(Member member) {
        synchronized (view) {
            self = member;
            announced = false;
            refused = false;
        }
    }

    /** Returns what was given to {@link #announce}. */
    Optional<Member> self() {
        synchronized (view) {
            return Optional.ofNullable(self);
        }
    }

    /** Announces unless the driver has it, or is not answering; returns whether the driver has it. */
    boolean ensureAnnounced() {
        boolean wanted;
        synchronized (view) {
            wanted = mayAsk() && !announced;
        }
        if (wanted) {
            catchUp();
        }
        return isAnnounced();
    }

    boolean isAnnounced() {
        synchronized (view) {
            return announced;
        }
    }

    /** Returns whether the driver may take this executor, or has. */
    boolean mayAsk() {
        synchronized (view) {
            return !closed && self != null && !refused;
        }
    }

    /** Returns whether the driver has not taken this executor or the view misses something, and that can be mended. */
    boolean lacks() {
        synchronized (view) {
            return mayAsk() && (!announced || view.isStale());
        }
    }

    /** Returns whether the view is the driver's own answer, so that an executor that is not in it is not a member. */
    boolean isFromDriver() {
        synchronized (view) {
            return snapshotFromDriver;
        }
    }

    boolean isClosed() {
        synchronized (view) {
            return closed;
        }
    }

    /** Takes in nothing and asks nothing more. */
    void close() {
        synchronized (view) {
            closed = true;
        }
    }

    void onMessage(MembershipUpdate update) {
        synchronized (view) {
            if (closed) {
                return;
            }
            view.apply(update);
        }
        events.deliver();
    }

    void onRelay(Relay relay) {
        boolean knowsMembers;
        synchronized (view) {
            if (closed) {
                return;
            }
            view.apply(relay.update().content());
            knowsMembers = !view.needsSnapshot();
            if (!knowsMembers) {
                duties.hold(relay);
            }
        }
        if (knowsMembers) {
            passOn(relay);
        }
        events.deliver();
    }

    RegistryMessage snapshotFor(long atLeast) {
        synchronized (view) {
            Member own = self;
            if (closed || own == null || !announced || view.needsSnapshot() || view.completeVersion() < atLeast) {
                return new SnapshotBehind(view.completeVersion());
            }
            List<Member> all = new ArrayList<>(view.members());
            all.add(own);
            return new Snapshot(view.completeVersion(), all);
        }
    }

    /** Announces this executor if need be and asks for a snapshot if one is needed then. */
    void catchUp() {
        flights.run(
                FLIGHT,
                () -> {
                    announceNow();
                    pullNow();
                },
                driver.timeout());
        events.deliver();
    }

    private void announceNow() {
        Member member;
        synchronized (view) {
            member = self;
            if (member == null || !mayAsk() || announced) {
                return;
            }
        }
        RegistryMessage answer = driver.ask(new Announce(member));
        synchronized (view) {
            // Another announcement may have begun meanwhile; its own answer counts for it.
            boolean latest = member.equals(self);
            if (closed) {
                return;
            }
            if (answer instanceof Snapshot snapshot) {
                takeSnapshot(snapshot, true);
                announced |= latest;
            } else if (answer instanceof Welcome welcome) {
                sources.name(welcome.sources());
                view.require(welcome.version());
                announced |= latest;
            } else if (answer instanceof AnnounceRefused refusal && latest) {
                refused = true;
                LOG.warn("The driver refused this executor: {}; its blocks are served by Netty", refusal.reason());
            } else if (answer != null) {
                LOG.warn(
                        "Unexpected answer to an announcement: {}",
                        answer.getClass().getSimpleName());
            }
        }
    }

    /** Asks peers, then the driver, for what the view lacks. */
    private void pullNow() {
        long version;
        List<Member> asked;
        synchronized (view) {
            if (!mayAsk() || !announced || !view.isStale()) {
                return;
            }
            version = view.repairVersion();
            asked = sources.next(view.table(), directMembers);
        }
        SnapshotSearch.Found found = search.search(asked, version);
        Snapshot snapshot = found.snapshot();
        if (snapshot != null) {
            take(snapshot, found.fromDriver());
        } else if (!found.fromDriver()) {
            synchronized (view) {
                sources.behind();
            }
        }
    }

    private void take(Snapshot snapshot, boolean fromDriver) {
        List<Relay> relays;
        synchronized (view) {
            if (closed) {
                return;
            }
            takeSnapshot(snapshot, fromDriver);
            relays = view.needsSnapshot() ? List.of() : duties.release();
        }
        relays.forEach(this::passOn);
    }

    /** Only with the lock held. */
    private void takeSnapshot(Snapshot snapshot, boolean fromDriver) {
        view.apply(snapshot);
        snapshotFromDriver = fromDriver;
        sources.done();
    }

    private void passOn(Relay relay) {
        List<Member> members;
        synchronized (view) {
            members = view.members(relay.range());
        }
        duties.passOn(relay, members);
    }

    /**
     * Asks peers for a snapshot, one after the other, and the driver if none of them can be reached.
     *
     * <p><b>Threading:</b> stateless; waits on the calling thread, no longer than one question to the driver may take
     * for all peers together, and as long again for the driver.
     */
    private static final class SnapshotSearch {
        private final PeerChannel peers;
        private final DriverLink driver;

        /**
         * What came of it.
         *
         * @param snapshot null if there was none
         * @param fromDriver whether the driver was asked
         */
        record Found(@Nullable Snapshot snapshot, boolean fromDriver) {}

        SnapshotSearch(PeerChannel peers, DriverLink driver) {
            this.peers = peers;
            this.driver = driver;
        }

        /**
         * Returns a snapshot of at least a version: from a peer, or from the driver if no peer answers. If peers answer
         * but are behind, returns none and spares the driver the question.
         */
        Found search(List<Member> sources, long version) {
            boolean behind = false;
            for (Member source : sources) {
                RegistryMessage answer = pull(source, version);
                if (answer instanceof Snapshot snapshot && snapshot.version() >= version) {
                    return new Found(snapshot, false);
                }
                behind |= answer instanceof SnapshotBehind;
            }
            if (behind) {
                return new Found(null, false);
            }
            return new Found(driver.ask(new SnapshotRequest()) instanceof Snapshot snapshot ? snapshot : null, true);
        }

        private @Nullable RegistryMessage pull(Member source, long version) {
            try {
                return peers.pull(source, version, driver.timeout().dividedBy(SnapshotSources.PEERS));
            } catch (RegistryUnavailableException | RuntimeException e) {
                LOG.debug("{} did not answer with version {} of the membership", source, version, e);
                return null;
            }
        }
    }
}
