/**
 * Spark jobs that prove the verbs path on an RDMA device: run by {@code bin/rxe-test}, once with sort shuffle to learn the
 * right results and then over the device, on one host and across hosts.
 *
 * <p>Must assert results and bytes by path, never times: the device may be emulated.
 */
@NullMarked
package io.rdmashuffle.it.device;

import org.jspecify.annotations.NullMarked;
