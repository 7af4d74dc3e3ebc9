// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** Kubeflow's operator takes conf/kubernetes-spark-application.yaml, which says the same as kubernetes.conf. */
@Tag("unit")
@Timeout(60)
class SparkApplicationTest {
    private static final Path ROOT = Path.of(System.getProperty("rdmashuffle.root", "../.."));
    private static final Path CONF = ROOT.resolve("conf");
    private static final String JAR =
            "rdma-shuffle-spark-" + System.getProperty("rdmashuffle.version", "0.1.0-SNAPSHOT") + ".jar";
    private static Schema schema;
    private static JsonNode application;

    @BeforeAll
    static void read() throws IOException {
        try (InputStream file = SparkApplicationTest.class.getResourceAsStream("/spark-application-v1beta2.json")) {
            JsonNode resource = JsonMapper.shared().readTree(Objects.requireNonNull(file));
            refuseUnknownFields(resource);
            schema = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_4)
                    .getSchema(resource);
        }
        application = new YAMLMapper().readTree(CONF.resolve("kubernetes-spark-application.yaml"));
    }

    /** Kubernetes drops a field that it does not know, and says nothing. What metadata holds is not in the schema. */
    private static void refuseUnknownFields(JsonNode node) {
        if (node instanceof ObjectNode object
                && object.path("properties").isObject()
                && !object.has("additionalProperties")) {
            object.put("additionalProperties", false);
        }
        node.forEach(SparkApplicationTest::refuseUnknownFields);
    }

    private static List<Error> problems(JsonNode document) {
        return schema.validate(document);
    }

    @Test
    void operatorTakesTheFile() {
        assertThat(problems(application)).isEmpty();
    }

    @Test
    void schemaSeesWhatIsWrong() {
        JsonNode misspelled = application.deepCopy();
        ((ObjectNode) misspelled.path("spec").path("executor")).put("memoryOverHead", "2500m");
        assertThat(problems(misspelled)).isNotEmpty();
        JsonNode mistyped = application.deepCopy();
        ((ObjectNode) mistyped.path("spec").path("executor")).put("instances", "two");
        assertThat(problems(mistyped)).isNotEmpty();
        JsonNode incomplete = application.deepCopy();
        ((ObjectNode) incomplete.path("spec")).remove("sparkVersion");
        assertThat(problems(incomplete)).isNotEmpty();
    }

    @Test
    void settingsAreThoseOfTheFileForSparkSubmit() throws IOException {
        Map<String, String> settings = new TreeMap<>();
        JsonNode spec = application.path("spec");
        spec.path("sparkConf")
                .properties()
                .forEach(entry -> settings.put(entry.getKey(), entry.getValue().asString()));
        settings.put(
                "spark.executor.memory", spec.path("executor").path("memory").asString());
        settings.put(
                "spark.executor.memoryOverhead",
                spec.path("executor").path("memoryOverhead").asString());
        Properties file = new Properties();
        try (Reader reader = Files.newBufferedReader(CONF.resolve("kubernetes.conf"), StandardCharsets.UTF_8)) {
            file.load(reader);
        }
        Map<String, String> expected = new TreeMap<>();
        file.stringPropertyNames()
                .forEach(key -> expected.put(key, file.getProperty(key).trim()));
        assertThat(settings).isEqualTo(expected);
    }

    @Test
    void imageHasTheJarThatTheApplicationNames() throws IOException {
        String dockerfile = Files.readString(CONF.resolve("Dockerfile"));
        assertThat(value("ARG JAR=(\\S+)", dockerfile)).isEqualTo("plugin/target/" + JAR);
        assertThat(application.path("spec").path("mainApplicationFile").asString())
                .isEqualTo("local://" + value("COPY \\S+ \\S+ (\\S+)", dockerfile) + JAR);
        assertThat(value("FROM (\\S+)", dockerfile)).isEqualTo("${SPARK_IMAGE}");
        assertThat(value("ARG SPARK_IMAGE=apache/spark:([0-9.]+)-", dockerfile))
                .isEqualTo(application.path("spec").path("sparkVersion").asString());
        assertThat(dockerfile)
                .contains(" libibverbs1 librdmacm1 ibverbs-providers ")
                .endsWith("\nUSER spark\n");
    }

    private static String value(String pattern, String text) {
        Matcher matcher = Pattern.compile("(?m)^" + pattern).matcher(text);
        assertThat(matcher.find()).as(pattern).isTrue();
        return matcher.group(1);
    }
}
