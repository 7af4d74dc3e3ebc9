// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.CmConstants;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_event;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_id;
import io.rdmashuffle.ffi.CmLayout.rdma_conn_param;
import io.rdmashuffle.ffi.DeviceLayout.ibv_async_event;
import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_init_attr;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.VerbsLayout.sockaddr_in;
import io.rdmashuffle.ffi.WorkLayout.ibv_recv_wr;
import io.rdmashuffle.ffi.WorkLayout.ibv_send_wr;
import io.rdmashuffle.ffi.WorkLayout.ibv_sge;
import io.rdmashuffle.ffi.WorkLayout.ibv_wc;
import io.rdmashuffle.verbs.FakeDevice;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Fake device for endpoints: the test scripts events, and sees the library's requests.
 *
 * <p>Addresses and routes resolve at once, and peers establish accepted connections; the test handles requests and
 * completions.
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> the test closes it, after the endpoints.
 */
final class ScriptedDevice implements AutoCloseable {
    static final InetAddress ADDRESS = InetAddress.getLoopbackAddress();
    private static final int SOCKADDR_BYTES = 28;
    private static final int DATA_BYTES = 256;

    final FakeDevice fake = new FakeDevice();
    final Limits limits = new Limits();
    final BlockingQueue<Asked> connects = new LinkedBlockingQueue<>();
    final BlockingQueue<Asked> accepts = new LinkedBlockingQueue<>();
    final BlockingQueue<byte[]> rejects = new LinkedBlockingQueue<>();
    final BlockingQueue<Transition> transitions = new LinkedBlockingQueue<>();
    final BlockingQueue<Posted> posted = new LinkedBlockingQueue<>();
    final BlockingQueue<Receive> receives = new LinkedBlockingQueue<>();
    private final long context = fake.createContext();
    private final List<NativeBuffer> memory = new ArrayList<>();
    private final List<Long> ids = new ArrayList<>();
    private final Map<Long, Long> channelsOfIds = new HashMap<>();
    private final Map<Integer, Long> channelsOfPorts = new HashMap<>();
    private final Map<Long, Queue<Long>> cmEvents = new HashMap<>();
    private final Queue<long[]> deviceEvents = new ArrayDeque<>();
    private final Map<Long, Long> queuesOfPairs = new HashMap<>();
    private final Map<Long, Queue<long[]>> completions = new HashMap<>();
    /** Requests and receives that have not completed, by queue pair. */
    private final Map<Long, Set<Long>> outstanding = new HashMap<>();

    private final NativeBuffer counter = allocate(Long.BYTES);
    private int nextPort = 1000;
    private int nextPair = 1;
    /** Runs when requests are posted, before they are noted. */
    volatile Runnable beforeSend = () -> {};

    private volatile long lastPair;
    private volatile long lastId;

    /** Attributes of the device. */
    static final class Limits {
        volatile int reads = 16;
        volatile boolean atomics = true;
        volatile int pieces = 16;
        volatile int piecesOfRead = 16;
        volatile int sharedReceives = 4096;
    }

    /** Arguments of rdma_connect or rdma_accept. */
    @SuppressWarnings("ArrayRecordComponent") // a copy, for one test
    record Asked(long id, int initiatorDepth, int responderResources, byte[] privateData) {}

    /** A change of a queue pair's state. */
    record Transition(long pair, int state, int rights, int readsAsInitiator, int readsAsTarget) {}

    /** A request that was posted, with how many one call posted. */
    record Posted(long pair, long id, int opcode, int flags, long remote, List<Piece> pieces, int chained) {}

    /** A receive that was posted, to a queue pair or a shared queue. */
    record Receive(long queue, long id, long address, int length) {}

    /** A piece of local memory. */
    record Piece(long address, int length, int localKey) {}

    ScriptedDevice() {
        fake.answer("ibv_query_device", this::queryDevice);
        fake.answer("ibv_create_qp", this::createPair);
        fake.answer("ibv_modify_qp", this::modifyPair);
        fake.answer("ibv_post_send", this::postSend);
        fake.answer("ibv_post_recv", this::postReceive);
        fake.answer("ibv_post_srq_recv", this::postReceive);
        fake.answer("ibv_poll_cq", this::poll);
        fake.answer("ibv_get_cq_event", arguments -> FakeDevice.nothingThere());
        fake.answer("ibv_get_async_event", this::nextDeviceEvent);
        fake.answer("rdma_create_id", this::createId);
        fake.answer("rdma_bind_addr", this::bind);
        fake.answer("rdma_resolve_addr", this::resolve);
        fake.answer(
                "rdma_resolve_route",
                arguments -> happen((Long) arguments[0], CmConstants.RDMA_CM_EVENT_ROUTE_RESOLVED));
        fake.answer("rdma_connect", arguments -> note(connects, arguments));
        fake.answer("rdma_accept", arguments -> {
            note(accepts, arguments);
            return happen((Long) arguments[0], CmConstants.RDMA_CM_EVENT_ESTABLISHED);
        });
        fake.answer("rdma_reject", this::reject);
        fake.answer("rdma_get_cm_event", this::nextCmEvent);
    }

    /** Returns the queue pair that was created last, for {@link #deviceEvent}. */
    long lastPair() {
        return lastPair;
    }

    /** Returns the id that the first endpoint has for itself. */
    synchronized long firstId() {
        return ids.get(0);
    }

    /** Opens an endpoint. */
    RdmaEndpoint open(EndpointOptions options) throws IOException {
        return RdmaEndpoint.open(fake.library, ADDRESS, options);
    }

    /** Has a peer connect to an endpoint; returns this side's end. */
    RdmaConnection accepted(RdmaEndpoint endpoint) throws Exception {
        CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
        try (RdmaListener listener = endpoint.listen(0, accepted::complete)) {
            request(listener.address().getPort(), 16, 16, new byte[0]);
            return ConnectedEndpoints.get(accepted);
        }
    }

    /** Returns the next recorded request. */
    static <T> T next(BlockingQueue<T> noted) throws InterruptedException {
        T next = noted.poll(30, TimeUnit.SECONDS);
        if (next == null) {
            throw new AssertionError("nothing within 30 s");
        }
        return next;
    }

    /** Returns the next transition of a queue pair to a state; skips others. */
    Transition transitionTo(int state) throws InterruptedException {
        Transition found = next(transitions);
        while (found.state() != state) {
            found = next(transitions);
        }
        return found;
    }

    /** Returns the id of the request that came last. */
    long lastId() {
        return lastId;
    }

    /** Has something happen to an id. */
    int happen(long id, int type) {
        return happen(id, type, 0, 0, 0, new byte[0]);
    }

    /** Has something happen to an id, with what the peer sent. */
    synchronized int happen(long id, int type, int status, int initiatorDepth, int responderResources, byte[] data) {
        NativeBuffer event = allocate(rdma_cm_event.SIZEOF + DATA_BYTES);
        event.putLong(rdma_cm_event.id, id);
        event.putInt(rdma_cm_event.event, type);
        event.putInt(rdma_cm_event.status, status);
        event.putBytes(rdma_cm_event.SIZEOF, data, 0, data.length);
        event.putLong(rdma_cm_event.param__conn__private_data, event.address(rdma_cm_event.SIZEOF));
        event.putByte(rdma_cm_event.param__conn__private_data_len, (byte) data.length);
        event.putByte(rdma_cm_event.param__conn__initiator_depth, (byte) initiatorDepth);
        event.putByte(rdma_cm_event.param__conn__responder_resources, (byte) responderResources);
        cmEvents.computeIfAbsent(channelsOfIds.getOrDefault(id, 0L), channel -> new ArrayDeque<>())
                .add(event.address());
        signal();
        return 0;
    }

    /** Has a peer ask a listener for a connection; returns the new id. */
    synchronized long request(int port, int initiatorDepth, int responderResources, byte[] data) {
        long id = fake.create();
        channelsOfIds.put(id, channelsOfPorts.getOrDefault(port, 0L));
        lastId = id;
        RawMemory.putLong(id + rdma_cm_id.verbs, context);
        for (int address : new int[] {rdma_cm_id.route__addr__src_addr, rdma_cm_id.route__addr__dst_addr}) {
            RawMemory.putShort(id + address, (short) LibC.AF_INET);
            RawMemory.putShort(id + address + sockaddr_in.sin_port, Short.reverseBytes((short) port));
            RawMemory.putBytes(id + address + sockaddr_in.sin_addr, ADDRESS.getAddress(), 0, 4);
        }
        happen(id, CmConstants.RDMA_CM_EVENT_CONNECT_REQUEST, 0, initiatorDepth, responderResources, data);
        return id;
    }

    /** Has something happen to the device or one of its queues. */
    synchronized void deviceEvent(int type, long element) {
        deviceEvents.add(new long[] {type, element});
        signal();
    }

    /** Completes a request. */
    void complete(Posted request, int status) {
        complete(request.pair(), request.id(), status, VerbsConstants.IBV_WC_RDMA_READ, 0);
    }

    /** Has a message arrive in a receive. */
    void deliver(Receive receive, byte[] message) {
        deliver(receive, receive.queue(), message);
    }

    /** Has a message for a queue pair arrive in a receive, which may be a shared one. */
    void deliver(Receive receive, long pair, byte[] message) {
        RawMemory.putBytes(receive.address(), message, 0, message.length);
        complete(pair, receive.id(), VerbsConstants.IBV_WC_SUCCESS, VerbsConstants.IBV_WC_RECV, message.length);
    }

    /** Completes something. */
    synchronized void complete(long pair, long id, int status, int opcode, int lengthBytes) {
        outstanding.getOrDefault(pair, new LinkedHashSet<>()).remove(id);
        completions
                .computeIfAbsent(queuesOfPairs.getOrDefault(pair, 0L), queue -> new ArrayDeque<>())
                .add(new long[] {id, status, opcode, lengthBytes, RawMemory.getInt(pair + ibv_qp.qp_num)});
        signal();
    }

    private NativeBuffer allocate(long lengthBytes) {
        NativeBuffer buffer = new NativeBuffer(lengthBytes);
        memory.add(buffer);
        return buffer;
    }

    private void signal() {
        counter.putLong(0, 1);
        LibC.load().write(fake.descriptor(), counter.address(), Long.BYTES);
    }

    /** Makes the descriptor unready once all its events were read. */
    private void quiet() {
        boolean quiet = deviceEvents.isEmpty()
                && cmEvents.values().stream().allMatch(Queue::isEmpty)
                && completions.values().stream().allMatch(Queue::isEmpty);
        if (quiet) {
            LibC.load().read(fake.descriptor(), counter.address(), Long.BYTES);
        }
    }

    /** Sets how many interrupts the device has. */
    void completionVectors(int number) {
        RawMemory.putInt(context + ibv_context.num_comp_vectors, number);
    }

    private @Nullable Number queryDevice(Object[] arguments) {
        long attributes = (Long) arguments[1];
        for (int field : new int[] {ibv_device_attr.max_qp, ibv_device_attr.max_qp_wr, ibv_device_attr.max_cqe}) {
            RawMemory.putInt(attributes + field, 4096);
        }
        RawMemory.putLong(attributes + ibv_device_attr.max_mr_size, Long.MAX_VALUE);
        RawMemory.putInt(attributes + ibv_device_attr.max_sge, limits.pieces);
        RawMemory.putInt(attributes + ibv_device_attr.max_sge_rd, limits.piecesOfRead);
        RawMemory.putInt(attributes + ibv_device_attr.max_qp_rd_atom, limits.reads);
        RawMemory.putInt(attributes + ibv_device_attr.max_qp_init_rd_atom, limits.reads);
        RawMemory.putInt(attributes + ibv_device_attr.max_srq, limits.sharedReceives == 0 ? 0 : 8);
        RawMemory.putInt(attributes + ibv_device_attr.max_srq_wr, limits.sharedReceives);
        int atomics = limits.atomics ? VerbsConstants.IBV_ATOMIC_HCA : VerbsConstants.IBV_ATOMIC_NONE;
        RawMemory.putInt(attributes + ibv_device_attr.atomic_cap, atomics);
        return null;
    }

    private synchronized Number createPair(Object[] arguments) {
        long pair = fake.create();
        RawMemory.putInt(pair + ibv_qp.qp_num, nextPair++);
        queuesOfPairs.put(pair, RawMemory.getLong((Long) arguments[1] + ibv_qp_init_attr.send_cq));
        lastPair = pair;
        return pair;
    }

    private Number modifyPair(Object[] arguments) {
        long attributes = (Long) arguments[1];
        int state = RawMemory.getInt(attributes + ibv_qp_attr.qp_state);
        if (state == VerbsConstants.IBV_QPS_ERR) {
            flush((Long) arguments[0]);
        }
        transitions.add(new Transition(
                (Long) arguments[0],
                state,
                RawMemory.getInt(attributes + ibv_qp_attr.qp_access_flags),
                RawMemory.getByte(attributes + ibv_qp_attr.max_rd_atomic),
                RawMemory.getByte(attributes + ibv_qp_attr.max_dest_rd_atomic)));
        return 0;
    }

    /** As a device does with whatever is outstanding when a queue pair fails. */
    private synchronized void flush(long pair) {
        for (long id : List.copyOf(outstanding.getOrDefault(pair, Set.of()))) {
            complete(pair, id, VerbsConstants.IBV_WC_WR_FLUSH_ERR, 0, 0);
        }
    }

    private synchronized void isOutstanding(long pair, long id) {
        outstanding.computeIfAbsent(pair, any -> new LinkedHashSet<>()).add(id);
    }

    private Number postSend(Object[] arguments) {
        beforeSend.run();
        List<Posted> chain = new ArrayList<>();
        int length = 0;
        for (long at = (Long) arguments[1]; at != 0; at = RawMemory.getLong(at + ibv_send_wr.next)) {
            length++;
        }
        for (long at = (Long) arguments[1]; at != 0; at = RawMemory.getLong(at + ibv_send_wr.next)) {
            List<Piece> pieces = new ArrayList<>();
            for (int i = 0; i < RawMemory.getInt(at + ibv_send_wr.num_sge); i++) {
                long piece = RawMemory.getLong(at + ibv_send_wr.sg_list) + (long) i * ibv_sge.SIZEOF;
                pieces.add(new Piece(
                        RawMemory.getLong(piece + ibv_sge.addr),
                        RawMemory.getInt(piece + ibv_sge.length),
                        RawMemory.getInt(piece + ibv_sge.lkey)));
            }
            chain.add(new Posted(
                    (Long) arguments[0],
                    RawMemory.getLong(at + ibv_send_wr.wr_id),
                    RawMemory.getInt(at + ibv_send_wr.opcode),
                    RawMemory.getInt(at + ibv_send_wr.send_flags),
                    RawMemory.getLong(at + ibv_send_wr.wr__rdma__remote_addr),
                    pieces,
                    length));
        }
        chain.forEach(each -> isOutstanding(each.pair(), each.id()));
        posted.addAll(chain);
        return 0;
    }

    private Number postReceive(Object[] arguments) {
        long at = (Long) arguments[1];
        long piece = RawMemory.getLong(at + ibv_recv_wr.sg_list);
        Receive receive = new Receive(
                (Long) arguments[0],
                RawMemory.getLong(at + ibv_recv_wr.wr_id),
                RawMemory.getLong(piece + ibv_sge.addr),
                RawMemory.getInt(piece + ibv_sge.length));
        isOutstanding(receive.queue(), receive.id());
        receives.add(receive);
        return 0;
    }

    private synchronized Number poll(Object[] arguments) {
        long[] completion = completions
                .getOrDefault((Long) arguments[0], new ArrayDeque<>())
                .poll();
        quiet();
        if (completion == null) {
            return 0;
        }
        long entry = (Long) arguments[2];
        RawMemory.clear(entry, ibv_wc.SIZEOF);
        RawMemory.putLong(entry + ibv_wc.wr_id, completion[0]);
        RawMemory.putInt(entry + ibv_wc.status, (int) completion[1]);
        RawMemory.putInt(entry + ibv_wc.opcode, (int) completion[2]);
        RawMemory.putInt(entry + ibv_wc.byte_len, (int) completion[3]);
        RawMemory.putInt(entry + ibv_wc.qp_num, (int) completion[4]);
        return 1;
    }

    private synchronized Number nextDeviceEvent(Object[] arguments) {
        long[] event = deviceEvents.poll();
        quiet();
        if (event == null) {
            return FakeDevice.nothingThere();
        }
        RawMemory.putInt((Long) arguments[1] + ibv_async_event.event_type, (int) event[0]);
        RawMemory.putLong((Long) arguments[1] + ibv_async_event.element__qp, event[1]);
        return 0;
    }

    private synchronized Number nextCmEvent(Object[] arguments) {
        Long event =
                cmEvents.getOrDefault((Long) arguments[0], new ArrayDeque<>()).poll();
        quiet();
        if (event == null) {
            return FakeDevice.nothingThere();
        }
        RawMemory.putLong((Long) arguments[1], event);
        return 0;
    }

    private synchronized Number createId(Object[] arguments) {
        long id = fake.create();
        RawMemory.putLong((Long) arguments[1], id);
        ids.add(id);
        channelsOfIds.put(id, (Long) arguments[0]);
        return 0;
    }

    private synchronized Number bind(Object[] arguments) {
        long id = (Long) arguments[0];
        long source = id + rdma_cm_id.route__addr__src_addr;
        RawMemory.copy((Long) arguments[1], source, SOCKADDR_BYTES);
        if (RawMemory.getShort(source + sockaddr_in.sin_port) == 0) {
            RawMemory.putShort(source + sockaddr_in.sin_port, Short.reverseBytes((short) nextPort++));
        }
        int port = Short.toUnsignedInt(Short.reverseBytes(RawMemory.getShort(source + sockaddr_in.sin_port)));
        channelsOfPorts.put(port, channelsOfIds.getOrDefault(id, 0L));
        RawMemory.putLong(id + rdma_cm_id.verbs, context);
        return 0;
    }

    private Number resolve(Object[] arguments) {
        long id = (Long) arguments[0];
        RawMemory.copy((Long) arguments[2], id + rdma_cm_id.route__addr__dst_addr, SOCKADDR_BYTES);
        RawMemory.putLong(id + rdma_cm_id.verbs, context);
        return happen(id, CmConstants.RDMA_CM_EVENT_ADDR_RESOLVED);
    }

    private Number reject(Object[] arguments) {
        byte[] reason = new byte[Byte.toUnsignedInt((Byte) arguments[2])];
        RawMemory.getBytes((Long) arguments[1], reason, 0, reason.length);
        rejects.add(reason);
        return 0;
    }

    private static Number note(BlockingQueue<Asked> into, Object[] arguments) {
        long parameters = (Long) arguments[1];
        byte[] data = new byte[Byte.toUnsignedInt(RawMemory.getByte(parameters + rdma_conn_param.private_data_len))];
        RawMemory.getBytes(RawMemory.getLong(parameters + rdma_conn_param.private_data), data, 0, data.length);
        into.add(new Asked(
                (Long) arguments[0],
                Byte.toUnsignedInt(RawMemory.getByte(parameters + rdma_conn_param.initiator_depth)),
                Byte.toUnsignedInt(RawMemory.getByte(parameters + rdma_conn_param.responder_resources)),
                data));
        return 0;
    }

    @Override
    public void close() {
        fake.close();
        memory.forEach(NativeBuffer::close);
    }
}
