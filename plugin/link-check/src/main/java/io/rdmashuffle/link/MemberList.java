// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.objectweb.asm.tree.ClassNode;

/**
 * Writes all references of compiled classes to Spark and its dependencies, for a check at start, one line each:
 * {@code TYPE type}, or {@code KIND owner[,owner] name descriptor}.
 *
 * <p>Two owners mean that one of the two has the member: a class of the program inherits it from either.
 */
public final class MemberList {
    private final Map<String, ClassNode> compiled;

    private MemberList(References references) {
        this.compiled = references.classes().stream().collect(Collectors.toMap(node -> node.name, Function.identity()));
    }

    /**
     * Writes the list.
     *
     * @param arguments the file to write; what the paths of class files that are left out contain, comma-separated;
     *     folders of compiled classes
     */
    public static void main(String[] arguments) throws IOException {
        List<Path> folders = Arrays.stream(arguments).skip(2).map(Path::of).toList();
        List<String> leftOut = List.of(arguments[1].split(","));
        References references = References.of(folders, file -> leftOut.stream().noneMatch(file.toString()::contains));
        Path list = Path.of(arguments[0]);
        Files.createDirectories(list.getParent());
        Files.write(list, new MemberList(references).lines(references));
    }

    private Set<String> lines(References references) {
        Set<String> lines = new TreeSet<>();
        references.types().stream().filter(LinkCheck::isForeign).forEach(type -> lines.add("TYPE " + type));
        for (References.Member member : references.members()) {
            Set<String> owners = foreignOwners(member);
            if (!owners.isEmpty()) {
                lines.add(kind(member) + " " + String.join(",", owners) + " " + member.name() + " "
                        + member.descriptor());
            }
        }
        return lines;
    }

    private static String kind(References.Member member) {
        if (!member.isMethod()) {
            return member.isStatic() ? "STATIC_FIELD" : "FIELD";
        } else if (member.name().equals("<init>")) {
            return "CONSTRUCTOR";
        }
        return member.isStatic() ? "STATIC_METHOD" : "METHOD";
    }

    /** Returns the nearest types of others that may declare a member; none if one of the compiled classes does. */
    private Set<String> foreignOwners(References.Member member) {
        Set<String> owners = new TreeSet<>();
        Deque<String> toVisit = new ArrayDeque<>(List.of(member.owner()));
        while (!toVisit.isEmpty()) {
            String name = toVisit.remove();
            ClassNode node = compiled.get(name);
            if (node == null) {
                if (LinkCheck.isForeign(name)) {
                    owners.add(name);
                }
                continue;
            }
            if (LinkCheck.accessOf(node, member).isPresent()) {
                return Set.of();
            }
            if (node.superName != null) {
                toVisit.add(node.superName);
            }
            toVisit.addAll(node.interfaces);
        }
        return owners;
    }
}
