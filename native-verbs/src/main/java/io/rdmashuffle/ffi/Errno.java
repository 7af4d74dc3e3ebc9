// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The error numbers that this project's native calls return, by name.
 *
 * <p><b>Source:</b> errno(3); numbers from asm-generic/errno-base.h and errno.h, which x86-64 and aarch64 share.
 */
public enum Errno {
    EPERM(1),
    ENOENT(2),
    EINTR(4),
    EIO(5),
    EBADF(9),
    EAGAIN(11),
    ENOMEM(12),
    EACCES(13),
    EFAULT(14),
    EBUSY(16),
    EEXIST(17),
    ENODEV(19),
    ENOTDIR(20),
    EINVAL(22),
    ENFILE(23),
    EMFILE(24),
    EFBIG(27),
    ENOSPC(28),
    EROFS(30),
    ERANGE(34),
    ENOSYS(38),
    ELOOP(40),
    ENODATA(61),
    EPROTONOSUPPORT(93),
    EOPNOTSUPP(95),
    EAFNOSUPPORT(97),
    EADDRINUSE(98),
    EADDRNOTAVAIL(99),
    ENETUNREACH(101),
    ECONNRESET(104),
    EISCONN(106),
    ENOTCONN(107),
    ETIMEDOUT(110),
    ECONNREFUSED(111),
    EHOSTUNREACH(113),
    EALREADY(114),
    EINPROGRESS(115);

    private static final Map<Integer, Errno> BY_NUMBER =
            Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(Errno::number, e -> e));

    private final int number;

    Errno(int number) {
        this.number = number;
    }

    /** {@return the number in C} */
    public int number() {
        return number;
    }

    /**
     * {@return whether this is the error of a call}
     *
     * @param errno what the call returned or left
     */
    public boolean is(int errno) {
        return errno == number;
    }

    /**
     * {@return {@code "ENOMEM (12)"}, or {@code "errno 200"} for a number without a name here}
     *
     * @param errno any number
     */
    public static String describe(int errno) {
        Errno known = BY_NUMBER.get(errno);
        return known == null ? "errno " + errno : known.name() + " (" + errno + ")";
    }
}
