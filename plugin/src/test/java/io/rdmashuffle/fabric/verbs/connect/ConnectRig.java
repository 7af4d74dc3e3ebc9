// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.device.FakeRdma;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.fabric.verbs.device.RailSettings;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_event;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.QueuePairTuning;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Test environment of the control side, with a fake device and a manual clock.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> the test closes it last.
 */
final class ConnectRig implements AutoCloseable {
    static final long FABRIC_ID = 11;
    static final long PEER_FABRIC_ID = 22;
    /** Of every connection with the fake device, and of a peer whose queue pair has no number. */
    static final ConnectionEnds ENDS = ends(0);

    static final Secret SECRET = Secret.of(new byte[] {1, 2, 3});
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    final FakeRdma rdma;
    final EventChannel events;
    final Rail rail;
    final CompletionQueue completions;
    final ConnectionIds ids;
    final Admissions admissions = new Admissions();
    final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);
    final Listener listener = new Listener();
    final ManualStaging staging = new ManualStaging();

    /** Records events. */
    static final class Listener implements ConnectionListener {
        final List<EstablishedPair> connected = new ArrayList<>();
        final List<ReadFailedException> failed = new ArrayList<>();
        final List<ReadFailedException> broken = new ArrayList<>();
        boolean wanted = true;
        int notTried;

        @Override
        public boolean isWanted() {
            return wanted;
        }

        @Override
        public void notTried() {
            notTried++;
        }

        @Override
        public void connected(EstablishedPair pair) {
            connected.add(pair);
        }

        @Override
        public void connectFailed(ReadFailedException failure) {
            failed.add(failure);
        }

        @Override
        public void broken(EstablishedPair pair, ReadFailedException failure) {
            broken.add(failure);
        }
    }

    ConnectRig() {
        this(new FakeRdma());
    }

    ConnectRig(FakeRdma rdma) {
        this(rdma, RailSettings.DEFAULT);
    }

    ConnectRig(FakeRdma rdma, RailSettings settings) {
        this.rdma = rdma;
        this.events = EventChannel.open(rdma.library());
        this.rail = FakeRdma.rail(events, 0, settings);
        this.ids = new ConnectionIds(rail);
        this.completions = rail.context().createCompletionQueue(64, null);
    }

    static ConnectSettings settings(Secret secret) {
        QueuePairTuning tuning = new QueuePairTuning(14, 7, 1024, 3, 106);
        return new ConnectSettings(tuning, TIMEOUT, 16, 100, 1 << 20, secret);
    }

    QueryResponder responder(Rail of) {
        return new QueryResponder(of, staging, Runnable::run, clock::get);
    }

    Acceptor acceptor(Secret secret) {
        return new Acceptor(ids, responder(rail), FABRIC_ID, settings(secret), admissions, clock::get);
    }

    /** Has a process leave, as far as an acceptor is concerned. */
    void revoke(Acceptor acceptor, long fabricId) {
        admissions.revoke(fabricId);
        acceptor.endServed(fabricId);
    }

    /** Has a peer ask to connect; returns the id of the request. */
    long ask(Acceptor acceptor, byte[] privateData) {
        return ask(acceptor, privateData, 0);
    }

    /** Requests a connection from a queue pair with a number. */
    long ask(Acceptor acceptor, byte[] privateData, int pairNumber) {
        long id = rdma.requestedId();
        long event = rdma.event(id, CmEvent.Type.CONNECT_REQUEST, 0, privateData);
        RawMemory.putInt(event + rdma_cm_event.param__conn__qp_num, pairNumber);
        acceptor.onRequest(Objects.requireNonNull(events.nextEvent(), "no event"));
        return id;
    }

    /** Returns a request of the peer without a secret. */
    static byte[] request(int lane) {
        return Handshake.request(PEER_FABRIC_ID, FABRIC_ID, lane, Secret.NONE, ENDS)
                .encoded();
    }

    /** Returns those of a connection with the fake device. */
    static ConnectionEnds ends(int queuePair) {
        InetAddress everybody = new InetSocketAddress("192.0.2.1", 4791).getAddress();
        return new ConnectionEnds(everybody, everybody, queuePair);
    }

    ConnectionTarget target() {
        InetSocketAddress address = new InetSocketAddress("192.0.2.9", 4791);
        return new ConnectionTarget(rail, completions, address, "7", PEER_FABRIC_ID, 3);
    }

    /** Hands the next event to the ids. */
    void dispatch() {
        ids.dispatch(Objects.requireNonNull(events.nextEvent(), "no event"));
    }

    /** Has an id take a step. */
    void step(long id, CmEvent.Type type) {
        rdma.event(id, type);
        dispatch();
    }

    void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    /** Ends what the listener was given. */
    void endConnected() {
        for (EstablishedPair pair : listener.connected) {
            pair.pair().close();
            pair.rail().controlMemory().release(pair.slot());
            ids.end(pair.id());
        }
        listener.connected.clear();
    }

    @Override
    public void close() {
        ids.close();
        rail.close();
        events.close();
        rdma.close();
    }
}
