// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.CmLayout.rdma_cm_event;
import io.rdmashuffle.ffi.CmLayout.rdma_cm_id;
import io.rdmashuffle.ffi.DeviceLayout.ibv_async_event;
import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device_attr;
import io.rdmashuffle.ffi.DeviceLayout.ibv_port_attr;
import io.rdmashuffle.ffi.DeviceLayout.verbs_context;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_comp_channel;
import io.rdmashuffle.ffi.QueueLayout.ibv_mr;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_attr;
import io.rdmashuffle.ffi.QueueLayout.ibv_qp_init_attr;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.RdmaCm;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import jnr.ffi.LastError;
import jnr.ffi.Runtime;
import org.jspecify.annotations.Nullable;

/**
 * Fake of libibverbs and librdmacm: every object is a block of memory, and the test triggers all events.
 *
 * <p>The connection manager records requests; the test supplies its events. {@link FakeQueues} has posted requests.
 *
 * <p><b>Threading:</b> thread-safe, under one lock. <b>Ownership:</b> the test closes it.
 */
public final class FakeRdma implements AutoCloseable {
    public static final int MAX_WORK_REQUESTS = 4096;
    public static final int MAX_READS_AS_INITIATOR = 8;
    public static final int MAX_READS_AS_TARGET = 6;
    public static final int MAX_SHARED_RECEIVES = 300;
    private static final int OBJECT_BYTES = 1024;

    private final List<NativeBuffer> memory = new ArrayList<>();
    private final int descriptor = LibC.load().eventfd(0, LibC.EFD_NONBLOCK);
    private final Failures failures = new Failures();
    private final List<String> calls = new ArrayList<>();
    private final Queue<Long> cmEvents = new ArrayDeque<>();
    private final Queue<long[]> asyncEvents = new ArrayDeque<>();
    private final Map<Long, CmParameters> connects = new HashMap<>();
    private final Map<Long, CmParameters> accepts = new HashMap<>();
    private final Map<Long, byte[]> rejects = new HashMap<>();
    private final List<Long> ids = new ArrayList<>();
    private final long context;
    private final FakeQueues queues = new FakeQueues();
    private boolean portActive = true;
    private boolean listed = true;
    private int maxCompletions = 1 << 10;
    private int maxSharedReceives = MAX_SHARED_RECEIVES;
    private int numbers = 100;
    private int refusedRights;
    private final FakeGids gids = new FakeGids();
    private final DeviceNotes notes = new DeviceNotes();
    private final PageFaults pageFaults = new PageFaults();

    private final VerbsLibrary library = new VerbsLibrary(
            proxy(IbVerbs.class, (self, method, arguments) -> call(method, arguments)),
            proxy(RdmaCm.class, (self, method, arguments) -> call(method, arguments)),
            ignored -> queues);

    public FakeRdma() {
        context = object() + verbs_context.context;
        RawMemory.putInt(context + ibv_context.async_fd, descriptor);
        RawMemory.putLong(context + ibv_context.device, object());
    }

    public VerbsLibrary library() {
        return library;
    }

    /** Returns the queues. */
    public FakeQueues queues() {
        return queues;
    }

    /** Opens a rail on the fake device. */
    public static Rail rail(EventChannel events, int index) {
        return rail(events, index, RailSettings.DEFAULT);
    }

    /** Opens a rail on the fake device. */
    public static Rail rail(EventChannel events, int index, RailSettings settings) {
        try {
            InetAddress address = InetAddress.getByName("192.0.2." + (1 + index));
            PortAttributes attributes = new PortAttributes(1, true, 4096, 1L << 30, 100, 0, true);
            LocalPort port = new LocalPort("fake0", 1, address, List.of(), -1, attributes);
            return Rail.open(index, port, 0, events, 0, settings);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("a literal address", e);
        }
    }

    /** Has a function fail from now on. */
    public synchronized void fail(String function, Errno errno) {
        failures.add(function, errno, 0);
    }

    /** Has a function fail after it was called so often from now on. */
    public synchronized void failAfter(int calls, String function, Errno errno) {
        failures.add(function, errno, calls);
    }

    /** Has a function work again. */
    public synchronized void repair(String function) {
        failures.remove(function);
    }

    /** Sets whether the port is up. */
    public synchronized void portActive(boolean active) {
        portActive = active;
    }

    /** Sets whether libibverbs lists the device. */
    public synchronized void listed(boolean value) {
        listed = value;
    }

    /** Sets how many entries a completion queue may have. */
    public synchronized void maxCompletions(int entries) {
        maxCompletions = entries;
    }

    /** Sets how many receives a shared queue may have; a device with 0 has no such queues. */
    public synchronized void maxSharedReceives(int receives) {
        maxSharedReceives = receives;
    }

    /** Sets how many interrupts the device has. */
    public synchronized void completionVectors(int number) {
        RawMemory.putInt(context + ibv_context.num_comp_vectors, number);
    }

    /** Sets the device's transport, as libibverbs numbers it. */
    public synchronized void transport(int number) {
        RawMemory.putInt(RawMemory.getLong(context + ibv_context.device) + ibv_device.transport_type, number);
    }

    /** Makes it a device that takes page faults of READs. */
    public void onDemandPaging() {
        pageFaults.enable(context);
    }

    /** Returns its GIDs. */
    public FakeGids gids() {
        return gids;
    }

    /** Has registrations with any of these access flags fail with EINVAL. */
    public synchronized void refuseRights(int flags) {
        refusedRights = flags;
    }

    /** Returns what the device was asked for. */
    public DeviceNotes notes() {
        return notes;
    }

    /** Returns how often a function was called. */
    public synchronized long calls(String function) {
        return calls.stream().filter(function::equals).count();
    }

    /** Returns the id created last. */
    public synchronized long lastId() {
        return ids.get(ids.size() - 1);
    }

    /** Returns what an id was asked to connect with, null if it was not. */
    public synchronized @Nullable CmParameters connectOf(long id) {
        return connects.get(id);
    }

    /** Returns the private data that an id was accepted with, null if it was not. */
    public synchronized byte @Nullable [] acceptOf(long id) {
        CmParameters accept = accepts.get(id);
        return accept == null ? null : accept.privateData();
    }

    /** Returns what an id was accepted with, null if it was not. */
    public synchronized @Nullable CmParameters acceptedWith(long id) {
        return accepts.get(id);
    }

    /** Returns the private data that an id was rejected with, null if it was not. */
    public synchronized byte @Nullable [] rejectOf(long id) {
        return rejects.get(id);
    }

    /** Returns whether an id was not destroyed. */
    public synchronized boolean isOpen(long id) {
        return ids.contains(id);
    }

    /** Makes an id that a peer's request to connect brings. */
    public synchronized long requestedId() {
        long id = object();
        ids.add(id);
        place(id);
        return id;
    }

    /** Has the event channel report a step of an id; returns the {@code rdma_cm_event}. */
    @SuppressWarnings("EnumOrdinal") // in the order of enum rdma_cm_event_type
    public synchronized long event(long id, CmEvent.Type type, int status, byte[] privateData) {
        long data = object();
        RawMemory.putBytes(data, privateData, 0, privateData.length);
        long event = object();
        RawMemory.putLong(event + rdma_cm_event.id, id);
        RawMemory.putInt(event + rdma_cm_event.event, type.ordinal());
        RawMemory.putInt(event + rdma_cm_event.status, status);
        RawMemory.putLong(event + rdma_cm_event.param__conn__private_data, data);
        RawMemory.putByte(event + rdma_cm_event.param__conn__private_data_len, (byte) privateData.length);
        RawMemory.putByte(event + rdma_cm_event.param__conn__responder_resources, (byte) 200);
        cmEvents.add(event);
        return event;
    }

    public void event(long id, CmEvent.Type type) {
        event(id, type, 0, new byte[0]);
    }

    /** Has the device report something about itself. */
    public synchronized void asyncEvent(int type) {
        asyncEvents.add(new long[] {type, 0});
    }

    /** Has the device report something about a queue pair. */
    public synchronized void asyncEvent(int type, int pairNumber) {
        asyncEvents.add(new long[] {type, queues.handle(pairNumber)});
    }

    @SuppressWarnings("NullAway") // of a method without parameters there are no arguments
    private synchronized @Nullable Object call(Method method, Object[] arguments) {
        String name = method.getName();
        calls.add(name);
        Errno errno = failures.ofCall(name);
        if (errno != null) {
            LastError.setLastError(Runtime.getSystemRuntime(), errno.number());
            return result(
                    method, method.getReturnType() == long.class ? 0 : name.startsWith("rdma_") ? -1 : errno.number());
        }
        if (method.getReturnType() == String.class) {
            return "fake0";
        }
        long[] numbers = new long[arguments == null ? 0 : arguments.length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = ((Number) arguments[i]).longValue();
        }
        return result(method, name.startsWith("rdma_") ? manager(name, numbers) : verbs(name, numbers));
    }

    private static @Nullable Object result(Method method, long result) {
        Class<?> type = method.getReturnType();
        return type == void.class ? null : type == long.class ? (Object) result : (Object) (int) result;
    }

    private long manager(String name, long[] arguments) {
        return switch (name) {
            case "rdma_create_event_channel" -> withDescriptor(0);
            case "rdma_create_id" -> {
                long id = object();
                ids.add(id);
                RawMemory.putLong(arguments[1], id);
                yield 0;
            }
            case "rdma_bind_addr" -> {
                notes.bound(arguments[1]);
                yield place(arguments[0]);
            }
            case "rdma_resolve_addr" -> place(arguments[0]);
            case "rdma_connect" -> {
                connects.put(arguments[0], CmParameters.read(arguments[1]));
                yield 0;
            }
            case "rdma_accept" -> {
                CmParameters accepted = CmParameters.read(arguments[1]);
                accepts.put(arguments[0], accepted);
                notes.receivesAtAccept().add(queues.receives(accepted.pairNumber()));
                yield 0;
            }
            case "rdma_reject" -> {
                rejects.put(arguments[0], CmParameters.bytes(arguments[1], (int) arguments[2]));
                yield 0;
            }
            case "rdma_get_cm_event" -> next(arguments[1]);
            case "rdma_destroy_id" -> {
                ids.remove(arguments[0]);
                yield 0;
            }
            default -> 0;
        };
    }

    private long next(long result) {
        Long event = cmEvents.poll();
        if (event == null) {
            LastError.setLastError(Runtime.getSystemRuntime(), Errno.EAGAIN.number());
            return -1;
        }
        RawMemory.putLong(result, event);
        return 0;
    }

    /** Puts an id on the device, with 192.0.2.1:4791 at both ends. */
    private long place(long id) {
        RawMemory.putLong(id + rdma_cm_id.verbs, context);
        RawMemory.putByte(id + rdma_cm_id.port_num, (byte) 1);
        for (int address : new int[] {rdma_cm_id.route__addr__src_addr, rdma_cm_id.route__addr__dst_addr}) {
            RawMemory.putShort(id + address, (short) LibC.AF_INET);
            RawMemory.putBytes(id + address + 2, new byte[] {0x12, (byte) 0xb7, (byte) 192, 0, 2, 1}, 0, 6);
        }
        return 0;
    }

    private long verbs(String name, long[] arguments) {
        return switch (name) {
            case "ibv_get_device_list" -> {
                long list = object();
                RawMemory.putLong(list, listed ? object() : 0);
                RawMemory.putInt(arguments[0], listed ? 1 : 0);
                yield list;
            }
            case "ibv_open_device" -> context;
            case "ibv_query_device" -> queryDevice(arguments[1]);
            case "ibv_query_port" -> queryPort(arguments[2]);
            case "ibv_alloc_pd", "ibv_create_srq" -> queues.created(object());
            case "ibv_create_cq" -> {
                notes.vectors().add((int) arguments[4]);
                yield queues.completionQueue(object(), (int) arguments[1]);
            }
            case "ibv_create_comp_channel" -> withDescriptor(ibv_comp_channel.fd);
            case "ibv_reg_mr" -> {
                if ((arguments[3] & refusedRights) != 0) {
                    LastError.setLastError(Runtime.getSystemRuntime(), Errno.EINVAL.number());
                    yield 0;
                }
                notes.rights().add((int) arguments[3]);
                long region = object();
                RawMemory.putInt(region + ibv_mr.lkey, ++numbers);
                RawMemory.putInt(region + ibv_mr.rkey, ++numbers);
                yield region;
            }
            case "ibv_create_qp" -> createPair(arguments[1]);
            case "ibv_modify_qp" -> {
                notes.modified(arguments[1]);
                queues.state(arguments[0], RawMemory.getInt(arguments[1] + ibv_qp_attr.qp_state));
                yield 0;
            }
            case "ibv_destroy_qp" -> {
                queues.destroy(arguments[0]);
                yield 0;
            }
            case "ibv_query_qp" -> gids.queryPair(arguments[1]);
            case "_ibv_query_gid_table" -> gids.queryTable(arguments[1]);
            case "ibv_get_cq_event" -> -1;
            case "ibv_get_async_event" -> nextAsync(arguments[1]);
            default -> 0;
        };
    }

    private long nextAsync(long event) {
        long[] next = asyncEvents.poll();
        if (next == null) {
            return -1;
        }
        RawMemory.putInt(event + ibv_async_event.event_type, (int) next[0]);
        RawMemory.putLong(event + ibv_async_event.element__qp, next[1]);
        return 0;
    }

    private long createPair(long attributes) {
        long pair = object();
        int number = ++numbers;
        RawMemory.putInt(pair + ibv_qp.qp_num, number);
        queues.pair(
                pair,
                number,
                RawMemory.getLong(attributes + ibv_qp_init_attr.send_cq),
                RawMemory.getLong(attributes + ibv_qp_init_attr.srq),
                RawMemory.getInt(attributes + ibv_qp_init_attr.cap__max_send_wr));
        return pair;
    }

    private long queryDevice(long attributes) {
        RawMemory.putInt(attributes + ibv_device_attr.max_qp_wr, MAX_WORK_REQUESTS);
        RawMemory.putInt(attributes + ibv_device_attr.max_cqe, maxCompletions);
        RawMemory.putInt(attributes + ibv_device_attr.max_srq_wr, maxSharedReceives);
        RawMemory.putInt(attributes + ibv_device_attr.max_srq, Math.min(1, maxSharedReceives));
        RawMemory.putInt(attributes + ibv_device_attr.max_qp_init_rd_atom, MAX_READS_AS_INITIATOR);
        RawMemory.putInt(attributes + ibv_device_attr.max_qp_rd_atom, MAX_READS_AS_TARGET);
        RawMemory.putByte(attributes + ibv_device_attr.phys_port_cnt, (byte) 1);
        return 0;
    }

    private long queryPort(long attributes) {
        RawMemory.putInt(attributes + ibv_port_attr.state, portActive ? VerbsConstants.IBV_PORT_ACTIVE : 1);
        RawMemory.putInt(attributes + ibv_port_attr.max_msg_sz, 1 << 30);
        RawMemory.putByte(attributes + ibv_port_attr.link_layer, (byte) VerbsConstants.IBV_LINK_LAYER_ETHERNET);
        return 0;
    }

    /** Makes an object with a descriptor that never becomes ready. */
    private long withDescriptor(int offset) {
        long object = object();
        RawMemory.putInt(object + offset, descriptor);
        return object;
    }

    private long object() {
        NativeBuffer object = new NativeBuffer(OBJECT_BYTES);
        memory.add(object);
        return object.address();
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public void close() {
        LibC.load().close(descriptor);
        memory.forEach(NativeBuffer::close);
    }
}
