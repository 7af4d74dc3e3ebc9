/** Tests. */
@NullMarked
package io.rdmashuffle.it.bench.tpcds;

import org.jspecify.annotations.NullMarked;
