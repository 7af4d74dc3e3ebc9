// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.FabricProvider;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class LinkModelTest {
    @Test
    void bytesOccupyTheLink() {
        LinkModel link = new LinkModel(100, 5);
        assertThat(link.transferNanos(1 << 20)).isEqualTo(83_886);
        assertThat(link.delayNanos()).isEqualTo(5_000);
        assertThat(new LinkModel(25, 0).transferNanos(1_000)).isEqualTo(320);
    }

    @Test
    void settingsAreReadAsTheyWereWritten() {
        LinkModel link = new LinkModel(25.5, 0.5);
        assertThat(LinkModel.read(link.settings()::get)).hasValue(link);
        assertThat(LinkModel.read(Map.<String, String>of()::get)).isEmpty();
    }

    @Test
    void linksThatCannotBeAreRefused() {
        assertThatThrownBy(() -> new LinkModel(0, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new LinkModel(Double.NaN, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new LinkModel(1, -1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void theModelIsOfferedToThoseWhoAskForIt() {
        FabricProvider provider =
                ServiceLoader.load(FabricProvider.class).findFirst().orElseThrow();
        assertThat(provider.open(key -> null, 1 << 20, null)).isEmpty();
        try (var fabric = provider.open(new LinkModel(100, 5).settings()::get, 1 << 20, null)
                .orElseThrow()) {
            assertThat(fabric.name()).isEqualTo("verbs");
            assertThat(fabric.copies()).isTrue();
        }
    }
}
