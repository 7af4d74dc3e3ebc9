// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.tree.ClassNode;

/**
 * Classes by name, as a JVM finds them on a class path, without method bodies.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns the jars, which it opens.
 */
public final class ClassSource implements AutoCloseable {
    private static final int WITHOUT_BODIES = ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES;

    private final List<JarFile> jars = new ArrayList<>();
    private final List<Path> folders;
    private final Map<String, Optional<ClassNode>> known = new HashMap<>();

    /**
     * Opens a class path.
     *
     * @param folders of compiled classes; one that has none need not exist
     * @param jarFiles are looked at after the folders
     */
    public ClassSource(List<Path> folders, List<Path> jarFiles) throws IOException {
        this.folders = folders;
        try {
            for (Path jar : jarFiles) {
                jars.add(new JarFile(jar.toFile()));
            }
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    /** Returns a class by its internal name; empty if neither the class path nor Java has it. */
    Optional<ClassNode> find(String name) {
        return known.computeIfAbsent(name, this::read);
    }

    private Optional<ClassNode> read(String name) {
        String file = name + ".class";
        try {
            for (Path folder : folders) {
                if (Files.exists(folder.resolve(file))) {
                    return Optional.of(parse(Files.newInputStream(folder.resolve(file))));
                }
            }
            for (JarFile jar : jars) {
                if (jar.getEntry(file) != null) {
                    return Optional.of(parse(jar.getInputStream(jar.getEntry(file))));
                }
            }
            InputStream ofJava = name.startsWith("java") || name.startsWith("sun/") || name.startsWith("jdk/")
                    ? ClassLoader.getSystemResourceAsStream(file)
                    : null;
            return ofJava == null ? Optional.empty() : Optional.of(parse(ofJava));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ClassNode parse(InputStream bytes) throws IOException {
        try (bytes) {
            ClassNode node = new ClassNode();
            new ClassReader(bytes).accept(node, WITHOUT_BODIES);
            return node;
        }
    }

    /** Returns a class and its supertypes, nearest first, without missing ones. */
    List<ClassNode> lineage(String name) {
        List<ClassNode> all = new ArrayList<>();
        addLineage(name, all);
        return all;
    }

    private void addLineage(String name, List<ClassNode> all) {
        ClassNode node = find(name).orElse(null);
        if (node == null || all.contains(node)) {
            return;
        }
        all.add(node);
        if (node.superName != null) {
            addLineage(node.superName, all);
        }
        node.interfaces.forEach(each -> addLineage(each, all));
    }

    @Override
    public void close() throws IOException {
        for (JarFile jar : jars) {
            jar.close();
        }
    }
}
