// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.LogLimit;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.WorkTally;
import io.rdmashuffle.fabric.ofi.RailQuestions.Question;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.ofi.OfiDevice;
import io.rdmashuffle.ofi.OfiEndpoint;
import io.rdmashuffle.ofi.OfiRegion;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.WaitSet;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One device: its endpoint, and the thread that reads from peers, answers their queries, and makes progress for the
 * reads of peers that the provider serves in software.
 *
 * <p>A read first needs the key of the peer's region, which the peer is asked for once. If a piece fails, the key may
 * have been taken back: the peer is asked again, and the read begins again, a few times at most. A deadline ends a read
 * for its listener; its target is kept until the last piece has ended.
 *
 * <p>The thread waits on the descriptor of the queue. Where the provider has none it polls: at once while reads are
 * under way, else every {@value #IDLE_POLL_MICROS} us.
 *
 * <p><b>Threading:</b> {@link #submit}, {@link #execute}, {@link #close} and the regions may be used by any thread,
 * everything else by the rail's.
 *
 * <p><b>Ownership:</b> owns endpoint, registrations and thread.
 */
final class OfiRail implements OfiEndpoint.Listener, RailMessages.Listener, Runnable, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OfiRail.class);

    private static final int MAX_READS = 512;
    private static final int TRIED_AT_ONCE = 16;
    /** A stopped peer keeps its pieces until the provider ends them. */
    private static final int MAX_PIECES_OF_PEER = 128;

    private static final int LEAST_PEERS = 8;

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int IDLE_POLL_MICROS = 1000;
    private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long EXPIRY_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long END_MILLIS = TimeUnit.SECONDS.toMillis(10);

    private final long fabricId;
    private final long connectNanos;
    private final Admissions admissions;
    private final InFlightReads reads;
    private final OfiEndpoint endpoint;
    private final long maxReadBytes;
    private final int maxPiecesOfPeer;
    private final OfiAddress.Endpoint name;
    private final RailRegions regions;
    private final RailMessages messages;
    private final WaitSet wait;
    private final WorkTally tally = new WorkTally();
    private final LogLimit<String> failures = new LogLimit<>(System::nanoTime);
    private final Thread thread;

    private final Queue<OfiRead> submitted = new ConcurrentLinkedQueue<>();
    private final Queue<Runnable> actions = new ConcurrentLinkedQueue<>();
    private volatile boolean sleeps;
    private volatile boolean closing;
    private volatile boolean ended;

    /** The read of a slot. */
    private final @Nullable OfiRead[] bySlot;
    /** The key that the piece of a slot uses. */
    private final OfiMessage.@Nullable Answer[] keyBySlot;

    private final ArrayDeque<Integer> freeReads = new ArrayDeque<>();
    /** Reads of which pieces must still be posted, oldest first. */
    private final ArrayDeque<OfiRead> backlog = new ArrayDeque<>();
    /** Reads that have not ended, or still have pieces under way. */
    private final Set<OfiRead> active = new HashSet<>();
    /** How operations name endpoints. */
    private final Map<String, Long> addresses = new HashMap<>();

    private final RailQuestions questions = new RailQuestions();

    /** Reads among the active ones that have not ended. */
    private int running;

    private long nextExpiryNanos = System.nanoTime();

    /**
     * Opens a device; no thread yet.
     *
     * @param connectTimeout time in which a peer must take a message, or it is gone
     * @param number for the name of the thread
     * @throws NativeException if the provider refuses
     */
    OfiRail(
            OfiDevice device,
            long fabricId,
            Duration connectTimeout,
            Admissions admissions,
            InFlightReads reads,
            int number)
            throws RdmaUnavailableException {
        this.fabricId = fabricId;
        this.connectNanos = connectTimeout.toNanos();
        this.admissions = admissions;
        this.reads = reads;
        int readSlots = Math.max(1, Math.min(MAX_READS, device.queueDepth() - RailMessages.SLOTS));
        this.endpoint = OfiEndpoint.open(device, RailMessages.SLOTS + readSlots);
        this.maxReadBytes = device.maxReadBytes();
        this.maxPiecesOfPeer = Math.max(1, Math.min(MAX_PIECES_OF_PEER, readSlots / LEAST_PEERS));
        this.regions = new RailRegions(endpoint);
        this.wait = new WaitSet(1);
        try {
            this.name = OfiAddress.Endpoint.of(device.addressFormat(), endpoint.name());
            this.messages = new RailMessages(endpoint, this::addressOf, connectTimeout, this);
            if (endpoint.waitDescriptor() >= 0) {
                int unused = wait.add(endpoint.waitDescriptor());
            }
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, endpoint, wait);
            throw failure;
        }
        this.bySlot = new @Nullable OfiRead[readSlots];
        this.keyBySlot = new OfiMessage.@Nullable Answer[readSlots];
        for (int i = readSlots - 1; i >= 0; i--) {
            freeReads.push(i);
        }
        this.thread = new Thread(this, "rdma-ofi-" + number);
        thread.setDaemon(true);
    }

    /** Returns whether its thread has ended: reads over it fail. */
    boolean hasEnded() {
        return ended;
    }

    void start() {
        thread.start();
    }

    OfiAddress.Endpoint name() {
        return name;
    }

    RailRegions regions() {
        return regions;
    }

    WorkTally tally() {
        return tally;
    }

    int pinnings() {
        return endpoint.pinnings();
    }

    /** Hands over an admitted read. */
    void submit(OfiRead read) {
        submitted.add(read);
        if (ended) {
            failSubmitted();
        } else {
            wake();
        }
    }

    private void failSubmitted() {
        for (OfiRead read = submitted.poll(); read != null; read = submitted.poll()) {
            reads.fail(read.request(), Reason.CLOSED, "the libfabric fabric is closed");
        }
    }

    /** Runs something on the thread of this rail, unless that has ended. */
    void execute(Runnable action) {
        if (!ended) {
            actions.add(action);
            wake();
        }
    }

    private void wake() {
        if (sleeps) {
            wait.wake();
        }
    }

    @Override
    public void run() {
        try {
            long lastWorkNanos = System.nanoTime();
            while (!closing) {
                // Reads that the provider serves in software are no work of a step, but wake the thread.
                boolean worked = step() || (System.nanoTime() - lastWorkNanos > SPIN_NANOS && sleep());
                if (worked) {
                    lastWorkNanos = System.nanoTime();
                }
            }
        } catch (RuntimeException | Error e) {
            LOG.error("The thread of {} has failed; its reads fail, and other paths serve peers", endpoint, e);
        } finally {
            end();
        }
    }

    /** Does what there is to do; returns whether there was something. */
    private boolean step() {
        boolean worked = false;
        for (Runnable action = actions.poll(); action != null; action = actions.poll()) {
            action.run();
            worked = true;
        }
        for (OfiRead read = submitted.poll(); read != null; read = submitted.poll()) {
            active.add(read);
            running++;
            post(read);
            worked = true;
        }
        int completed = endpoint.poll(this);
        if (completed > 0) {
            tally.completed(completed);
            worked = true;
        }
        messages.post();
        postBacklog();
        expire();
        return worked;
    }

    /** Waits for a moment; returns whether something has woken it. */
    private boolean sleep() {
        sleeps = true;
        try {
            boolean quiet = actions.isEmpty() && submitted.isEmpty() && !closing;
            if (quiet && endpoint.waitDescriptor() < 0) {
                return wait.await(running == 0 ? TimeUnit.MICROSECONDS.toNanos(IDLE_POLL_MICROS) : 0);
            }
            if (quiet && endpoint.mayWait()) {
                boolean isBusy = !active.isEmpty() || messages.isBusy();
                boolean woken = wait.await(isBusy ? EXPIRY_NANOS : MAX_WAIT_NANOS);
                tally.woken();
                return woken;
            }
            return false;
        } finally {
            sleeps = false;
        }
    }

    private void post(OfiRead read) {
        if (!tryPost(read)) {
            enqueue(read);
        }
    }

    private void enqueue(OfiRead read) {
        if (!read.isQueued()) {
            read.setQueued(true);
            backlog.add(read);
        }
    }

    /** A peer that takes nothing does not hold up reads of others. */
    private void postBacklog() {
        for (int i = Math.min(backlog.size(), TRIED_AT_ONCE); i > 0; i--) {
            OfiRead next = backlog.remove();
            next.setQueued(false);
            if (!next.hasEnded()) {
                post(next);
            }
        }
    }

    /** Posts pieces of a read; returns whether nothing is left to post now. */
    private boolean tryPost(OfiRead read) {
        int posted = 0;
        try {
            RemoteSlice slice = read.nextSlice();
            while (slice != null && read.failure() == null && !read.hasEnded()) {
                if (read.peer().isClosed()) {
                    read.fail(new ReadFailedException(
                            Reason.CLOSED, "the path to executor " + read.peer().peerId() + " is closed"));
                    break;
                }
                OfiMessage.Answer remote = read.peer().region(slice.regionId());
                if (remote == null) {
                    ask(read, slice.regionId());
                    return true;
                }
                if (freeReads.isEmpty() || read.peer().pieces() >= maxPiecesOfPeer) {
                    return false;
                }
                long bytes = postPiece(read, slice, remote);
                if (bytes == 0) {
                    return false;
                }
                posted += bytes > 0 ? 1 : 0;
                slice = read.nextSlice();
            }
        } finally {
            if (posted > 0) {
                tally.posted(posted);
            }
        }
        conclude(read);
        return true;
    }

    /** Posts the next piece; returns its bytes, 0 if the provider has no room, or -1 if the read fails. */
    private long postPiece(OfiRead read, RemoteSlice slice, OfiMessage.Answer remote) {
        long offset = slice.offset() + read.sliceOffset();
        long left = slice.lengthBytes() - read.sliceOffset();
        if (slice.offset() > remote.lengthBytes() || slice.lengthBytes() > remote.lengthBytes() - slice.offset()) {
            read.fail(new ReadFailedException(
                    Reason.OUT_OF_BOUNDS, slice + " of a region of " + remote.lengthBytes() + " bytes"));
            return -1;
        }
        OfiRegion local = regions.local(read.request().target().region().id());
        if (local == null) {
            read.fail(new ReadFailedException(Reason.TRANSPORT_ERROR, "the target's region is not registered"));
            return -1;
        }
        long bytes = Math.min(left, maxReadBytes);
        int index = freeReads.element();
        long target = read.request().target().memory().address() + read.targetOffset();
        try {
            long address = addressOf(read.peer().endpoint());
            if (!endpoint.read(
                    RailMessages.SLOTS + index, local, target, bytes, address, remote.base() + offset, remote.key())) {
                return refused(read);
            }
        } catch (NativeException e) {
            // Another attempt asks the peer first, which shows whether it is there.
            read.peer().forgetAll();
            read.fail(new ReadFailedException(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e));
            return -1;
        }
        freeReads.remove();
        bySlot[index] = read;
        keyBySlot[index] = remote;
        read.peer().pieceBegun();
        read.posted(bytes);
        return bytes;
    }

    /** A provider may go on for ever to connect to a peer that has ended. Returns 0, or -1 if the read fails. */
    private int refused(OfiRead read) {
        if (!read.peer().refuses(System.nanoTime(), connectNanos)) {
            return 0;
        }
        read.peer().setReachable(false);
        read.fail(new ReadFailedException(
                Reason.PEER_GONE, "executor " + read.peer().peerId() + " is not there: it takes no read"));
        return -1;
    }

    private long addressOf(OfiAddress.Endpoint peer) {
        return addresses.computeIfAbsent(peer.name(), unused -> endpoint.insert(peer.bytes()));
    }

    /** Forgets an endpoint whose process has left, unless something is under way to it. */
    void forget(OfiAddress.Endpoint left) {
        boolean isUsed = Arrays.stream(bySlot)
                        .anyMatch(read -> read != null && read.peer().endpoint().equals(left))
                || messages.sendingTo(left) > 0;
        Long address = isUsed ? null : addresses.remove(left.name());
        try {
            if (address != null) {
                endpoint.remove(address);
            }
        } catch (NativeException e) {
            LOG.debug("The address of an endpoint that has left stays on {}", endpoint, e);
        }
    }

    /** Lets a read wait for the key of a region. */
    private void ask(OfiRead read, int regionId) {
        RailPeer peer = read.peer();
        if (Region.isOnDisk(regionId)) {
            read.fail(new ReadFailedException(Reason.UNREADABLE, "libfabric reads no disk tier"));
            conclude(read);
            return;
        }
        Question question = questions.await(peer, regionId, read);
        if (question != null) {
            ask(question);
            messages.post();
        }
    }

    private void ask(Question question) {
        RailPeer peer = question.peer();
        messages.send(
                new OfiMessage.Query(question.number(), fabricId, peer.fabricId(), question.regionId(), name),
                peer.endpoint());
    }

    @Override
    public void sent(OfiMessage message) {
        Question question = message instanceof OfiMessage.Query ? questions.find(message.number()) : null;
        if (question != null) {
            question.sent();
        }
    }

    /** {@inheritDoc} The reads that wait for an answer fail. */
    @Override
    public void notSent(OfiMessage message, String why) {
        Question question = message instanceof OfiMessage.Query ? questions.find(message.number()) : null;
        if (question != null) {
            RailPeer peer = question.peer();
            peer.setReachable(false);
            failWaiting(
                    question,
                    new ReadFailedException(Reason.PEER_GONE, "executor " + peer.peerId() + " is not there: " + why));
        }
    }

    private void failWaiting(Question question, ReadFailedException why) {
        for (OfiRead read : questions.end(question)) {
            read.fail(why);
            conclude(read);
        }
    }

    @Override
    public void completed(int slot, int length) {
        if (slot < RailMessages.SLOTS) {
            messages.completed(slot, length);
        } else {
            endPiece(slot - RailMessages.SLOTS, null);
        }
    }

    @Override
    public void failed(int slot, int error, String reason) {
        if (slot < RailMessages.SLOTS) {
            messages.failed(slot, reason);
        } else {
            endPiece(slot - RailMessages.SLOTS, new ReadFailedException(Reason.TRANSPORT_ERROR, reason));
        }
    }

    private void endPiece(int index, @Nullable ReadFailedException why) {
        OfiRead read = bySlot[index];
        OfiMessage.Answer key = keyBySlot[index];
        bySlot[index] = null;
        keyBySlot[index] = null;
        freeReads.push(index);
        if (read != null) {
            read.peer().pieceEnded();
            if (why != null && key != null && key.equals(read.peer().region(key.regionId()))) {
                // The peer changes all keys, one after another.
                read.peer().forgetAll();
            }
            read.ended(why);
            conclude(read);
        }
    }

    /** Ends a read that has succeeded, or failed and has no piece under way. */
    private void conclude(OfiRead read) {
        if (read.isUnderWay()) {
            return;
        }
        ReadFailedException failure = read.failure();
        if (read.hasEnded()) {
            // Nothing writes to its target any more.
            if (active.remove(read)) {
                read.request().target().close();
            }
        } else if (failure != null) {
            fail(read, failure);
        } else if (read.isComplete()) {
            active.remove(read);
            end(read);
            read.peer().setReachable(true);
            reads.succeed(read.request(), read.startedNanos());
        }
    }

    private void end(OfiRead read) {
        read.end();
        running--;
    }

    private void fail(OfiRead read, ReadFailedException failure) {
        boolean mayBeStale =
                failure.reason() == Reason.TRANSPORT_ERROR && !read.peer().isClosed();
        if (mayBeStale && !read.request().isExpired() && read.retry()) {
            reads.meter().retried();
            enqueue(read);
            return;
        }
        active.remove(read);
        end(read);
        if (failures.take(failure.reason().name()) != LogLimit.SILENT) {
            LOG.debug("A read of executor {} failed", read.peer().peerId(), failure);
        }
        reads.fail(read.request(), failure);
    }

    @Override
    public void received(OfiMessage message) {
        if (message instanceof OfiMessage.Query query) {
            messages.send(answerTo(query), query.answerTo());
        } else if (message instanceof OfiMessage.Answer answer) {
            learn(answer);
        }
    }

    private OfiMessage.Answer answerTo(OfiMessage.Query query) {
        OfiRegion region = regions.remote(query.regionId());
        if (query.owner() != fabricId) {
            return refusal(query, OfiMessage.Status.OTHER_PROCESS);
        }
        if (admissions.isRevoked(query.reader())) {
            return refusal(query, OfiMessage.Status.REVOKED);
        }
        return region == null
                ? refusal(query, OfiMessage.Status.ABSENT)
                : new OfiMessage.Answer(
                        query.number(),
                        OfiMessage.Status.READABLE,
                        query.regionId(),
                        region.remoteBase(),
                        region.lengthBytes(),
                        region.key());
    }

    private static OfiMessage.Answer refusal(OfiMessage.Query query, OfiMessage.Status status) {
        return new OfiMessage.Answer(query.number(), status, query.regionId(), 0, 0, 0);
    }

    private void learn(OfiMessage.Answer answer) {
        Question question = questions.find(answer.number());
        if (question == null || question.regionId() != answer.regionId()) {
            return;
        }
        RailPeer peer = question.peer();
        if (answer.status() == OfiMessage.Status.READABLE) {
            peer.learn(answer);
            questions.end(question).forEach(this::post);
        } else {
            failWaiting(question, refusal(peer, answer));
        }
    }

    private static ReadFailedException refusal(RailPeer peer, OfiMessage.Answer answer) {
        String executor = "executor " + peer.peerId();
        return switch (answer.status()) {
            case REVOKED ->
                new ReadFailedException(
                        Reason.PEER_GONE, executor + " lets this process read no more: it has left the membership");
            case OTHER_PROCESS ->
                new ReadFailedException(Reason.PEER_GONE, "another process has the address of " + executor);
            default -> new ReadFailedException(Reason.REGION_ABSENT, executor + " has no region " + answer.regionId());
        };
    }

    /** Ends reads whose deadline has passed; they are few, and looked at every few milliseconds. */
    private void expire() {
        long now = System.nanoTime();
        if (now - nextExpiryNanos < 0) {
            return;
        }
        regions.releaseRemoved();
        nextExpiryNanos = now + EXPIRY_NANOS;
        questions.overdue(now, PATIENCE_NANOS).forEach(this::ask);
        for (OfiRead read : List.copyOf(active)) {
            if (!read.hasEnded() && read.request().isExpired()) {
                endLate(
                        read,
                        new ReadFailedException(
                                Reason.TIMED_OUT, "executor " + read.peer().peerId() + " has not answered in time"));
            }
        }
    }

    /** Ends a read though pieces of it may be under way. */
    private void endLate(OfiRead read, ReadFailedException why) {
        end(read);
        read.fail(why);
        if (read.isUnderWay()) {
            reads.abandon(read.request(), why);
        } else {
            active.remove(read);
            reads.fail(read.request(), why);
        }
    }

    /** Ends the reads of a peer that has been closed. */
    void drop(RailPeer peer) {
        peer.forgetAll();
        for (OfiRead read : List.copyOf(active)) {
            if (read.peer() == peer && !read.hasEnded()) {
                endLate(
                        read,
                        new ReadFailedException(Reason.CLOSED, "the path to executor " + peer.peerId() + " is closed"));
            }
        }
    }

    /** On the thread of this rail, at its end: operations end with the endpoint. */
    private void end() {
        ended = true;
        boolean isQuiet = false;
        try {
            regions.close();
            messages.unregister();
            endpoint.close();
            messages.free();
            regions.release();
            isQuiet = true;
        } catch (RuntimeException | Error e) {
            LOG.error("{} did not close; memory that it may write to is kept", endpoint, e);
        }
        wait.close();
        actions.clear();
        failSubmitted();
        for (OfiRead read : active) {
            ReadFailedException why = new ReadFailedException(Reason.CLOSED, "the libfabric fabric is closed");
            boolean mayBeWritten = read.isUnderWay() && !isQuiet;
            if (read.hasEnded()) {
                if (!mayBeWritten) {
                    read.request().target().close();
                }
            } else if (mayBeWritten) {
                reads.abandon(read.request(), why);
            } else {
                reads.fail(read.request(), why);
            }
        }
        active.clear();
    }

    /** {@inheritDoc} Waits for the thread. */
    @Override
    public void close() {
        closing = true;
        wait.wake();
        if (!thread.isAlive() || Thread.currentThread().equals(thread)) {
            return;
        }
        boolean interrupted = false;
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(END_MILLIS);
        while (thread.isAlive() && System.nanoTime() - deadline < 0) {
            try {
                thread.join(END_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            LOG.error(
                    "{} is still running {} ms after it was closed; its memory is kept", thread.getName(), END_MILLIS);
        }
    }
}
