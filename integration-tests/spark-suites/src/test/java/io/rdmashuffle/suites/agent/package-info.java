/** Tests. */
@NullMarked
package io.rdmashuffle.suites.agent;

import org.jspecify.annotations.NullMarked;
