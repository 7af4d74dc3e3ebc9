/** Tests. */
@NullMarked
package io.rdmashuffle.it.suites.agent;

import org.jspecify.annotations.NullMarked;
