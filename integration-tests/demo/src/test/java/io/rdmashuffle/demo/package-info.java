/** Tests. */
@NullMarked
package io.rdmashuffle.demo;

import org.jspecify.annotations.NullMarked;
