// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_init_attr;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * One end of a reliable connection, or a port for datagrams.
 *
 * <p>Life: created in RESET; {@code initialize}, {@code readyToReceive}, {@code readyToSend}; {@link #fail} ends it,
 * after which everything outstanding completes as flushed. The three steps take a connection id that knows the peer, or
 * {@link PairAttributes} and the peer's {@link PairAddress}, which the caller got some other way. Pairs for datagrams
 * have one step, {@link #startDatagrams}.
 *
 * <p>On {@linkplain Transport#IWARP iWARP} the connection manager takes the pair from INIT to RTS while it connects or
 * accepts: {@code readyToReceive} and {@code readyToSend} with a connection id return at once there.
 *
 * <p><b>Threading:</b> thread-safe; one thread that posts is the fast way.
 *
 * <p><b>Ownership:</b> child of its {@link ProtectionDomain} and its queues. Memory named in a posted request belongs
 * to the device until its completion, or until this is closed.
 *
 * <p><b>Source:</b> ibv_create_qp(3), ibv_modify_qp(3), ibv_post_send(3), ibv_post_recv(3).
 */
public final class QueuePair extends NativeResource {
    private final ProtectionDomain domain;
    private final DeviceCalls calls;
    private final ContextOps operations;
    private final int number;
    private final int inlineBytes;
    private final NativeBuffer badSend = new NativeBuffer(Long.BYTES);
    private final NativeBuffer badReceive = new NativeBuffer(Long.BYTES);

    private QueuePair(
            ProtectionDomain domain,
            DeviceCalls calls,
            long handle,
            int number,
            int inlineBytes,
            NativeResource... parents) {
        super("queue pair " + number + " of " + calls.deviceName(), handle, parents);
        this.domain = domain;
        this.calls = calls;
        this.operations = calls.operations();
        this.number = number;
        this.inlineBytes = inlineBytes;
    }

    static QueuePair created(
            ProtectionDomain domain,
            DeviceCalls calls,
            long handle,
            int inlineBytes,
            CompletionQueue sends,
            CompletionQueue receives,
            @Nullable SharedReceiveQueue shared) {
        List<NativeResource> parents = new ArrayList<>(List.of(domain, sends));
        if (receives != sends) {
            parents.add(receives);
        }
        if (shared != null) {
            parents.add(shared);
        }
        int number = RawMemory.getInt(handle + ibv_qp.qp_num);
        return new QueuePair(domain, calls, handle, number, inlineBytes, parents.toArray(NativeResource[]::new))
                .adoptedBy(QueuePair.class);
    }

    /** {@return the number that completions and the peer know this pair by} */
    public int number() {
        return number;
    }

    /** {@return the longest inline message; at least the requested length} */
    public int inlineBytes() {
        return inlineBytes;
    }

    /** {@return the protection domain that this pair was created from} */
    public ProtectionDomain domain() {
        return domain;
    }

    /**
     * Posts a chain, starting all of it at once; makes no garbage. The caller may clear and refill the chain as soon as
     * this returns.
     *
     * @param chain the requests
     * @return how many requests were taken, fewer than all when the queue is full
     * @throws io.rdmashuffle.ffi.NativeException if a request is malformed; those before it were taken, so close the
     *     pair
     */
    public int post(SendRequests chain) {
        long pair = enter();
        try {
            synchronized (badSend) {
                badSend.putLong(0, 0);
                int error = operations.ibv_post_send(pair, chain.head(), badSend.address());
                long refused = badSend.getLong(0);
                return error == 0 && refused == 0
                        ? chain.size()
                        : Posting.taken(error, chain.size(), chain.indexOf(refused), name());
            }
        } finally {
            exit();
        }
    }

    /**
     * Posts receives. Allowed from {@code initialize} on.
     *
     * @param chain the receives
     * @return how many receives were taken, fewer than all when the queue is full
     * @throws io.rdmashuffle.ffi.NativeException if a receive is malformed
     */
    public int post(ReceiveRequests chain) {
        long pair = enter();
        try {
            synchronized (badReceive) {
                badReceive.putLong(0, 0);
                int error = operations.ibv_post_recv(pair, chain.head(), badReceive.address());
                long refused = badReceive.getLong(0);
                return error == 0 && refused == 0
                        ? chain.size()
                        : Posting.taken(error, chain.size(), chain.indexOf(refused), name());
            }
        } finally {
            exit();
        }
    }

    /**
     * RESET to INIT, on the port of the id.
     *
     * @param id selects the port; bound, resolved or from a CONNECT_REQUEST
     * @param remoteRights what the peer may do through this pair, in addition to SEND
     */
    public void initialize(CmId id, Set<Access> remoteRights) {
        modify(
                id,
                VerbsConstants.IBV_QPS_INIT,
                QueuePairTuning.DEFAULT,
                attributes -> attributes.putInt(ibv_qp_attr.qp_access_flags, Access.flags(remoteRights)));
    }

    /**
     * INIT to RTR, once the id knows the peer: after CONNECT_REQUEST or CONNECT_RESPONSE.
     *
     * @param id the connection
     * @param tuning what to change of the attributes that the connection manager proposes
     */
    public void readyToReceive(CmId id, QueuePairTuning tuning) {
        readyToReceive(id, tuning, QueuePairTuning.AS_PROPOSED, QueuePairTuning.AS_PROPOSED);
    }

    /**
     * INIT to RTR, with the time that a peer waits before it repeats a SEND for which no receive was posted here.
     *
     * @param id the connection
     * @param tuning what to change of the attributes that the connection manager proposes
     * @param minRnrTimer code of the InfiniBand specification: 1 is 0.01 ms, 12 is 0.64 ms, 14 is 1.28 ms, 31 is 491.52
     *     ms. The connection manager proposes 0, which is the longest, 655.36 ms
     */
    public void readyToReceive(CmId id, QueuePairTuning tuning, int minRnrTimer) {
        readyToReceive(id, tuning, minRnrTimer, QueuePairTuning.AS_PROPOSED);
    }

    /**
     * INIT to RTR, as {@link #readyToReceive(CmId, QueuePairTuning, int)}.
     *
     * @param id the connection
     * @param tuning what to change of the attributes that the connection manager proposes
     * @param minRnrTimer code of the InfiniBand specification, or {@link QueuePairTuning#AS_PROPOSED}
     * @param maxReads most READs and atomics of the peer served at once, or {@link QueuePairTuning#AS_PROPOSED}. The
     *     connection manager proposes what the peer asked for, which may be more than this side's device supports
     */
    public void readyToReceive(CmId id, QueuePairTuning tuning, int minRnrTimer, int maxReads) {
        connect(id, VerbsConstants.IBV_QPS_RTR, tuning, attributes -> {
            if (minRnrTimer != QueuePairTuning.AS_PROPOSED) {
                attributes.putByte(ibv_qp_attr.min_rnr_timer, (byte) minRnrTimer);
            }
            if (maxReads != QueuePairTuning.AS_PROPOSED) {
                attributes.putByte(ibv_qp_attr.max_dest_rd_atomic, (byte) maxReads);
            }
        });
    }

    /**
     * RTR to RTS.
     *
     * @param id the connection
     * @param tuning what to change of the attributes that the connection manager proposes
     */
    public void readyToSend(CmId id, QueuePairTuning tuning) {
        readyToSend(id, tuning, QueuePairTuning.AS_PROPOSED);
    }

    /**
     * RTR to RTS, as {@link #readyToSend(CmId, QueuePairTuning)}.
     *
     * @param id the connection
     * @param tuning what to change of the attributes that the connection manager proposes
     * @param maxReads most READs and atomics that this side has in flight, or {@link QueuePairTuning#AS_PROPOSED}. The
     *     connection manager proposes what the peer serves, which may be more than this side's device supports
     */
    public void readyToSend(CmId id, QueuePairTuning tuning, int maxReads) {
        connect(id, VerbsConstants.IBV_QPS_RTS, tuning, attributes -> {
            if (maxReads != QueuePairTuning.AS_PROPOSED) {
                attributes.putByte(ibv_qp_attr.max_rd_atomic, (byte) maxReads);
            }
        });
    }

    /**
     * RESET to INIT without a connection manager. InfiniBand, RoCE and soft-RoCE; an iWARP device refuses.
     *
     * @param attributes this side's port and partition are used
     * @param remoteRights what the peer may do through this pair, in addition to SEND
     */
    public void initialize(PairAttributes attributes, Set<Access> remoteRights) {
        modify(VerbsConstants.IBV_QPS_INIT, "", buffer -> PairTransitions.initialize(buffer, attributes, remoteRights));
    }

    /**
     * {@return what the peer must be told of this pair}
     *
     * @param attributes attributes of this side, the same as for {@link #readyToSend(PairAttributes, PairAddress)}
     */
    public PairAddress address(PairAttributes attributes) {
        GidEntry gid = attributes.gid();
        return new PairAddress(
                number,
                attributes.firstSequence(),
                attributes.lid(),
                gid == null ? null : gid.address(),
                attributes.mtuBytes(),
                attributes.responderResources());
    }

    /**
     * INIT to RTR without a connection manager. From then on the peer may send; earlier messages are repeated, as
     * often as its retries allow.
     *
     * @param attributes attributes of this side
     * @param peer address of the peer's queue pair
     * @throws io.rdmashuffle.ffi.NativeException EINVAL: a GID index, partition or depth that the device does not have,
     *     or an iWARP device
     */
    public void readyToReceive(PairAttributes attributes, PairAddress peer) {
        modify(
                VerbsConstants.IBV_QPS_RTR,
                ", " + peer,
                buffer -> PairTransitions.readyToReceive(buffer, attributes, peer));
    }

    /**
     * RTR to RTS without a connection manager.
     *
     * @param attributes attributes of this side
     * @param peer address of the peer's queue pair
     */
    public void readyToSend(PairAttributes attributes, PairAddress peer) {
        modify(VerbsConstants.IBV_QPS_RTS, "", buffer -> PairTransitions.readyToSend(buffer, attributes, peer));
    }

    /**
     * RESET to RTS of a pair for {@link Service#DATAGRAMS}, which has no peer: each request names one.
     *
     * @param attributes port, partition and first sequence number are used
     * @param queueKey what datagrams must carry to be received here; those with the highest bit set are for the kernel
     */
    public void startDatagrams(PairAttributes attributes, int queueKey) {
        modify(
                VerbsConstants.IBV_QPS_INIT,
                ", datagrams",
                buffer -> PairTransitions.initializeDatagrams(buffer, attributes, queueKey));
        modify(VerbsConstants.IBV_QPS_RTR, ", datagrams", buffer -> VerbsConstants.IBV_QP_STATE);
        modify(VerbsConstants.IBV_QPS_RTS, ", datagrams", buffer -> PairTransitions.sendDatagrams(buffer, attributes));
    }

    private void modify(int state, String details, ToIntFunction<NativeBuffer> fill) {
        long pair = enter();
        try (NativeBuffer attributes = new NativeBuffer(ibv_qp_attr.SIZEOF)) {
            attributes.putInt(ibv_qp_attr.qp_state, state);
            int mask = fill.applyAsInt(attributes);
            NativeResult.checkReturned(
                    calls.verbs().ibv_modify_qp(pair, attributes.address(), mask),
                    () -> "ibv_modify_qp(state=" + state + details + ") of " + name());
        } finally {
            exit();
        }
    }

    /** Makes a step for which the connection manager proposes the attributes, unless it makes the step itself. */
    private void connect(CmId id, int state, QueuePairTuning tuning, Consumer<NativeBuffer> changes) {
        if (calls.transport() != Transport.IWARP) {
            modify(id, state, tuning, changes);
        }
    }

    private void modify(CmId id, int state, QueuePairTuning tuning, Consumer<NativeBuffer> changes) {
        try (InUse inUse = InUse.of(this, id);
                NativeBuffer attributes = new NativeBuffer(ibv_qp_attr.SIZEOF);
                NativeBuffer maskAt = new NativeBuffer(Integer.BYTES)) {
            attributes.putInt(ibv_qp_attr.qp_state, state);
            NativeResult.checkSet(
                    calls.cm().rdma_init_qp_attr(inUse.handle(id), attributes.address(), maskAt.address()),
                    () -> "rdma_init_qp_attr(state=" + state + ") of " + name());
            changes.accept(attributes);
            int mask = tuning.apply(attributes, maskAt.getInt(0), id.isEthernet());
            NativeResult.checkReturned(
                    calls.verbs().ibv_modify_qp(inUse.handle(this), attributes.address(), mask),
                    () -> "ibv_modify_qp(state=" + state + ") of " + name());
        }
    }

    /** Moves the queue pair to the error state: everything outstanding completes as flushed. */
    public void fail() {
        modify(VerbsConstants.IBV_QPS_ERR, " ERR", buffer -> VerbsConstants.IBV_QP_STATE);
    }

    /**
     * Queries the pair's state. That of siw, as of Linux 6.1, is RESET whatever happens.
     *
     * @return the state when it was asked for
     */
    public State state() {
        long pair = enter();
        try (NativeBuffer attributes = new NativeBuffer(ibv_qp_attr.SIZEOF);
                NativeBuffer init = new NativeBuffer(ibv_qp_init_attr.SIZEOF)) {
            NativeResult.checkReturned(
                    calls.verbs().ibv_query_qp(pair, attributes.address(), VerbsConstants.IBV_QP_STATE, init.address()),
                    () -> "ibv_query_qp() of " + name());
            return State.of(attributes.getInt(ibv_qp_attr.qp_state));
        } finally {
            exit();
        }
    }

    /**
     * Queries the device which of its GIDs the pair sends with, after {@code readyToReceive}: on RoCE it decides
     * between v1 and v2, and with a connection id it is the connection manager's choice.
     *
     * @return the row of the port's table, as in {@link GidEntry#index}; 0 where packets carry no GID
     */
    public int gidIndex() {
        long pair = enter();
        try (NativeBuffer attributes = new NativeBuffer(ibv_qp_attr.SIZEOF);
                NativeBuffer init = new NativeBuffer(ibv_qp_init_attr.SIZEOF)) {
            NativeResult.checkReturned(
                    calls.verbs().ibv_query_qp(pair, attributes.address(), VerbsConstants.IBV_QP_AV, init.address()),
                    () -> "ibv_query_qp(AV) of " + name());
            return Byte.toUnsignedInt(attributes.getByte(ibv_qp_attr.ah_attr__grh__sgid_index));
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(calls.verbs().ibv_destroy_qp(handle), () -> "ibv_destroy_qp() of " + name());
        badSend.close();
        badReceive.close();
    }

    /** Transport services. */
    public enum Service {
        /** RC: one peer, nothing lost, SEND, READ, WRITE and atomics. */
        RELIABLE_CONNECTION(VerbsConstants.IBV_QPT_RC),
        /**
         * UD: any number of peers, SEND only, each at most as long as the port's MTU. One may be lost, and is where no
         * receive is posted or the queue key is another.
         */
        DATAGRAMS(VerbsConstants.IBV_QPT_UD);

        private final int number;

        Service(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }
    }

    /** The states of a queue pair, in the order of enum ibv_qp_state. */
    public enum State {
        /** Created; posting fails. */
        RESET,
        /** INIT: receives may be posted. */
        INITIALIZED,
        /** RTR: receives and serves the peer. */
        READY_TO_RECEIVE,
        /** RTS: sends, too. */
        READY_TO_SEND,
        /** SQD: no new requests are started. Not used by this library. */
        SEND_QUEUE_DRAINED,
        /** SQE: the send queue failed. Does not occur with reliable connections. */
        SEND_QUEUE_ERROR,
        /** ERR: everything posted completes as flushed. */
        ERROR,
        /** A number that this library does not know. */
        UNKNOWN;

        private static final State[] BY_NUMBER = values();

        static State of(int number) {
            return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : UNKNOWN;
        }
    }
}
