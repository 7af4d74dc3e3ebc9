// SPDX-License-Identifier: Apache-2.0
/**
 * What a doctor has found, as text and as JSON, and the command line by which it is asked.
 *
 * <p>May use the JDK only. Must never look at the machine: it says what others have seen.
 */
@NullMarked
package io.rdmashuffle.doctor.report;

import org.jspecify.annotations.NullMarked;
