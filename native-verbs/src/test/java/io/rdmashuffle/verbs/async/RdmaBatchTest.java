// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.ffi.VerbsConstants;
import io.rdmashuffle.ffi.WorkLayout.ibv_send_wr;
import io.rdmashuffle.verbs.LeakCheck;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Several pieces of memory in one operation, several operations in one call of the device. */
@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class RdmaBatchTest {
    private static final RemoteRegion REMOTE = new RemoteRegion(1 << 20, 64, 7);

    private final ScriptedDevice device = new ScriptedDevice();

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint endpoint;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaConnection connection;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion first;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion second;

    @BeforeEach
    void open() throws Exception {
        device.limits.pieces = 3;
        endpoint = device.open(EndpointOptions.DEFAULT.withMaxInFlight(4));
        connection = device.accepted(endpoint);
        first = endpoint.allocate(64);
        second = endpoint.allocate(64);
    }

    @AfterEach
    void close() {
        endpoint.close();
        device.close();
    }

    private void succeed(ScriptedDevice.Posted request) {
        device.complete(request, VerbsConstants.IBV_WC_SUCCESS);
    }

    private static void assertInUse(LocalRegion region) {
        assertThatThrownBy(region::close).hasMessageContaining("in use by ");
    }

    @Test
    void piecesArePostedInOrderAndKeepTheirRegions() throws Exception {
        List<LocalSlice> pieces =
                List.of(second.slice(1, 10), first.slice(0, 0), first.slice(60, 4), second.slice(0, 1));
        CompletableFuture<Void> write = connection.write(pieces, REMOTE.slice(0, 15));
        ScriptedDevice.Posted posted = ScriptedDevice.next(device.posted);
        assertThat(posted.opcode()).isEqualTo(VerbsConstants.IBV_WR_RDMA_WRITE);
        assertThat(posted.remote()).isEqualTo(REMOTE.address());
        assertThat(posted.pieces()).containsExactly(piece(second, 1, 10), piece(first, 60, 4), piece(second, 0, 1));
        assertInUse(first);
        assertInUse(second);
        succeed(posted);
        ConnectedEndpoints.get(write);
        first.close();
        second.close();
    }

    private static ScriptedDevice.Piece piece(LocalRegion region, long offset, int length) {
        return new ScriptedDevice.Piece(region.address(offset), length, region.localKey());
    }

    @Test
    void eachKindOfOperationTakesPieces() throws Exception {
        List<LocalSlice> pieces = List.of(first.slice(0, 8), second.slice(0, 8));
        List<CompletableFuture<Void>> operations = List.of(
                connection.read(pieces, REMOTE.slice(0, 16)),
                connection.send(pieces),
                connection.writeWithImmediate(pieces, REMOTE.slice(0, 16), 5));
        int[] opcodes = {
            VerbsConstants.IBV_WR_RDMA_READ, VerbsConstants.IBV_WR_SEND, VerbsConstants.IBV_WR_RDMA_WRITE_WITH_IMM
        };
        for (int opcode : opcodes) {
            ScriptedDevice.Posted posted = ScriptedDevice.next(device.posted);
            assertThat(posted.opcode()).isEqualTo(opcode);
            assertThat(posted.pieces()).containsExactly(piece(first, 0, 8), piece(second, 0, 8));
            succeed(posted);
        }
        for (CompletableFuture<Void> operation : operations) {
            ConnectedEndpoints.get(operation);
        }
    }

    @Test
    void tooManyPiecesAndOtherLengthsAreRefused() {
        LocalSlice piece = first.slice(0, 4);
        assertThatThrownBy(() -> connection.write(List.of(piece, piece, piece, piece), REMOTE.slice(0, 16)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("WRITE of 16 bytes in 4 pieces to ")
                .hasMessageContaining("at most 3 pieces");
        assertThatThrownBy(() -> connection.read(List.of(piece, piece), REMOTE.slice(0, 9)))
                .hasMessageContaining("must be equally long");
        first.close();
        assertThat(device.posted).isEmpty();
    }

    @Test
    void closedRegionAmongThePiecesRefusesAll() {
        second.close();
        assertThatThrownBy(() -> connection.send(List.of(first.slice(0, 4), second.slice(0, 4))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
        first.close();
    }

    @Test
    void batchIsOneCallWithAFutureForEachAndForAll() throws Exception {
        RdmaBatch batch = connection.batch();
        CompletableFuture<Void> write = batch.write(first.slice(0, 8), REMOTE.slice(0, 8));
        CompletableFuture<Void> hello = batch.send(new byte[] {1, 2});
        CompletableFuture<Void> world = batch.send(new byte[] {3});
        assertThat(batch.size()).isEqualTo(3);
        assertThat(device.posted).isEmpty();
        CompletableFuture<Void> all = batch.post();

        List<ScriptedDevice.Posted> posted = new ArrayList<>();
        device.posted.drainTo(posted);
        assertThat(posted)
                .extracting(ScriptedDevice.Posted::opcode)
                .containsExactly(
                        VerbsConstants.IBV_WR_RDMA_WRITE, VerbsConstants.IBV_WR_SEND, VerbsConstants.IBV_WR_SEND);
        assertThat(posted).allSatisfy(each -> assertThat(each.chained()).isEqualTo(3));
        // Each inline message has a place of its own: the device reads all of them when the last one is there.
        assertThat(RawMemory.getByte(posted.get(1).pieces().get(0).address())).isEqualTo((byte) 1);
        assertThat(RawMemory.getByte(posted.get(2).pieces().get(0).address())).isEqualTo((byte) 3);

        succeed(posted.get(0));
        ConnectedEndpoints.get(write);
        succeed(posted.get(1));
        ConnectedEndpoints.get(hello);
        assertThat(all).isNotDone();
        succeed(posted.get(2));
        ConnectedEndpoints.get(all);
        ConnectedEndpoints.get(world);
        assertThatThrownBy(batch::post).hasMessageContaining("posted already");
        assertThatThrownBy(() -> batch.send(new byte[1])).hasMessageContaining("was posted");
    }

    @Test
    void batchThatIsNotPostedUsesNothing() {
        CompletableFuture<Void> write = connection.batch().write(first.slice(0, 8), REMOTE.slice(0, 8));
        first.close();
        assertThat(write).isNotDone();
    }

    @Test
    void batchWithoutRoomIsPostedAsAWholeLaterOrNotAtAll() throws Exception {
        CompletableFuture<Void> before = connection.read(second.slice(0, 8), REMOTE.slice(0, 8));
        ScriptedDevice.Posted read = ScriptedDevice.next(device.posted);
        RdmaBatch batch = connection.batch();
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            writes.add(batch.write(first.slice(i, 8), REMOTE.slice(i, 8)));
        }
        assertThatThrownBy(batch::post)
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("1 operations outstanding on this connection, 4 more asked for, at most 4");
        assertThat(device.posted).isEmpty();
        assertThat(writes).noneMatch(CompletableFuture::isDone);
        succeed(read);
        ConnectedEndpoints.get(before);
        CompletableFuture<Void> all = batch.post();
        for (int i = 0; i < 4; i++) {
            succeed(ScriptedDevice.next(device.posted));
        }
        ConnectedEndpoints.get(all);
        first.close();
    }

    @Test
    void batchWithAClosedRegionUsesNoneOfTheOthers() {
        RdmaBatch batch = connection.batch();
        CompletableFuture<Void> write = batch.write(first.slice(0, 8), REMOTE.slice(0, 8));
        CompletableFuture<Void> other = batch.write(second.slice(0, 8), REMOTE.slice(0, 8));
        second.close();
        assertThatThrownBy(batch::post).hasMessageContaining("is closed");
        first.close();
        assertThat(write).isNotDone();
        assertThat(other).isNotDone();
    }

    @Test
    void batchOnAConnectionThatHasEndedFails() throws Exception {
        connection.close();
        RdmaBatch batch = connection.batch();
        CompletableFuture<Void> write = batch.write(first.slice(0, 8), REMOTE.slice(0, 8));
        assertThat(batch.post()).isCompletedExceptionally();
        assertThatThrownBy(() -> ConnectedEndpoints.get(write))
                .cause()
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has ended");
        first.close();
    }

    /** Has the device refuse the second request of a chain. */
    private void refuseSecond(Errno errno) {
        device.fake.answer("ibv_post_send", arguments -> {
            long refused = RawMemory.getLong((Long) arguments[1] + ibv_send_wr.next);
            RawMemory.putLong((Long) arguments[2], refused == 0 ? (Long) arguments[1] : refused);
            return errno.number();
        });
    }

    /** Those before the malformed one may be the device's already. */
    @Test
    void malformedRequestEndsTheConnection() throws Exception {
        refuseSecond(Errno.EINVAL);
        assertThatThrownBy(() -> connection.write(second.slice(0, 8), REMOTE.slice(0, 8)))
                .hasMessageContaining("EINVAL");
        second.close();
        assertThat(connection.ended()).isNotDone();

        RdmaBatch batch = connection.batch();
        CompletableFuture<Void> write = batch.write(first.slice(0, 8), REMOTE.slice(0, 8));
        CompletableFuture<Void> other = batch.write(first.slice(8, 8), REMOTE.slice(0, 8));
        CompletableFuture<Void> all = batch.post();
        assertInUse(first);
        assertThatThrownBy(() -> ConnectedEndpoints.get(all)).rootCause().hasMessageContaining("EINVAL");
        assertThat(ConnectedEndpoints.get(connection.ended())).hasMessageContaining("EINVAL");
        assertThat(write).isCompletedExceptionally();
        assertThat(other).isCompletedExceptionally();
        first.close();
    }

    @Test
    void requestsThatTheDeviceDidNotTakeFailAlone() throws Exception {
        refuseSecond(Errno.ENOMEM);
        RdmaBatch batch = connection.batch();
        CompletableFuture<Void> write = batch.write(first.slice(0, 8), REMOTE.slice(0, 8));
        CompletableFuture<Void> other = batch.write(second.slice(8, 8), REMOTE.slice(0, 8));
        CompletableFuture<Void> all = batch.post();
        assertThatThrownBy(() -> ConnectedEndpoints.get(other)).cause().isInstanceOf(RejectedExecutionException.class);
        second.close();
        assertThat(write).isNotDone();
        assertThat(all).isNotDone();
        assertInUse(first);
        assertThat(connection.ended()).isNotDone();
    }
}
