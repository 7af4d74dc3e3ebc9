// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Path;

/**
 * Another process with a pool: says so, then waits for a line; exits without closing the pool.
 */
final class PoolHolder {
    private PoolHolder() {}

    /** Takes the pool's directory. */
    public static void main(String[] args) throws Exception {
        Pool pool = TestPools.create(Path.of(args[0]), 1 << 20, 256 << 10);
        TestPools.fill(pool);
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
