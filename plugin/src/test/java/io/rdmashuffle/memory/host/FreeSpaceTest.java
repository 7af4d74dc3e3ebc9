// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.FileStoreAttributeView;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class FreeSpaceTest {
    private static final long PAGE = 2 << 20;

    @TempDir
    Path root;

    /** Mount entry of the kernel. */
    private static final class Mount extends FileStore {
        private final String type;
        private final long totalBytes;
        private final long usableBytes;

        Mount(String type, long totalBytes, long usableBytes) {
            this.type = type;
            this.totalBytes = totalBytes;
            this.usableBytes = usableBytes;
        }

        @Override
        public String name() {
            return "none";
        }

        @Override
        public String type() {
            return type;
        }

        @Override
        public boolean isReadOnly() {
            return false;
        }

        @Override
        public long getTotalSpace() {
            return totalBytes;
        }

        @Override
        public long getUsableSpace() {
            return usableBytes;
        }

        @Override
        public long getUnallocatedSpace() {
            return usableBytes;
        }

        @Override
        public long getBlockSize() {
            return PAGE;
        }

        @Override
        public boolean supportsFileAttributeView(Class<? extends FileAttributeView> view) {
            return false;
        }

        @Override
        public boolean supportsFileAttributeView(String name) {
            return false;
        }

        @Override
        public <V extends FileStoreAttributeView> @Nullable V getFileStoreAttributeView(Class<V> view) {
            return null;
        }

        @Override
        public Object getAttribute(String attribute) {
            throw new UnsupportedOperationException(attribute);
        }
    }

    private void pages(String free, String reserved) throws IOException {
        Path folder = Files.createDirectories(root.resolve("sys/kernel/mm/hugepages/hugepages-2048kB"));
        Files.writeString(folder.resolve("free_hugepages"), free);
        Files.writeString(folder.resolve("resv_hugepages"), reserved);
    }

    @Test
    void aMountWithASizeTellsItself() throws IOException {
        pages("100\n", "0\n");
        assertThat(FreeSpace.of(new Mount("tmpfs", 10, 7), root)).isEqualTo(7);
        assertThat(FreeSpace.of(new Mount("tmpfs", 0, 0), root)).isZero();
        assertThat(FreeSpace.of(new Mount("hugetlbfs", 8 * PAGE, 0), root)).isZero();
        assertThat(FreeSpace.of(new Mount("hugetlbfs", 8 * PAGE, 3 * PAGE), root))
                .isEqualTo(3 * PAGE);
    }

    @Test
    void hugePagesAreFreeMinusReserved() throws IOException {
        Mount mount = new Mount("hugetlbfs", 0, 0);
        pages("100\n", "30\n");
        assertThat(FreeSpace.of(mount, root)).isEqualTo(70 * PAGE);
        pages("1\n", "3\n");
        assertThat(FreeSpace.of(mount, root)).isZero();
    }

    @Test
    void aSystemThatDoesNotTellHasNone() throws IOException {
        Mount mount = new Mount("hugetlbfs", 0, 0);
        assertThat(FreeSpace.of(mount, root)).isZero();
        pages("many", "0\n");
        assertThat(FreeSpace.of(mount, root)).isZero();
    }

    @Test
    void aDirectoryThatIsThereHasRoom() throws IOException {
        assertThat(FreeSpace.of(root)).isPositive();
    }
}
