/**
 * What everything that runs Spark from this repository shares: where things lie, and a Spark home made of links.
 *
 * <p>May use the JDK only, so that it runs before any class path is known. Must never start Spark itself.
 */
@NullMarked
package io.rdmashuffle.it;

import org.jspecify.annotations.NullMarked;
