// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Check whether compiled classes link on another class path than their own, which a JVM would notice at the first call,
 * or never.
 */
public final class LinkCheck {
    private final References references;
    private final ClassSource source;

    private LinkCheck(References references, ClassSource source) {
        this.references = references;
        this.source = source;
    }

    /**
     * Returns one sentence per problem: missing or changed types and members, abstract methods without a body, and
     * methods that override a method of their own class path but none of the other.
     *
     * @param compiledAgainst the jars that {@code references} were compiled against
     */
    public static Set<String> findings(References references, ClassSource source, ClassSource compiledAgainst) {
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

    /** Packages of Spark and of its dependencies. */
    static boolean isForeign(String name) {
        return name.startsWith("org/apache/spark/")
                || name.startsWith("scala/")
                || name.startsWith("io/netty/")
                || name.startsWith("org/scalatest/");
    }

    private void addMissing(Set<String> findings) {
        for (String type : references.types()) {
            if (isForeign(type) && source.find(type).isEmpty()) {
                findings.add("no type " + type.replace('/', '.'));
            }
        }
        for (References.Member member : references.members()) {
            List<ClassNode> lineage = source.lineage(member.owner());
            if (lineage.stream().anyMatch(node -> isForeign(node.name))) {
                addMissing(member, lineage, findings);
            }
        }
    }

    private static void addMissing(References.Member member, List<ClassNode> lineage, Set<String> findings) {
        OptionalInt access = lineage.stream()
                .flatMapToInt(node -> accessOf(node, member).stream())
                .findFirst();
        ClassNode owner = lineage.get(0);
        if (access.isEmpty()) {
            findings.add("no member " + member);
        } else if (((access.getAsInt() & Opcodes.ACC_STATIC) != 0) != member.isStatic()) {
            findings.add((member.isStatic() ? "not static: " : "static: ") + member);
        } else if (isForeign(owner.name) && (access.getAsInt() & Opcodes.ACC_PRIVATE) != 0) {
            findings.add("private: " + member);
        } else if (member.isMethod() && ((owner.access & Opcodes.ACC_INTERFACE) != 0) != member.ofInterface()) {
            findings.add((member.ofInterface() ? "of no interface: " : "of an interface: ") + member);
        }
    }

    static OptionalInt accessOf(ClassNode node, References.Member member) {
        if (member.isMethod()) {
            MethodNode found = find(node, member.name(), member.descriptor());
            return found == null ? OptionalInt.empty() : OptionalInt.of(found.access);
        }
        return node.fields.stream()
                .filter(field -> field.name.equals(member.name()) && field.desc.equals(member.descriptor()))
                .mapToInt(field -> field.access)
                .findFirst();
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
}
