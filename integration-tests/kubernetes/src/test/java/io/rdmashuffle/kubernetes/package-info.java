// SPDX-License-Identifier: Apache-2.0
/**
 * Pods as Spark's own builder makes them of the files in {@code conf/}. May use Spark and the Kubernetes client. Must
 * never need a cluster.
 */
@NullMarked
package io.rdmashuffle.kubernetes;

import org.jspecify.annotations.NullMarked;
