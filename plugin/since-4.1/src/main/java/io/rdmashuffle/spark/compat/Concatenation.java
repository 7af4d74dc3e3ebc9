// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The elements of many sources, one after another; Scala's {@code flatMap} is another method with 2.12 than with 2.13.
 *
 * <p><b>Threading:</b> one thread.
 *
 * @param <S> source
 * @param <T> element
 */
public final class Concatenation<S, T> extends AbstractIterator<T> {
    private final Iterator<S> sources;
    private final Function<S, Iterator<T>> elements;
    private Iterator<T> current = ScalaCollections.iterator(Collections.emptyIterator());

    /**
     * Prepares; no source is taken yet.
     *
     * @param elements opens a source, when those before it have ended
     */
    public Concatenation(Iterator<S> sources, Function<S, Iterator<T>> elements) {
        this.sources = sources;
        this.elements = elements;
    }

    /** Returns the elements of two iterators, those of the second one when the first has ended. */
    public static <T> Iterator<T> of(Iterator<T> first, Iterator<T> second) {
        return new Concatenation<>(
                ScalaCollections.iterator(List.of(first, second).iterator()), each -> each);
    }

    @Override
    public boolean hasNext() {
        while (!current.hasNext()) {
            if (!sources.hasNext()) {
                return false;
            }
            current = elements.apply(sources.next());
        }
        return true;
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException("all sources have ended");
        }
        return current.next();
    }
}
