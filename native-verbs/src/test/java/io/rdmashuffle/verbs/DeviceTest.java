// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.IbVerbs;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a device says about itself, and registration without a connection. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class DeviceTest {
    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @BeforeEach
    void needDevice() {
        device = RdmaTestDevice.require();
    }

    private Context open() {
        return device.open();
    }

    @Test
    void isListed() {
        DeviceList list = DeviceList.read(device.library());
        DeviceList.Device first = list.devices().get(0);
        assertThat(list.devices()).extracting(DeviceList.Device::name).contains(device.name());
        assertThat(first.guid()).isNotZero();
        list.close();
        assertThatThrownBy(first::open).hasMessageContaining("device list is closed");
    }

    @Test
    void reportsLimits() {
        try (Context context = open()) {
            DeviceLimits limits = context.limits();
            System.out.println(device.name() + ": " + limits);
            assertThat(limits.maxQueuePairs()).isGreaterThan(1);
            assertThat(limits.maxWorkRequests()).isGreaterThan(1);
            assertThat(limits.maxPieces()).isPositive();
            assertThat(limits.maxCompletions()).isGreaterThan(1);
            assertThat(limits.maxReadsAsInitiator()).isPositive();
            assertThat(limits.maxReadsAsTarget()).isPositive();
            assertThat(limits.ports()).isPositive();
            assertThat(limits.maxPiecesOfRead()).isPositive();
            assertThat(limits.maxProtectionDomains()).isPositive();
            assertThat(limits.maxRegions()).isPositive();
            assertThat(limits.maxCompletionQueues()).isPositive();
            assertThat(limits.maxPartitionKeys() > 0).isEqualTo(context.transport() != Transport.IWARP);
            assertThat(limits.maxMemoryWindows() > 0).isEqualTo(limits.memoryWindows());
            assertThat(limits.ackDelay()).isBetween(0, 31);
        }
    }

    @Test
    void reportsIdentity() throws Exception {
        try (Context context = open()) {
            DeviceInfo info = context.info();
            System.out.println(info);
            assertThat(info.name()).isEqualTo(device.name());
            assertThat(info.transport()).isEqualTo(context.transport()).isNotEqualTo(Transport.UNKNOWN);
            assertThat(info.nodeType()).isNotEqualTo(NodeType.UNKNOWN);
            assertThat(info.completionVectors()).isEqualTo(context.completionVectors());
            assertThat(info.completionVectors()).isPositive();
            Path sysfs = Path.of("/sys/class/infiniband", device.name());
            String guid = Files.readString(sysfs.resolve("node_guid")).strip().replace(":", "");
            assertThat(info.nodeGuid()).isEqualTo(Long.parseUnsignedLong(guid, 16));
            assertThat(info.nodeType())
                    .isEqualTo(NodeType.of(Integer.parseInt(
                            Files.readString(sysfs.resolve("node_type")).substring(0, 1))));
        }
    }

    @Test
    void reportsPartitionKeys() {
        try (Context context = open()) {
            assertThat(context.partitionKeys(1)).allSatisfy(key -> {
                assertThat(key.key()).isBetween(1, 0xffff);
                assertThat(key.port()).isEqualTo(1);
            });
            assertThat(context.partitionKeys(1).isEmpty()).isEqualTo(context.transport() == Transport.IWARP);
            if (context.transport() == Transport.INFINIBAND && context.port(1).ethernet()) {
                assertThat(context.partitionKeys(1)).containsExactly(new PartitionKey(1, 0, 0xffff));
            }
            assertThatThrownBy(() -> context.partitionKeys(99)).isInstanceOf(NativeException.class);
        }
    }

    @Test
    void createsCompletionQueuesOnEachVectorAndNoOther() {
        try (Context context = open()) {
            int vectors = context.completionVectors();
            CompletionChannel channel = context.createCompletionChannel();
            for (int vector = 0; vector < vectors; vector++) {
                context.createCompletionQueue(8, channel, vector).close();
            }
            assertThatThrownBy(() -> context.createCompletionQueue(8, channel, vectors))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("vector=" + vectors + "): EINVAL (22)");
        }
    }

    @Test
    void reportsPortsAndAddresses() {
        try (Context context = open()) {
            assertThat(context.gids()).extracting(GidEntry::address).doesNotContainNull();
            if (context.transport() != Transport.IWARP) { // whose GIDs are made of the port's MAC address
                assertThat(context.gids()).extracting(GidEntry::address).contains(device.address());
            }
            GidEntry gid = context.gids().get(0);
            assertThat(gid.type()).isNotEqualTo(GidEntry.Type.UNKNOWN);
            PortAttributes port = context.port(gid.port());
            System.out.println(device.name() + ": " + port);
            assertThat(port.active()).isTrue();
            assertThat(port.activeMtuBytes()).isBetween(256, 4096);
            assertThat(port.maxMessageBytes()).isGreaterThanOrEqualTo(1 << 20);
            assertThatThrownBy(() -> context.port(99))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("ibv_query_port(" + device.name() + ", port=99)");
        }
    }

    /** As where rdma-core is older than the call for all of them. */
    @Test
    void addressesAreTheSameAskedForOneByOne() {
        IbVerbs older = (IbVerbs) Proxy.newProxyInstance(
                IbVerbs.class.getClassLoader(), new Class<?>[] {IbVerbs.class}, (self, method, arguments) -> {
                    if (method.getName().equals("_ibv_query_gid_table")) {
                        throw new UnsatisfiedLinkError(method.getName());
                    }
                    return method.invoke(device.library().verbs(), arguments);
                });
        try (Context context = open()) {
            assertThat(GidTable.query(older, context.handle(), device.name())).isEqualTo(context.gids());
        }
    }

    @Test
    void contextOutlivesTheList() {
        Context context = open();
        assertThat(context.asyncFileDescriptor()).isPositive();
        assertThat(context.nextAsyncEvent()).isNull();
        context.close();
        assertThatThrownBy(context::limits).hasMessageContaining("is closed");
    }

    @Test
    void registersWithTheRightsAsked() {
        try (NativeBuffer buffer = new NativeBuffer(100_000);
                Context context = open()) {
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.registerMemory(
                    buffer.address(), 100_000, Set.of(Access.LOCAL_WRITE, Access.RELAXED_ORDERING));
            assertThat(region.address()).isEqualTo(buffer.address());
            assertThat(region.lengthBytes()).isEqualTo(100_000);
            region.close();
            assertThatThrownBy(() -> domain.registerMemory(8, 4096, Set.of()))
                    .as("memory that is not mapped")
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("EFAULT (14)");
            // EINVAL from the kernel: the specification wants LOCAL_WRITE with REMOTE_WRITE.
            assertThatThrownBy(() -> domain.registerMemory(buffer.address(), 4096, Set.of(Access.REMOTE_WRITE)))
                    .hasMessageContaining("EINVAL (22)");
        }
    }

    @Test
    void registersOnDemandWhereOfferedAndSaysSoWhereNot() {
        try (NativeBuffer buffer = new NativeBuffer(8192);
                Context context = open()) {
            boolean offered = context.limits().onDemandPaging();
            System.out.println(device.name() + ": on-demand paging " + offered);
            ProtectionDomain domain = context.allocateProtectionDomain();
            Set<Access> rights = Set.of(Access.LOCAL_WRITE, Access.ON_DEMAND);
            if (offered) {
                try (MemoryRegion region = domain.registerMemory(buffer.address(), 8192, rights)) {
                    region.advise(MemoryRegion.Advice.PREFETCH_FOR_WRITE, buffer.address(), 8192, true);
                }
            } else {
                assertThatThrownBy(() -> domain.registerMemory(buffer.address(), 8192, rights))
                        .isInstanceOf(NativeException.class)
                        .hasMessageContaining("ON_DEMAND");
                MemoryRegion pinned = domain.registerMemory(buffer.address(), 8192, Set.of(Access.LOCAL_WRITE));
                assertThatThrownBy(() -> pinned.advise(MemoryRegion.Advice.PREFETCH, buffer.address(), 8192, true))
                        .isInstanceOf(NativeException.class)
                        .hasMessageContaining("EOPNOTSUPP (95)");
            }
        }
    }
}
