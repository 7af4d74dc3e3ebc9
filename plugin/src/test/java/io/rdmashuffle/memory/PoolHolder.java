// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.nio.file.Path;

/**
 * Another process with a pool: says so, then waits for a line; exits without closing the pool.
 */
final class PoolHolder {
    private PoolHolder() {}

    /** Takes the pool's directory and, if the pool may outlive this process, that of an application, perhaps empty. */
    public static void main(String[] args) throws Exception {
        PoolSettings settings = new PoolSettings(Path.of(args[0]), 1 << 20, 0, 256 << 10, false);
        Pool pool = Pool.create(
                args.length == 1
                        ? settings
                        : settings.outliving(new PoolApplication("app-1", args[1].isEmpty() ? null : Path.of(args[1]))),
                region -> {});
        TestPools.fill(pool);
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
