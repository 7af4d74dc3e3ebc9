// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.verbs.async.ConnectAnswer;
import io.rdmashuffle.verbs.async.EndpointOptions;
import io.rdmashuffle.verbs.async.LocalRegion;
import io.rdmashuffle.verbs.async.LocalSlice;
import io.rdmashuffle.verbs.async.MemoryServer;
import io.rdmashuffle.verbs.async.PreparedOperation;
import io.rdmashuffle.verbs.async.RdmaBatch;
import io.rdmashuffle.verbs.async.RdmaConnection;
import io.rdmashuffle.verbs.async.RdmaEndpoint;
import io.rdmashuffle.verbs.async.RdmaListener;
import io.rdmashuffle.verbs.async.ReceivedMessage;
import io.rdmashuffle.verbs.async.RemoteAllocation;
import io.rdmashuffle.verbs.async.RemoteMemory;
import io.rdmashuffle.verbs.async.RemoteRegion;
import io.rdmashuffle.verbs.async.SharedReceives;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The examples of docs/native-verbs.md: each marked region is a code block there, and runs in {@link ExamplesTest}. */
final class Examples {
    private Examples() {}

    static void open(InetAddress local) throws Exception {
        // example: open
        try (RdmaEndpoint endpoint = RdmaEndpoint.open(local, EndpointOptions.DEFAULT)) {
            System.out.println("on " + endpoint.deviceName());
        }
        // end
    }

    static void options(InetAddress local) throws Exception {
        // example: options
        EndpointOptions options = EndpointOptions.DEFAULT
                .withMaxInFlight(16) // one more throws RejectedExecutionException
                .withOperationTimeout(Duration.ofSeconds(5)) // passing it ends the connection
                .withProgressThreads(2) // each drives its share of the connections; the default is 1
                .withBusyPoll(true); // a core for each of them, for a few microseconds; the default sleeps
        try (RdmaEndpoint endpoint = RdmaEndpoint.open(local, options)) {
            System.out.println("spinning on " + endpoint.deviceName());
        }
        // end
    }

    static RdmaListener listen(RdmaEndpoint server, CompletableFuture<RdmaConnection> accepted) {
        // example: listen
        RdmaListener listener = server.listen(0, connection -> accepted.complete(connection));
        System.out.println("listening at " + listener.address());
        // end
        return listener;
    }

    static RdmaConnection connect(RdmaEndpoint client, InetSocketAddress server) throws Exception {
        // example: connect
        RdmaConnection connection =
                client.connect(server, Duration.ofSeconds(10)).get();
        // end
        return connection;
    }

    static RdmaConnection privateData(RdmaEndpoint server, RdmaEndpoint client, String token) throws Exception {
        // example: private
        byte[] expected = token.getBytes(StandardCharsets.UTF_8); // at most 56 bytes
        RdmaListener listener = server.listen(
                0,
                request -> Arrays.equals(Arrays.copyOf(request.privateData(), expected.length), expected)
                        ? ConnectAnswer.accept(new byte[] {42}) // at most 196 bytes
                        : ConnectAnswer.refuse("unknown token"), // at most 148 bytes
                connection -> System.out.println("accepted " + connection.peer()));
        RdmaConnection connection = client.connect(listener.address(), Duration.ofSeconds(10), expected)
                .get();
        System.out.println("the server said " + connection.peerData()[0]);
        try {
            client.connect(listener.address(), Duration.ofSeconds(10)).get();
        } catch (ExecutionException e) {
            System.out.println(e.getMessage()); // ...: the peer refused the request: unknown token
        }
        // end
        return connection;
    }

    static void describe(RdmaEndpoint endpoint) {
        // example: describe
        try (LocalRegion region = endpoint.allocate(1 << 20)) {
            region.put(0, new byte[] {1, 2, 3});
            byte[] toThePeer = region.describe().encode();
            RemoteRegion asThePeerSeesIt = RemoteRegion.decode(toThePeer);
            System.out.println(asThePeerSeesIt.slice(0, 3));
        } // closing takes the rkey back
        // end
    }

    static void register(RdmaEndpoint endpoint, Path file) throws Exception {
        // example: register
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                LocalRegion overBuffer = endpoint.register(buffer);
                LocalRegion overFile = endpoint.register(channel.map(MapMode.READ_WRITE, 0, channel.size()))) {
            System.out.println(overBuffer.describe() + ", " + overFile.describe());
        } // buffer and mapping live on; their rkeys are gone
        // end
    }

    static void read(RdmaConnection connection, LocalRegion local, RemoteRegion remote) throws Exception {
        // example: read
        connection.read(local.slice(0, 4096), remote.slice(0, 4096)).get();
        byte[] bytes = local.get(0, 4096);
        // end
        System.out.println(bytes.length + " bytes read");
    }

    static void write(RdmaConnection connection, LocalRegion local, RemoteRegion remote) throws Exception {
        // example: write
        local.put(0, new byte[] {1, 2, 3});
        connection.write(local.slice(0, 3), remote.slice(100, 3)).get();
        // end
    }

    static void send(RdmaConnection sender, LocalRegion from, RdmaConnection receiver, LocalRegion into)
            throws Exception {
        // example: send
        CompletableFuture<ReceivedMessage> first = receiver.receive(into.slice(0, 4096));
        CompletableFuture<ReceivedMessage> second = receiver.receive(into.slice(4096, 64));
        sender.send(from.slice(0, 1000)).get();
        sender.send(new byte[] {4, 5, 6}).get(); // short ones travel inline, in the request itself
        System.out.println(first.get().lengthBytes() + " and " + second.get().lengthBytes() + " bytes");
        // end
    }

    static void sharedReceives(RdmaEndpoint server, RdmaEndpoint client) throws Exception {
        // example: shared
        BlockingQueue<String> words = new LinkedBlockingQueue<>();
        SharedReceives receives = server.shareReceives(
                256, // messages of all peers together that may be under way
                1024, // bytes of the longest
                (from, slice, message) -> words.add(
                        new String(slice.region().get(slice.offset(), slice.lengthBytes()), StandardCharsets.UTF_8)));
        RdmaListener listener = server.listen(0, request -> ConnectAnswer.accept(), receives, connection -> {});
        RdmaConnection connection =
                client.connect(listener.address(), Duration.ofSeconds(10)).get();
        connection.send("hello".getBytes(StandardCharsets.UTF_8)).get();
        System.out.println(words.poll(10, TimeUnit.SECONDS));
        // end
    }

    static void writeWithImmediate(RdmaConnection sender, LocalRegion from, RdmaConnection receiver, LocalRegion into)
            throws Exception {
        // example: immediate
        CompletableFuture<ReceivedMessage> told = receiver.receive(into.slice(0, 0));
        sender.writeWithImmediate(from.slice(0, 10), into.describe().slice(50, 10), 42)
                .get();
        System.out.println(told.get().immediate().orElseThrow() + ": 10 bytes have been written");
        // end
    }

    static void gather(RdmaConnection connection, LocalRegion header, LocalRegion body, RemoteRegion remote)
            throws Exception {
        // example: gather
        List<LocalSlice> pieces = List.of(header.slice(0, 16), body.slice(0, 1000)); // at most maxPieces
        connection.write(pieces, remote.slice(0, 1016)).get(); // READ and SEND take pieces, too
        // end
    }

    static void batch(RdmaConnection connection, LocalRegion local, RemoteRegion remote) throws Exception {
        // example: batch
        RdmaBatch batch = connection.batch();
        CompletableFuture<Void> data = batch.write(local.slice(0, 1000), remote.slice(0, 1000));
        CompletableFuture<Void> told = batch.send(new byte[] {1}); // arrives after the data
        batch.post().get(); // one doorbell for all: all posted, or none
        System.out.println(data.isDone() && told.isDone());
        // end
    }

    static void prepared(RdmaConnection connection, LocalRegion local, RemoteRegion remote) throws Exception {
        // example: prepared
        int piece = 512;
        AtomicLong next = new AtomicLong(4L * piece);
        CountDownLatch left = new CountDownLatch((int) (local.lengthBytes() / piece));
        PreparedOperation.Handler onward = new PreparedOperation.Handler() {
            @Override
            public void succeeded(PreparedOperation read) { // on the progress thread, once per post()
                long offset = next.getAndAdd(piece);
                if (offset < local.lengthBytes()) {
                    read.at(offset, offset).post(); // bounds are checked; no garbage
                }
                left.countDown();
            }

            @Override
            public void failed(PreparedOperation read, Throwable reason) {
                System.out.println(reason.getMessage()); // what a future would have failed with
            }
        };
        for (int i = 0; i < 4; i++) { // four go through the whole region
            long offset = (long) i * piece;
            connection
                    .prepareRead(local.slice(0, piece), remote, onward)
                    .at(offset, offset)
                    .post();
        }
        System.out.println(left.await(10, TimeUnit.SECONDS) ? "all read" : "not all read");
        // end
    }

    static void atomics(RdmaConnection connection, RemoteRegion remote) throws Exception {
        // example: atomics
        RemoteRegion counter = remote.slice(8, 8);
        long before = connection.fetchAndAdd(counter, 5).get();
        long seen = connection.compareAndSwap(counter, before + 5, 0).get();
        System.out.println(seen == before + 5 ? "swapped" : "the value had changed");
        // end
    }

    static void remoteMemory(RdmaEndpoint serving, RdmaEndpoint client, LocalRegion local) throws Exception {
        // example: memory
        MemoryServer server = serving.serveMemory(0, 64 << 20, request -> ConnectAnswer.accept()); // at most 64 MiB
        try (RemoteMemory memory = client.connectMemory(server.address(), Duration.ofSeconds(10), new byte[0])
                        .get();
                RemoteAllocation given =
                        memory.allocate(4096, Duration.ofSeconds(10)).get()) {
            memory.connection().write(local.slice(0, 4096), given.region()).get();
            System.out.println(server.usedBytes() + " bytes are in use");
        } // released, as is the rest when the connection ends
        // end
        server.close();
    }

    static void failure(RdmaConnection connection, LocalRegion local, RemoteRegion remote) throws Exception {
        // example: failure
        RemoteRegion wrong = new RemoteRegion(remote.address(), 100, remote.remoteKey() ^ 0x5500);
        try {
            connection.read(local.slice(0, 100), wrong).get();
        } catch (ExecutionException e) {
            // READ of 100 bytes at offset 0 from 100 bytes at 0x7f... rkey 0x..., peer /10.77.0.1:41234:
            // REMOTE_ACCESS_ERROR (vendor error 0); the peer's region is not registered under that rkey, ...
            System.out.println(e.getMessage());
        }
        connection.ended().get(); // a failed work request ends its connection
        // end
    }

    static void devices() throws Exception {
        // example: devices
        try (DeviceList list = DeviceList.read(VerbsLibrary.load())) {
            for (DeviceList.Device device : list.devices()) {
                try (Context context = device.open()) {
                    DeviceInfo info = context.info(); // model, firmware, NUMA node, ...
                    System.out.println(info.name() + ": " + info.transport() + ", firmware " + info.firmwareVersion());
                    System.out.println(context.limits());
                    System.out.println(context.port(1) + " " + context.gids() + " " + context.partitionKeys(1));
                }
            }
        }
        // end
    }

    static void register(ProtectionDomain domain) {
        // example: pages
        try (NativeBuffer buffer = NativeBuffer.ofPages(1 << 20); // whole pages, which a fork does not copy
                MemoryRegion region = domain.registerMemory(
                        buffer.address(), buffer.lengthBytes(), Set.of(Access.LOCAL_WRITE, Access.REMOTE_READ))) {
            buffer.putLong(0, 42);
            System.out.println("peers read " + region + " by rkey " + region.remoteKey());
        }
        // end
    }

    static void vectors(Context context) {
        // example: vectors
        CompletionChannel channel = context.createCompletionChannel();
        for (int vector = 0; vector < context.completionVectors(); vector++) {
            CompletionQueue queue = context.createCompletionQueue(256, channel, vector);
            System.out.println(queue + ", by interrupt " + vector);
        }
        // end
    }

    static void chain(QueuePair pair, CompletionQueue queue, MemoryRegion local, MemoryRegion remote) {
        // example: chain
        try (SendRequests chain = new SendRequests(16, 1);
                WorkCompletions completions = new WorkCompletions(16)) {
            for (int i = 0; i < 4; i++) {
                chain.read(
                        i,
                        local.address() + i * 100L,
                        100,
                        local.localKey(),
                        remote.address() + i * 100L,
                        remote.remoteKey(),
                        false);
            }
            chain.signaled(); // its completion covers the earlier ones
            int taken = pair.post(chain); // one doorbell; fewer than chain.size() if the queue is full
            while (queue.poll(completions) == 0) {
                Thread.onSpinWait();
            }
            System.out.println(taken + " READs: " + completions.status(0));
        }
        // end
    }

    static void events(CompletionChannel channel, CompletionQueue queue, Runnable post) {
        // example: events
        try (WaitSet waits = new WaitSet(1);
                WorkCompletions completions = new WorkCompletions(16)) {
            waits.add(channel.fileDescriptor());
            queue.arm();
            post.run();
            while (queue.poll(completions) == 0) {
                waits.await(Duration.ofSeconds(1).toNanos()); // sleeps
                if (channel.nextEvent() == queue) { // taken and acknowledged
                    queue.arm(); // before the poll that follows, so that none is missed
                }
            }
            System.out.println(completions.count() + " completed");
        }
        // end
    }

    static void direct(Context context, GidEntry gid, QueuePair pair, Exchanger<byte[]> peers) throws Exception {
        // example: direct
        PairAttributes own = PairAttributes.on(context.port(gid.port()), gid).withDepths(4, 4);
        pair.initialize(own, Set.of(Access.REMOTE_READ, Access.REMOTE_WRITE));
        byte[] answer = peers.exchange(pair.address(own).encode()); // 32 bytes each way, over a socket for example
        PairAddress peer = PairAddress.decode(answer);
        pair.readyToReceive(own, peer);
        pair.readyToSend(own, peer); // send once the peer has come this far, or rely on retries
        // end
    }

    static QueuePair openForDatagrams(ProtectionDomain domain, CompletionQueue queue, PairAttributes own) {
        // example: datagrams
        QueueSizes sizes = new QueueSizes(16, 16, 1, 64);
        QueuePair pair = domain.createQueuePair(QueuePair.Service.DATAGRAMS, sizes, queue, queue, null);
        pair.startDatagrams(own, 0x1234);
        System.out.println("tell peers: " + pair.address(own));
        // end
        return pair;
    }

    static void datagram(
            ProtectionDomain domain,
            QueuePair pair,
            CompletionQueue queue,
            PairAttributes own,
            PairAddress peer,
            MemoryRegion message) {
        // example: datagram
        int queueKey = 0x1234; // Q_Key of the peer's queue pair
        try (AddressHandle handle = domain.createAddressHandle(own, peer);
                SendRequests chain = new SendRequests(1, 1);
                WorkCompletions completions = new WorkCompletions(1)) {
            chain.send(1, message.address(), 100, message.localKey(), true).to(handle, peer.number(), queueKey);
            pair.post(chain); // the peer's receive has 40 bytes more, and completions.sourceQueuePair(0)
            while (queue.poll(completions) == 0) {
                Thread.onSpinWait();
            }
            System.out.println("sent, perhaps not delivered: " + completions.status(0));
        }
        // end
    }

    static void window(QueuePair pair, CompletionQueue queue, MemoryRegion region) {
        // example: window
        try (MemoryWindow window = pair.domain().allocateMemoryWindow(MemoryWindow.Type.TWO);
                SendRequests chain = new SendRequests(1, 1);
                WorkCompletions completions = new WorkCompletions(1)) {
            int key = window.nextRemoteKey();
            Set<Access> rights = Set.of(Access.REMOTE_READ);
            pair.post(chain.bindWindow(1, window, key, region, region.address(), 100, rights));
            while (queue.poll(completions) == 0) {
                Thread.onSpinWait();
            }
            window.rebound(key); // the peer can read these 100 bytes with the key
            chain.clear();
            pair.post(chain.invalidate(2, key)); // and revoke it
            while (queue.poll(completions) == 0) {
                Thread.onSpinWait();
            }
            System.out.println("window: " + completions.status(0));
        }
        // end
    }

    static void prefetch(ProtectionDomain domain, long address, long lengthBytes) {
        // example: prefetch
        Set<Access> rights = Set.of(Access.LOCAL_WRITE, Access.REMOTE_READ, Access.ON_DEMAND);
        if (domain.context().limits().onDemandPaging()) {
            try (MemoryRegion region = domain.registerMemory(address, lengthBytes, rights)) { // nothing is pinned
                region.advise(MemoryRegion.Advice.PREFETCH, address, lengthBytes, true); // no peer waits for a fault
            }
        }
        // end
    }

    static void sendInvalidating(QueuePair pair, CompletionQueue queue, MemoryRegion message, int keyOfThePeer) {
        // example: invalidating
        try (SendRequests chain = new SendRequests(1, 1);
                WorkCompletions completions = new WorkCompletions(1)) {
            chain.send(1, message.address(), 10, message.localKey(), true).invalidating(keyOfThePeer);
            pair.post(chain); // the peer's receive: completions.hasInvalidated(0), invalidatedKey(0)
            while (queue.poll(completions) == 0) {
                Thread.onSpinWait();
            }
            System.out.println("read it, and gave the key back: " + completions.status(0));
        }
        // end
    }
}
