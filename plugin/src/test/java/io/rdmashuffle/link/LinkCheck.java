// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Whether compiled classes run on a class path that they were not compiled against: what a virtual machine would only
 * find out at the first call, or never.
 */
final class LinkCheck {
    private final References references;
    private final ClassSource source;

    private LinkCheck(References references, ClassSource source) {
        this.references = references;
        this.source = source;
    }

    /**
     * Returns what is wrong, a sentence each: types and members that are missing, abstract methods without a body, and
     * methods that override something of the class path that they were compiled against, but nothing of the other.
     *
     * @param compiledAgainst the jars that {@code references} were compiled against
     */
    static Set<String> findings(References references, ClassSource source, ClassSource compiledAgainst) {
        LinkCheck check = new LinkCheck(references, source);
        Set<String> findings = new TreeSet<>();
        check.addMissing(findings);
        for (ClassNode node : references.classes()) {
            if ((node.access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_INTERFACE)) == 0) {
                check.addUnimplemented(node, findings);
            }
            check.addLostOverrides(node, compiledAgainst, findings);
        }
        return findings;
    }

    /** Of Spark, Scala and Netty, which come with Spark. */
    private static boolean isForeign(String name) {
        return name.startsWith("org/apache/spark/") || name.startsWith("scala/") || name.startsWith("io/netty/");
    }

    private void addMissing(Set<String> findings) {
        for (String type : references.types()) {
            if (isForeign(type) && source.find(type).isEmpty()) {
                findings.add("no type " + type.replace('/', '.'));
            }
        }
        for (References.Member member : references.members()) {
            List<ClassNode> lineage = source.lineage(member.owner());
            boolean reachesForeign = lineage.stream().anyMatch(node -> isForeign(node.name));
            if (reachesForeign && lineage.stream().noneMatch(node -> declares(node, member))) {
                findings.add("no member " + member);
            }
        }
    }

    private static boolean declares(ClassNode node, References.Member member) {
        return member.isMethod()
                ? find(node, member.name(), member.descriptor()) != null
                : node.fields.stream()
                        .anyMatch(field -> field.name.equals(member.name()) && field.desc.equals(member.descriptor()));
    }

    private static @Nullable MethodNode find(ClassNode node, String name, String descriptor) {
        for (MethodNode method : node.methods) {
            if (method.name.equals(name) && method.desc.equals(descriptor)) {
                return method;
            }
        }
        return null;
    }

    private void addUnimplemented(ClassNode node, Set<String> findings) {
        List<ClassNode> lineage = source.lineage(node.name);
        Set<String> implemented = new HashSet<>();
        List<String> abstractOnes = new ArrayList<>();
        for (ClassNode each : lineage) {
            for (MethodNode method : each.methods) {
                String signature = method.name + method.desc;
                if ((method.access & Opcodes.ACC_ABSTRACT) == 0) {
                    implemented.add(signature);
                } else if (isForeign(each.name)) {
                    abstractOnes.add(each.name + " " + signature);
                }
            }
        }
        for (String one : abstractOnes) {
            if (!implemented.contains(one.substring(one.indexOf(' ') + 1))) {
                findings.add(
                        "no body of " + one.replace(' ', '.').replace('/', '.') + " in " + node.name.replace('/', '.'));
            }
        }
    }

    private void addLostOverrides(ClassNode node, ClassSource compiledAgainst, Set<String> findings) {
        List<ClassNode> then = above(node, compiledAgainst);
        List<ClassNode> now = above(node, source);
        for (MethodNode method : node.methods) {
            boolean hidden = (method.access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE | Opcodes.ACC_BRIDGE)) != 0;
            if (hidden || method.name.startsWith("<") || !overrides(method, then)) {
                continue;
            }
            // A bridge of another result may stand for it.
            boolean stillOne = node.methods.stream()
                    .filter(each ->
                            each.name.equals(method.name) && parameters(each).equals(parameters(method)))
                    .anyMatch(each -> overrides(each, now));
            if (!stillOne) {
                findings.add("overrides nothing: " + node.name.replace('/', '.') + "." + method.name + method.desc);
            }
        }
    }

    private static List<ClassNode> above(ClassNode node, ClassSource source) {
        return source.lineage(node.name).stream()
                .filter(each -> isForeign(each.name))
                .toList();
    }

    private static boolean overrides(MethodNode method, List<ClassNode> above) {
        return above.stream().anyMatch(each -> find(each, method.name, method.desc) != null);
    }

    private static String parameters(MethodNode method) {
        return method.desc.substring(0, method.desc.indexOf(')'));
    }

    /** Returns the folders of compiled classes that make up the plugin's jar, as far as they touch Spark. */
    static List<Path> ourClasses() {
        return List.of(Path.of("target/classes"), Path.of("since-4.1/target/classes"));
    }
}
