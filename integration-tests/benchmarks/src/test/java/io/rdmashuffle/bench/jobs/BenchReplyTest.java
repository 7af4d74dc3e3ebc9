// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class BenchReplyTest {
    @Test
    void requestsAndRepliesAreReadAsTheyWereWritten() throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BenchRequest request = new BenchRequest(CaseCatalogue.ALL.get(0).job(Form.FEW_ROWS, 5));
        assertThat(mapper.readValue(mapper.writeValueAsString(request), BenchRequest.class))
                .isEqualTo(request);
        assertThat(mapper.readValue(mapper.writeValueAsString(BenchRequest.DRAIN), BenchRequest.class))
                .isEqualTo(BenchRequest.DRAIN);
        BenchReply reply = new BenchReply(
                new Measurement(1, 2, 1, 3, TaskTotals.NONE, 8, 4, 5, Map.of("poolPeak", 6L), Map.of("netty", 7L)), "");
        assertThat(mapper.readValue(mapper.writeValueAsString(reply), BenchReply.class))
                .isEqualTo(reply);
    }
}
