// SPDX-License-Identifier: Apache-2.0
/**
 * Reports of a doctor as text and JSON, and its command line.
 *
 * <p>May use the JDK only. Must never examine the machine: it prints findings of others.
 */
@NullMarked
package io.rdmashuffle.doctor.report;

import org.jspecify.annotations.NullMarked;
