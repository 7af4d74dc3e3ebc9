// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of C library calls: mappings show the file, and failures have a reason. */
@Tag("unit")
@Timeout(60)
class LibCTest {
    private static final int BYTES = 3 * 4096;

    @TempDir
    Path directory;

    private static int open(Path path) {
        return LibC.load().open(path.toString(), LibC.O_RDWR | LibC.O_CREAT | LibC.O_EXCL | LibC.O_CLOEXEC, 0600);
    }

    @Test
    void storesToAMappingReachTheFile() throws Exception {
        long seed = System.nanoTime();
        System.out.println("LibCTest seed " + seed);
        Path file = directory.resolve("mapped");
        int fd = open(file);
        assertThat(fd).isNotNegative();
        assertThat(LibC.load().fallocate(fd, 0, 0, BYTES)).isZero();
        assertThat(Files.size(file)).isEqualTo(BYTES);
        long address = LibC.mapFile(BYTES, LibC.PROT_READ | LibC.PROT_WRITE, LibC.MAP_SHARED, fd);
        assertThat(address).isNotEqualTo(LibC.MAP_FAILED).isNotZero();
        assertThat(LibC.load().close(fd)).isZero();
        byte[] content = new byte[BYTES];
        new Random(seed).nextBytes(content);
        RawMemory.putBytes(address, content, 0, BYTES);
        assertThat(Files.readAllBytes(file)).isEqualTo(content);
        content[5000] ^= 1;
        Files.write(file, content);
        byte[] seen = new byte[BYTES];
        RawMemory.getBytes(address, seen, 0, BYTES);
        assertThat(seen).isEqualTo(content);
        assertThat(LibC.load().munmap(address, BYTES)).isZero();
    }

    @Test
    void createsPrivateDirectoriesAndFollowsNoLink() throws Exception {
        Path made = directory.resolve("made");
        assertThat(LibC.load().mkdir(made.toString(), 0700)).isZero();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made)))
                .isEqualTo("rwx------");
        assertThat(LibC.load().mkdir(made.toString(), 0700)).isNegative();
        assertThat(Errno.EEXIST.is(NativeException.lastErrno())).isTrue();
        Path link = Files.createSymbolicLink(directory.resolve("link"), made);
        assertThat(LibC.load().open(link.toString(), LibC.O_RDONLY | LibC.O_NOFOLLOW, 0))
                .isNegative();
        assertThat(Errno.ELOOP.is(NativeException.lastErrno())).isTrue();
    }

    /** The last of six arguments is the one that a wrong calling convention loses. */
    @Test
    void aMappingBeginsWhereItIsAskedTo() throws Exception {
        Path file = directory.resolve("offset");
        int page = LibC.load().getpagesize();
        byte[] content = new byte[2 * page];
        content[page] = 7;
        Files.write(file, content);
        int fd = LibC.load().open(file.toString(), LibC.O_RDONLY, 0);
        assertThat(fd).isNotNegative();
        long address = LibC.load().mmap(0, page, LibC.PROT_READ, LibC.MAP_SHARED, fd, page);
        assertThat(address).isNotEqualTo(LibC.MAP_FAILED);
        assertThat(RawMemory.getByte(address)).isEqualTo((byte) 7);
        assertThat(LibC.load().munmap(address, page)).isZero();
        assertThat(LibC.load().close(fd)).isZero();
    }

    @Test
    void memoryIsLittleEndianCopiedAndCleared() {
        RawMemory.requireLittleEndian();
        Path file = directory.resolve("raw");
        int fd = open(file);
        assertThat(LibC.load().fallocate(fd, 0, 0, BYTES)).isZero();
        long address = LibC.mapFile(BYTES, LibC.PROT_READ | LibC.PROT_WRITE, LibC.MAP_SHARED, fd);
        LibC.load().close(fd);
        RawMemory.putLong(address, 0x0102030405060708L);
        RawMemory.putInt(address + 8, 0x0A0B0C0D);
        assertThat(RawMemory.getLong(address)).isEqualTo(0x0102030405060708L);
        assertThat(RawMemory.getInt(address + 8)).isEqualTo(0x0A0B0C0D);
        assertThat(RawMemory.wrap(address, 12).get(0)).isEqualTo((byte) 8);
        RawMemory.copy(address, address + 100, 12);
        assertThat(RawMemory.wrap(address + 100, 12)).isEqualTo(RawMemory.wrap(address, 12));
        RawMemory.clear(address, 8);
        assertThat(RawMemory.getLong(address)).isZero();
        assertThat(RawMemory.getInt(address + 8)).isEqualTo(0x0A0B0C0D);
        assertThat(LibC.load().munmap(address, BYTES)).isZero();
    }

    @Test
    void failuresLeaveTheirErrno() {
        assertThat(LibC.load().open("/no/such/file", LibC.O_RDONLY, 0)).isNegative();
        assertThat(Errno.ENOENT.is(NativeException.lastErrno())).isTrue();
        assertThat(LibC.mapFile(4096, LibC.PROT_READ, LibC.MAP_SHARED, -1)).isEqualTo(LibC.MAP_FAILED);
        assertThat(Errno.EBADF.is(NativeException.lastErrno())).isTrue();
        assertThat(LibC.load().flock(-1, LibC.LOCK_EX | LibC.LOCK_NB)).isNegative();
        assertThat(NativeException.lastErrno()).isEqualTo(Errno.EBADF.number());
    }

    @Test
    void twoDescriptionsOfOneFileExcludeEachOther() {
        Path file = directory.resolve("locked");
        int first = open(file);
        int second = LibC.load().open(file.toString(), LibC.O_RDWR, 0);
        assertThat(LibC.load().flock(first, LibC.LOCK_EX | LibC.LOCK_NB)).isZero();
        assertThat(LibC.load().flock(second, LibC.LOCK_EX | LibC.LOCK_NB)).isNegative();
        assertThat(Errno.EAGAIN.is(NativeException.lastErrno())).isTrue();
        LibC.load().close(first);
        assertThat(LibC.load().flock(second, LibC.LOCK_EX | LibC.LOCK_NB)).isZero();
        LibC.load().close(second);
    }

    @Test
    void anExceptionSaysCallErrorAndRemedy() {
        NativeException failure =
                new NativeException("mmap(length=4096)", Errno.ENOMEM.number(), "raise RLIMIT_AS (now 65536)");
        assertThat(failure)
                .hasMessage("mmap(length=4096): ENOMEM (12) Cannot allocate memory; raise RLIMIT_AS (now 65536)");
        assertThat(failure.errno()).isEqualTo(12);
        assertThat(new NativeException("close(7)", 9, "")).hasMessage("close(7): EBADF (9) Bad file descriptor");
        assertThatThrownBy(() -> {
                    throw new NativeException("call()", 200, "");
                })
                .hasMessageContaining("errno 200");
    }

    @Test
    void errorsAreDescribedByNameAndNumber() {
        assertThat(Errno.describe(28)).isEqualTo("ENOSPC (28)");
        assertThat(Errno.describe(0)).isEqualTo("errno 0");
        assertThat(Errno.describe(111)).isEqualTo("ECONNREFUSED (111)");
        for (Errno errno : Errno.values()) {
            assertThat(Errno.describe(errno.number())).isEqualTo(errno.name() + " (" + errno.number() + ")");
            assertThat(errno.is(errno.number() + 1000)).isFalse();
        }
    }

    @Test
    void aDescriptorIsPolledReadAndWritten() {
        LibC libc = LibC.load();
        int fd = libc.eventfd(0, LibC.EFD_NONBLOCK | LibC.EFD_CLOEXEC);
        assertThat(fd).isNotNegative();
        try (NativeBuffer memory = new NativeBuffer(64)) {
            long value = memory.address(16);
            assertThat(libc.fcntl(fd, LibC.F_GETFL, 0)).isEqualTo(LibC.O_RDWR | LibC.O_NONBLOCK);
            assertThat(libc.fcntl(fd, LibC.F_SETFL, 0)).isZero();
            assertThat(libc.fcntl(fd, LibC.F_GETFL, 0)).isEqualTo(LibC.O_RDWR);
            assertThat(libc.fcntl(fd, LibC.F_SETFL, LibC.O_NONBLOCK)).isZero();
            assertThat(libc.read(fd, value, 8)).isEqualTo(-1);
            assertThat(Errno.EAGAIN.is(NativeException.lastErrno())).isTrue();
            memory.putInt(VerbsLayout.pollfd.fd, fd);
            memory.putShort(VerbsLayout.pollfd.events, (short) LibC.POLLIN);
            assertThat(libc.poll(memory.address(), 1, 0)).isZero();
            memory.putLong(16, 7);
            assertThat(libc.write(fd, value, 8)).isEqualTo(8);
            assertThat(libc.poll(memory.address(), 1, -1)).isEqualTo(1);
            assertThat(memory.getShort(VerbsLayout.pollfd.revents)).isEqualTo((short) LibC.POLLIN);
            memory.clear(16, 8);
            assertThat(libc.read(fd, value, 8)).isEqualTo(8);
            assertThat(memory.getLong(16)).isEqualTo(7);
        } finally {
            assertThat(libc.close(fd)).isZero();
        }
    }
}
