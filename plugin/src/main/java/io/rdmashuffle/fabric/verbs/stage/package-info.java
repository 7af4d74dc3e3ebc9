// SPDX-License-Identifier: Apache-2.0
/**
 * The owner's side of reading the disk tier over RDMA: what peers ask for is brought into registered memory here.
 *
 * <p>A device reads registered memory and no file. {@link io.rdmashuffle.fabric.verbs.stage.DiskStaging} reads the
 * files, on a thread for each local directory, since a disk may take long; the control thread hands it questions and
 * sends its answers. May use {@code io.rdmashuffle.fabric}, {@code io.rdmashuffle.fabric.verbs.device},
 * {@code io.rdmashuffle.fabric.verbs.connect}, {@code io.rdmashuffle.memory}, {@code io.rdmashuffle.memory.disk},
 * {@code io.rdmashuffle.memory.slice} and SLF4J. Must never know of devices, queue pairs or peers, or start a thread.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs.stage;

import org.jspecify.annotations.NullMarked;
