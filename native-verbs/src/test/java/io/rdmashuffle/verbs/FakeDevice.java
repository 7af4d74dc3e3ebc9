// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.CmLayout.rdma_event_channel;
import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.DeviceLayout.ibv_context;
import io.rdmashuffle.ffi.DeviceLayout.ibv_device;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_comp_channel;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.RdmaCm;
import io.rdmashuffle.ffi.VerbsConstants;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import jnr.ffi.LastError;
import jnr.ffi.Runtime;
import org.jspecify.annotations.Nullable;

/**
 * Native functions without a device: every object is a zeroed block of memory, calls are noted, failures are injected,
 * and a call on an object that was destroyed is a violation. Contexts name a zeroed {@code ibv_device}, as C code
 * dereferences it, and connection ids no context.
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> the test closes it.
 */
public final class FakeDevice implements AutoCloseable {
    private static final int OBJECT_BYTES = 1024;

    private final Map<String, Errno> failures = new ConcurrentHashMap<>();
    private final Map<String, Consumer<long[]>> fills = new ConcurrentHashMap<>();
    private final Map<String, Answer> answers = new ConcurrentHashMap<>();
    private final Set<Long> alive = ConcurrentHashMap.newKeySet();
    private final Queue<NativeBuffer> memory = new ConcurrentLinkedQueue<>();
    private final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    private final Queue<String> violations = new ConcurrentLinkedQueue<>();
    private final int descriptor = LibC.load().eventfd(0, LibC.EFD_NONBLOCK);
    private volatile Runnable duringHotCall = () -> {};
    private volatile int postError;

    /** What a function does instead of succeeding without a trace. */
    public interface Answer {
        /** Returns the result of the function; null for its default. */
        @Nullable
        Number to(Object[] arguments);
    }

    public final VerbsLibrary library = new VerbsLibrary(
            proxy(IbVerbs.class, (self, method, arguments) -> call(method, arguments)),
            proxy(RdmaCm.class, (self, method, arguments) -> call(method, arguments)),
            context -> proxy(ContextOps.class, (self, method, arguments) -> call(method, arguments)));

    private final long device = create();

    /** Returns an open context. */
    public Context open() {
        return Context.opened(library, createContext(), "fake0");
    }

    /** Returns the address of the {@code ibv_device} that all contexts name. */
    long device() {
        return device;
    }

    /** Makes it a device of iWARP. */
    public void iwarp() {
        RawMemory.putInt(device + ibv_device.transport_type, VerbsConstants.IBV_TRANSPORT_IWARP);
    }

    /** Has a function do something with its arguments whenever it succeeds. */
    void fill(String function, Consumer<long[]> action) {
        fills.put(function, action);
    }

    /** Has a function fail from now on. */
    public void fail(String function, Errno errno) {
        failures.put(function, errno);
    }

    /** Has a function do this from now on. */
    public void answer(String function, Answer answer) {
        answers.put(function, answer);
    }

    /** Returns what a function returns that finds nothing to read: -1, and EAGAIN as errno. */
    public static Number nothingThere() {
        LastError.setLastError(Runtime.getSystemRuntime(), Errno.EAGAIN.number());
        return -1;
    }

    /** Returns the one descriptor that everything here has; it becomes ready when a test writes to it. */
    public int descriptor() {
        return descriptor;
    }

    /** Has posting fail with this errno, naming the first request of the chain. */
    void failPost(int errno) {
        postError = errno;
    }

    /** Runs something inside each post and poll. */
    void duringHotCall(Runnable action) {
        duringHotCall = action;
    }

    /** Returns the names of the functions called that destroy something. */
    public List<String> destructions() {
        synchronized (calls) {
            return calls.stream().filter(FakeDevice::destroys).toList();
        }
    }

    /** Returns calls on objects that were destroyed. */
    List<String> violations() {
        return List.copyOf(violations);
    }

    private static boolean creates(String name) {
        return name.matches("(ibv|rdma)_(create|alloc|reg|open)_.*");
    }

    private static boolean destroys(String name) {
        return name.matches("(ibv|rdma)_(destroy|dealloc|dereg|close)_.*");
    }

    private @Nullable Object call(Method method, Object[] arguments) {
        String name = method.getName();
        if (method.getReturnType() == String.class) {
            return "fake0";
        }
        long first = arguments == null || arguments.length == 0 ? 0 : ((Number) arguments[0]).longValue();
        boolean hot = name.contains("post") || name.contains("poll");
        if (!hot) {
            calls.add(name);
        }
        if (first != 0 && !alive.contains(first)) {
            violations.add(name + " on an object that is gone");
        }
        Errno errno = failures.get(name);
        if (errno != null) {
            LastError.setLastError(Runtime.getSystemRuntime(), errno.number());
        }
        if (errno == null) {
            fills.getOrDefault(name, ignored -> {}).accept(numbers(arguments));
        }
        Answer answer = answers.get(name);
        Number answered = answer == null || errno != null ? null : answer.to(arguments);
        if (answered != null) {
            return method.getReturnType() == long.class ? (Object) answered.longValue() : answered;
        }
        if (creates(name) && !name.equals("rdma_create_id")) {
            return errno != null ? 0L : create(name);
        }
        if (hot) {
            duringHotCall.run();
            if (!alive.contains(first)) {
                violations.add(name + " while its object went");
            }
        }
        if (destroys(name) && errno == null) {
            alive.remove(first);
        }
        return method.getReturnType() == void.class ? null : number(method, name, arguments, errno);
    }

    private Object number(Method method, String name, Object[] arguments, @Nullable Errno errno) {
        int result = errno == null ? 0 : name.startsWith("rdma_") ? -1 : errno.number();
        if (name.contains("post") && postError != 0) {
            RawMemory.putLong((Long) arguments[2], (Long) arguments[1]);
            result = postError;
        }
        if (name.equals("rdma_create_id") && errno == null) {
            RawMemory.putLong((Long) arguments[1], create());
        }
        return method.getReturnType() == long.class ? (Object) (long) result : (Object) result;
    }

    private static long[] numbers(Object @Nullable [] arguments) {
        return Arrays.stream(arguments == null ? new Object[0] : arguments)
                .mapToLong(argument -> ((Number) argument).longValue())
                .toArray();
    }

    /** Makes what a function creates; where it has a descriptor, there is one that never becomes ready. */
    private long create(String function) {
        switch (function) {
            case "ibv_open_device" -> {
                return createContext();
            }
            case "ibv_create_comp_channel" -> {
                return withDescriptor(ibv_comp_channel.fd);
            }
            case "rdma_create_event_channel" -> {
                return withDescriptor(rdma_event_channel.fd);
            }
            default -> {
                return create();
            }
        }
    }

    /** Makes an open device. */
    public long createContext() {
        long context = withDescriptor(ibv_context.async_fd);
        RawMemory.putLong(context + ibv_context.device, device);
        return context;
    }

    private long withDescriptor(int offset) {
        long object = create();
        RawMemory.putInt(object + offset, descriptor);
        return object;
    }

    /** Makes an object of zeros. */
    public long create() {
        NativeBuffer object = new NativeBuffer(OBJECT_BYTES);
        memory.add(object);
        alive.add(object.address());
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
