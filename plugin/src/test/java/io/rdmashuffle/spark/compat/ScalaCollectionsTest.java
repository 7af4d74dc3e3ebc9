// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.collection.Iterator;
import scala.concurrent.Promise;
import scala.concurrent.Promise$;

@Tag("unit")
@Timeout(60)
class ScalaCollectionsTest {
    @Test
    void listsKeepTheirOrderThereAndBack() {
        assertThat(ScalaCollections.list(List.of()).isEmpty()).isTrue();
        var list = ScalaCollections.list(List.of("a", "b", "c"));
        assertThat(list.head()).isEqualTo("a");
        assertThat(ScalaCollections.list(list.iterator())).containsExactly("a", "b", "c");
        assertThat(ScalaCollections.list(ScalaCollections.iterator(List.of(1, 2).iterator())))
                .containsExactly(1, 2);
    }

    /** As a task does that reads one block after another. */
    @Test
    void aSourceIsOpenedWhenTheOneBeforeHasEnded() {
        List<Integer> opened = new ArrayList<>();
        Iterator<Integer> sources =
                ScalaCollections.iterator(List.of(0, 2, 0, 0, 1, 0).iterator());
        Iterator<String> all = new Concatenation<>(sources, size -> {
            opened.add(size);
            List<String> elements = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                elements.add(opened.size() + "." + i);
            }
            return ScalaCollections.iterator(elements.iterator());
        });
        assertThat(opened).isEmpty();
        assertThat(all.next()).isEqualTo("2.0");
        assertThat(opened).containsExactly(0, 2);
        assertThat(all.next()).isEqualTo("2.1");
        assertThat(opened).containsExactly(0, 2);
        assertThat(all.hasNext()).isTrue();
        assertThat(all.next()).isEqualTo("5.0");
        assertThat(all.hasNext()).isFalse();
        assertThat(opened).containsExactly(0, 2, 0, 0, 1, 0);
        assertThatThrownBy(all::next).isInstanceOf(NoSuchElementException.class);
    }

    @Test
    void futuresEndAsTheOthersDo() {
        Promise<String> first = Promise$.MODULE$.apply();
        CompletableFuture<String> answer = ScalaFutures.toJava(first.future());
        assertThat(answer).isNotDone();
        first.success("yes");
        assertThat(answer).isCompletedWithValue("yes");
        Promise<String> second = Promise$.MODULE$.apply();
        second.failure(new IllegalStateException("gone"));
        assertThat(ScalaFutures.toJava(second.future()))
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withMessageContaining("gone");
    }
}
