/** Tests. */
@NullMarked
package io.rdmashuffle.suites;

import org.jspecify.annotations.NullMarked;
