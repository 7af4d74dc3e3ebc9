/** Tests. */
@NullMarked
package io.rdmashuffle.it.demo;

import org.jspecify.annotations.NullMarked;
