// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.k8s.KubernetesExecutorConf;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.internal.config.package$;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;

/** What conf/kubernetes.conf and conf/kubernetes-executor.yaml become in Spark's hands. */
@Tag("unit")
@Timeout(60)
class ExecutorPodTest {
    private static final String RDMA = "nvidia.com/mlnx_rdma";
    private static final Path CONF =
            Path.of(System.getProperty("rdmashuffle.root", "../..")).resolve("conf");

    private static SparkConf settings() throws IOException {
        Properties file = new Properties();
        try (Reader reader = Files.newBufferedReader(CONF.resolve("kubernetes.conf"), StandardCharsets.UTF_8)) {
            file.load(reader);
        }
        SparkConf conf = new SparkConf(false)
                .set("spark.kubernetes.container.image", "spark")
                .set("spark.driver.host", "driver.example")
                .set("spark.driver.port", "7078");
        file.stringPropertyNames()
                .forEach(key -> conf.set(key, file.getProperty(key).trim()));
        return conf;
    }

    /** Returns a client of a cluster that is never asked. */
    private static KubernetesClient client() {
        return new KubernetesClientBuilder()
                .withConfig(
                        new ConfigBuilder().withMasterUrl("https://192.0.2.1").build())
                .build();
    }

    private static SparkPod pod(SparkConf conf) {
        try (KubernetesClient client = client()) {
            return new KubernetesExecutorBuilder()
                    .buildFromFeatures(
                            new KubernetesExecutorConf(conf, "spark-1", "1", Option.empty(), 0),
                            new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE()),
                            client,
                            ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf))
                    .pod();
        }
    }

    private static long bytes(@Nullable Quantity quantity) {
        return Quantity.getAmountInBytes(Objects.requireNonNull(quantity, "not set"))
                .longValueExact();
    }

    private static void assertPoolFits(SparkConf conf, SparkPod made) {
        Container executor = made.container();
        List<VolumeMount> mounts = executor.getVolumeMounts().stream()
                .filter(mount -> mount.getMountPath().equals("/dev/shm"))
                .toList();
        assertThat(mounts).hasSize(1);
        assertThat(mounts.get(0).getReadOnly()).isNotEqualTo(true);
        List<Volume> volumes = made.pod().getSpec().getVolumes().stream()
                .filter(volume -> volume.getName().equals(mounts.get(0).getName()))
                .toList();
        assertThat(volumes).hasSize(1);
        assertThat(volumes.get(0).getEmptyDir().getMedium()).isEqualTo("Memory");
        long pool = JavaUtils.byteStringAsBytes(conf.get("spark.shuffle.rdma.pool.maxSize"));
        assertThat(bytes(volumes.get(0).getEmptyDir().getSizeLimit()))
                .as("room for the pool")
                .isGreaterThanOrEqualTo(pool);
        long heap = JavaUtils.byteStringAsBytes(conf.get("spark.executor.memory"));
        long usual = Math.max(heap / 10, 384L << 20);
        assertThat(bytes(executor.getResources().getLimits().get("memory")))
                .as("the volume counts towards the container's limit")
                .isGreaterThanOrEqualTo(heap + usual + pool);
    }

    @Test
    void settingsAloneGiveThePoolItsMemory() throws Exception {
        SparkConf conf = settings();
        SparkPod made = pod(conf);
        assertPoolFits(conf, made);
        assertThat(made.container().getResources().getLimits()).doesNotContainKey(RDMA);
    }

    @Test
    void templateAddsTheDeviceAndTakesNothingAway() throws Exception {
        SparkConf conf = settings()
                .set(
                        "spark.kubernetes.executor.podTemplateFile",
                        CONF.resolve("kubernetes-executor.yaml").toString());
        SparkPod made = pod(conf);
        assertPoolFits(conf, made);
        assertThat(made.container().getResources().getRequests()).containsEntry(RDMA, new Quantity("1"));
        assertThat(made.container().getResources().getLimits()).containsEntry(RDMA, new Quantity("1"));
        assertThat(made.pod().getMetadata().getAnnotations()).containsKey("k8s.v1.cni.cncf.io/networks");
        assertThat(made.pod().getSpec().getContainers())
                .as("no second container: Spark took the template's for its own")
                .isEmpty();
    }

    /** The lines at the end of the file, without their comment signs. */
    @Test
    void volumesOfTheNodeHoldPoolAndLocalDirectories() throws Exception {
        SparkConf conf = settings();
        Arrays.stream(conf.getAllWithPrefix("spark.kubernetes.executor.volumes."))
                .forEach(entry -> conf.remove("spark.kubernetes.executor.volumes." + entry._1()));
        List<String> lines = Files.readAllLines(CONF.resolve("kubernetes.conf")).stream()
                .filter(line -> line.startsWith("# spark.") && !line.contains("podTemplateFile"))
                .toList();
        assertThat(lines).hasSize(4);
        for (String line : lines) {
            String[] entry = line.substring(2).split(" +", 2);
            conf.set(entry[0], entry[1].trim());
        }
        SparkPod made = pod(conf);
        List<String> ofNode = made.pod().getSpec().getVolumes().stream()
                .filter(volume -> volume.getHostPath() != null)
                .map(Volume::getName)
                .toList();
        List<String> mounts = made.container().getVolumeMounts().stream()
                .filter(mount -> ofNode.contains(mount.getName()))
                .map(VolumeMount::getMountPath)
                .toList();
        assertThat(mounts).containsExactlyInAnyOrder("/dev/shm", "/var/spark-local");
        assertThat(made.container().getEnv()).anySatisfy(variable -> {
            assertThat(variable.getName()).isEqualTo("SPARK_LOCAL_DIRS");
            assertThat(variable.getValue()).isEqualTo("/var/spark-local");
        });
    }

    /** Kubernetes ignores a field that it does not have, and says nothing. */
    @Test
    void templateHasNoFieldThatKubernetesLacks() throws Exception {
        try (KubernetesClient client = client()) {
            Pod template = client.pods()
                    .load(CONF.resolve("kubernetes-executor.yaml").toFile())
                    .item();
            assertThat(template.getAdditionalProperties()).isEmpty();
            assertThat(template.getMetadata().getAdditionalProperties()).isEmpty();
            assertThat(template.getSpec().getAdditionalProperties()).isEmpty();
            assertThat(template.getSpec().getContainers()).singleElement().satisfies(container -> {
                assertThat(container.getAdditionalProperties()).isEmpty();
                assertThat(container.getResources().getAdditionalProperties()).isEmpty();
            });
        }
    }
}
