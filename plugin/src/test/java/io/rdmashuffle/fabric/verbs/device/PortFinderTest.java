// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.net.InetAddress;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of the choice of a port, and of the reasons if there is none. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class PortFinderTest {
    private List<String> kernelDevices = List.of("fake0");
    private FakeRdma rdma;
    private EventChannel events;

    @BeforeEach
    void open() {
        rdma = new FakeRdma();
        events = EventChannel.open(rdma.library());
    }

    @AfterEach
    void close() {
        events.close();
        rdma.close();
    }

    private PortFinder finder() throws Exception {
        return new PortFinder(rdma.library(), events, List.of(InetAddress.getByName("192.0.2.1")), kernelDevices);
    }

    private void assertNone(String why) throws Exception {
        PortFinder finder = finder();
        assertThatThrownBy(() -> finder.choose(List.of()))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessage(why);
    }

    private static LocalPort port(String device, String address, double gigabits) throws Exception {
        PortAttributes attributes = new PortAttributes(1, true, 4096, 1L << 30, gigabits, 0, true);
        return new LocalPort(device, 1, InetAddress.getByName(address), List.of(), PortSelector.ANY, attributes);
    }

    @Test
    void anActivePortWithAnAddressIsChosen() throws Exception {
        assertThat(finder().choose(List.of())).extracting(LocalPort::toString).containsExactly("fake0:1 192.0.2.1");
    }

    /** A fast card that was given no address has one that reaches no further than its link. */
    @Test
    void anAddressThatIsRoutedIsBetterThanAFastPort() throws Exception {
        LocalPort unconfigured = port("mlx5_0", "fe80::1", 400);
        LocalPort six = port("mlx5_1", "2001:db8::1", 100);
        LocalPort four = port("mlx5_1", "192.0.2.1", 100);
        LocalPort slow = port("mlx5_2", "192.0.2.2", 25);
        assertThat(Stream.of(slow, unconfigured, six, four).sorted(LocalPort.BEST_FIRST))
                .containsExactly(four, six, slow, unconfigured);
    }

    @Test
    void missingPortIsNamedWithThePresentOnes() throws Exception {
        PortFinder finder = finder();
        PortSelector other = new PortSelector("mlx5_7", PortSelector.ANY, PortSelector.ANY);
        assertThatThrownBy(() -> finder.choose(List.of(other)))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessageContaining("no active port mlx5_7")
                .hasMessageContaining("fake0:1 192.0.2.1");
    }

    @Test
    void aPortThatIsDownIsNamed() throws Exception {
        rdma.portActive(false);
        assertNone("no RDMA port is active: fake0:1 192.0.2.1 (not active)");
    }

    @Test
    void aDeviceWhoseNetworkInterfaceHasNoAddressIsNamed() throws Exception {
        rdma.fail("rdma_bind_addr", Errno.ENODEV);
        assertNone("fake0: port 1 has no IP address");
        rdma.portActive(false);
        assertNone("fake0: port 1 is not active");
    }

    /** librdmacm binds to no address of it, for a reason other than the address. */
    @Test
    void aDeviceWithoutReliableConnectionsIsNamed() throws Exception {
        rdma.fail("rdma_bind_addr", Errno.ENODEV);
        rdma.transport(VerbsConstants.IBV_TRANSPORT_UNSPECIFIED);
        assertNone("fake0 has no reliable connections over rdma_cm (transport UNSPECIFIED, as Amazon's EFA)");
    }

    @Test
    void aDeviceThatMayNotBeOpenedIsNamedWithTheRemedy() throws Exception {
        rdma.fail("rdma_bind_addr", Errno.ENODEV);
        rdma.fail("ibv_open_device", Errno.EACCES);
        assertNone("fake0: ibv_open_device(fake0): EACCES (13) Permission denied; allow this user to open"
                + " /dev/infiniband/uverbs* and rdma_cm");
    }

    /** ENODEV is what any address of an ordinary card gets; other answers are of interest. */
    @Test
    void reasonOfARefusedAddressIsKept() throws Exception {
        rdma.fail("rdma_bind_addr", Errno.EPERM);
        PortFinder finder = finder();
        assertThatThrownBy(() -> finder.choose(List.of()))
                .hasMessageContaining("fake0: port 1 has no IP address, rdma_bind_addr(")
                .hasMessageContaining("EPERM (1)");
    }

    @Test
    void absentDeviceDiffersFromAHiddenOne() throws Exception {
        rdma.fail("rdma_bind_addr", Errno.ENODEV);
        rdma.listed(false);
        kernelDevices = List.of();
        assertNone("this machine has no RDMA device");
        kernelDevices = List.of("mlx5_0", "mlx5_1");
        assertNone("the kernel has mlx5_0, mlx5_1, which libibverbs does not see: install its provider (Debian:"
                + " ibverbs-providers), and let this container see /dev/infiniband");
    }

    @Test
    void aKernelWithoutRdmaIsAReasonToo() throws Exception {
        rdma.fail("rdma_bind_addr", Errno.ENODEV);
        rdma.fail("ibv_get_device_list", Errno.ENOSYS);
        assertNone("ibv_get_device_list(): ENOSYS (38) Function not implemented; load the kernel modules ib_uverbs and"
                + " rdma_ucm");
    }
}
