/** Tests. */
@NullMarked
package io.rdmashuffle.it.suites;

import org.jspecify.annotations.NullMarked;
