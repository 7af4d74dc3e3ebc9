// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.ContextOps;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_recv_wr;
import io.rdmashuffle.ffi.WorkLayout.ibv_send_wr;
import io.rdmashuffle.ffi.WorkLayout.ibv_sge;
import io.rdmashuffle.ffi.WorkLayout.ibv_wc;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Queues of a passive device: it keeps posted requests, and the test completes them.
 *
 * <p>As a device does it, requests of a queue pair succeed in order, a READ writes into its target when it succeeds,
 * signaled success and every failure are reported, and after the queue pair is destroyed no target is written.
 *
 * <p><b>Threading:</b> thread-safe, under one lock.
 */
public final class FakeQueues implements ContextOps {
    private final Map<Long, Pair> pairs = new HashMap<>();
    private final Map<Long, Queue<Completion>> completions = new HashMap<>();
    private final Map<Long, Integer> capacity = new HashMap<>();
    private final Map<Long, Deque<Receive>> sharedReceives = new HashMap<>();
    private final Map<Integer, Integer> longest = new HashMap<>();
    private int postError;
    private int takenBeforeError;
    private int armed;

    /** A queue pair. */
    private static final class Pair {
        private final int number;
        private final long queue;
        private final long shared;
        private final int maxSends;
        private final List<Send> sends = new ArrayList<>();
        private final Deque<Receive> receives = new ArrayDeque<>();
        private final Map<Long, byte[]> messages = new HashMap<>();
        private int state;

        Pair(int number, long queue, long shared, int maxSends) {
            this.number = number;
            this.queue = queue;
            this.shared = shared;
            this.maxSends = maxSends;
        }
    }

    /** A request that is posted and has not completed. */
    public record Send(
            int pairNumber,
            long id,
            int opcode,
            boolean signaled,
            long local,
            int length,
            int localKey,
            long remote,
            int remoteKey) {
        public boolean isRead() {
            return opcode == VerbsConstants.IBV_WR_RDMA_READ;
        }

        /** Returns whether the device may write into a range. */
        public boolean writesInto(long address, long lengthBytes) {
            return isRead() && local < address + lengthBytes && address < local + length;
        }
    }

    private record Receive(long id, long address, int length) {}

    private record Completion(long id, int status, int opcode, int length, int pairNumber) {}

    synchronized long created(long object) {
        sharedReceives.put(object, new ArrayDeque<>());
        return object;
    }

    synchronized long completionQueue(long queue, int entries) {
        completions.put(queue, new ArrayDeque<>());
        capacity.put(queue, entries);
        return queue;
    }

    synchronized void pair(long handle, int number, long queue, long shared, int maxSends) {
        pairs.put(handle, new Pair(number, queue, shared, maxSends));
    }

    synchronized void state(long handle, int state) {
        pair(handle).state = state;
    }

    synchronized void destroy(long handle) {
        pairs.remove(handle);
    }

    /** Ends a queue pair that could not be destroyed. */
    public synchronized void forget(int number) {
        pairs.remove(handle(number));
    }

    private Pair pair(long handle) {
        Pair pair = pairs.get(handle);
        if (pair == null) {
            throw new AssertionError("a queue pair that is gone");
        }
        return pair;
    }

    private Pair numbered(int number) {
        return pair(handle(number));
    }

    /** Returns the native address of a queue pair. */
    public long handleOf(int number) {
        return handle(number);
    }

    synchronized long handle(int number) {
        return pairs.entrySet().stream()
                .filter(entry -> entry.getValue().number == number)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no queue pair " + number))
                .getKey();
    }

    /** Returns the numbers of the queue pairs that exist. */
    public synchronized List<Integer> pairNumbers() {
        return pairs.values().stream().map(pair -> pair.number).sorted().toList();
    }

    /** Returns the state of a queue pair, a constant of libibverbs. */
    public synchronized int state(int number) {
        return numbered(number).state;
    }

    /** Returns the posted requests of a queue pair, oldest first. */
    public synchronized List<Send> posted(int number) {
        return List.copyOf(numbered(number).sends);
    }

    /** Returns the posted requests of all queue pairs. */
    public synchronized List<Send> posted() {
        return pairs.values().stream().flatMap(pair -> pair.sends.stream()).toList();
    }

    /** Returns how many receives are posted, on a queue pair or the shared queue that it takes from. */
    public synchronized int receives(int number) {
        return receives(numbered(number)).size();
    }

    /** Returns the most requests that were posted on a queue pair at once. */
    public synchronized int mostPosted(int number) {
        return longest.getOrDefault(number, 0);
    }

    /** Returns how often a completion queue was armed. */
    public synchronized int armed() {
        return armed;
    }

    /** Returns the bytes of a message, as they were when it was posted. */
    public synchronized byte[] message(int number, long id) {
        return Objects.requireNonNull(numbered(number).messages.get(id), "not a message")
                .clone();
    }

    /** Completes a message out of order, as if all before it had completed, but for what that brings. */
    public synchronized void forgetMessage(int number, long id) {
        numbered(number).sends.removeIf(send -> send.id == id);
    }

    private Deque<Receive> receives(Pair pair) {
        return pair.shared == 0 ? pair.receives : sharedReceives.getOrDefault(pair.shared, new ArrayDeque<>());
    }

    /** Makes posts fail after {@code taken} accepted requests of a chain, until it is called with 0. */
    public synchronized void failPost(int errno, int taken) {
        postError = errno;
        takenBeforeError = taken;
    }

    /** Completes the oldest request and those after it, {@code count} together; a READ copies its bytes. */
    public synchronized void succeed(int number, int count) {
        Pair pair = numbered(number);
        for (int i = 0; i < count; i++) {
            Send send = pair.sends.remove(0);
            if (send.isRead()) {
                RawMemory.copy(send.remote, send.local, send.length);
            }
            if (send.signaled) {
                complete(pair, new Completion(send.id, VerbsConstants.IBV_WC_SUCCESS, 0, send.length, number));
            }
        }
    }

    /** Fails a request, which stays posted: the device reports each one when it reaches it. */
    public synchronized void fail(int number, long id, int status) {
        complete(numbered(number), new Completion(id, status, 0, 0, number));
    }

    /** Has a message arrive in the oldest receive; the peer wrote it. Returns false if there is no receive. */
    public synchronized boolean deliver(int number, byte[] message) {
        Pair pair = numbered(number);
        Receive receive = receives(pair).poll();
        if (receive == null) {
            return false;
        }
        int length = Math.min(message.length, receive.length);
        RawMemory.putBytes(receive.address, message, 0, length);
        complete(
                pair,
                new Completion(
                        receive.id, VerbsConstants.IBV_WC_SUCCESS, VerbsConstants.IBV_WC_RECV, message.length, number));
        return true;
    }

    /** Has the oldest receive end without a message, as when the queue pair that took it fails. */
    public synchronized void failReceive(int number, int status) {
        Pair pair = numbered(number);
        Receive receive = receives(pair).remove();
        complete(pair, new Completion(receive.id, status, VerbsConstants.IBV_WC_RECV, 0, number));
    }

    private void complete(Pair pair, Completion completion) {
        Queue<Completion> queue = completions.get(pair.queue);
        if (queue == null || queue.size() >= capacity.getOrDefault(pair.queue, 0)) {
            throw new AssertionError("the completion queue overflowed");
        }
        queue.add(completion);
    }

    @Override
    public synchronized int ibv_poll_cq(long cq, int entries, long wcArray) {
        Queue<Completion> queue = completions.getOrDefault(cq, new ArrayDeque<>());
        int count = 0;
        while (count < entries && !queue.isEmpty()) {
            Completion completion = queue.remove();
            long at = wcArray + (long) count * ibv_wc.SIZEOF;
            RawMemory.putLong(at + ibv_wc.wr_id, completion.id);
            RawMemory.putInt(at + ibv_wc.status, completion.status);
            RawMemory.putInt(at + ibv_wc.opcode, completion.opcode);
            RawMemory.putInt(at + ibv_wc.byte_len, completion.length);
            RawMemory.putInt(at + ibv_wc.qp_num, completion.pairNumber);
            count++;
        }
        return count;
    }

    @Override
    public synchronized int ibv_req_notify_cq(long cq, int solicitedOnly) {
        armed++;
        return 0;
    }

    @Override
    public synchronized int ibv_post_send(long qp, long wr, long badWrPointer) {
        Pair pair = pair(qp);
        int taken = 0;
        for (long at = wr; at != 0; at = RawMemory.getLong(at + ibv_send_wr.next)) {
            int error = pair.sends.size() == pair.maxSends
                    ? Errno.ENOMEM.number()
                    : taken == takenBeforeError ? postError : 0;
            if (error != 0) {
                RawMemory.putLong(badWrPointer, at);
                return error;
            }
            Send send = send(pair, at);
            pair.sends.add(send);
            if (send.opcode == VerbsConstants.IBV_WR_SEND) {
                byte[] message = new byte[send.length];
                RawMemory.getBytes(send.local, message, 0, message.length);
                pair.messages.put(send.id, message);
            }
            taken++;
        }
        longest.merge(pair.number, pair.sends.size(), Math::max);
        return 0;
    }

    private static Send send(Pair pair, long request) {
        long piece = RawMemory.getLong(request + ibv_send_wr.sg_list);
        int flags = RawMemory.getInt(request + ibv_send_wr.send_flags);
        return new Send(
                pair.number,
                RawMemory.getLong(request + ibv_send_wr.wr_id),
                RawMemory.getInt(request + ibv_send_wr.opcode),
                (flags & VerbsConstants.IBV_SEND_SIGNALED) != 0,
                RawMemory.getLong(piece + ibv_sge.addr),
                RawMemory.getInt(piece + ibv_sge.length),
                RawMemory.getInt(piece + ibv_sge.lkey),
                RawMemory.getLong(request + ibv_send_wr.wr__rdma__remote_addr),
                RawMemory.getInt(request + ibv_send_wr.wr__rdma__rkey));
    }

    @Override
    public synchronized int ibv_post_recv(long qp, long wr, long badWrPointer) {
        return receive(pair(qp).receives, wr, badWrPointer);
    }

    @Override
    public synchronized int ibv_post_srq_recv(long srq, long wr, long badWrPointer) {
        return receive(sharedReceives.get(srq), wr, badWrPointer);
    }

    private int receive(@Nullable Deque<Receive> receives, long request, long badWrPointer) {
        if (receives == null || postError != 0) {
            RawMemory.putLong(badWrPointer, request);
            return postError == 0 ? Errno.EINVAL.number() : postError;
        }
        long piece = RawMemory.getLong(request + ibv_recv_wr.sg_list);
        receives.add(new Receive(
                RawMemory.getLong(request + ibv_recv_wr.wr_id),
                RawMemory.getLong(piece + ibv_sge.addr),
                RawMemory.getInt(piece + ibv_sge.length)));
        return 0;
    }

    /** Returns the requests that may write into a range of memory. */
    public synchronized Stream<Send> writersInto(long address, long lengthBytes) {
        return posted().stream().filter(send -> send.writesInto(address, lengthBytes));
    }

    @Override
    public long ibv_alloc_mw(long pd, int type) {
        throw new UnsupportedOperationException("memory windows");
    }

    @Override
    public int ibv_dealloc_mw(long mw) {
        throw new UnsupportedOperationException("memory windows");
    }

    @Override
    public int ibv_bind_mw(long qp, long mw, long bind) {
        throw new UnsupportedOperationException("memory windows");
    }

    @Override
    public int ibv_advise_mr(long pd, int advice, int flags, long sgList, int numSge) {
        return Errno.EOPNOTSUPP.number();
    }
}
