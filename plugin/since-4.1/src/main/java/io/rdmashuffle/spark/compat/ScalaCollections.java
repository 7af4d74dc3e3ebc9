// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;

/**
 * Java's collections as Scala's and back, by what Scala 2.12 and 2.13 have alike: 2.12 has no {@code scala.jdk}, 2.13
 * deprecates what 2.12 has.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class ScalaCollections {
    private ScalaCollections() {}

    /** Returns the elements as an immutable list of Scala. */
    @SuppressWarnings("unchecked") // The empty list is one of any type.
    public static <T> scala.collection.immutable.List<T> list(Collection<T> elements) {
        List<T> ordered = new ArrayList<>(elements);
        var list = (scala.collection.immutable.List<T>) Nil$.MODULE$;
        for (int i = ordered.size() - 1; i >= 0; i--) {
            list = new $colon$colon<>(ordered.get(i), list);
        }
        return list;
    }

    /** Returns the remaining elements of an iterator as a Java list, owned by the caller. */
    public static <T> List<T> list(Iterator<T> elements) {
        List<T> list = new ArrayList<>();
        while (elements.hasNext()) {
            list.add(elements.next());
        }
        return list;
    }

    /** Returns an iterator of Scala that takes from one of Java. */
    public static <T> Iterator<T> iterator(java.util.Iterator<T> elements) {
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return elements.hasNext();
            }

            @Override
            public T next() {
                return elements.next();
            }
        };
    }
}
