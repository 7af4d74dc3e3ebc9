/** Tests. */
@NullMarked
package io.rdmashuffle.it.tpcds;

import org.jspecify.annotations.NullMarked;
