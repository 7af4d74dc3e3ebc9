// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;

/**
 * References of compiled classes, by name.
 *
 * @param classes the classes themselves
 * @param members of others, and of themselves
 * @param types by internal name
 */
public record References(List<ClassNode> classes, Set<Member> members, Set<String> types) {
    /**
     * A method or field as an instruction names it.
     *
     * @param owner internal name of the type that the instruction names, which may inherit the member
     * @param descriptor that of a field has no parentheses
     * @param isStatic whether the instruction needs no object
     * @param ofInterface whether the instruction takes the owner for an interface; never for a field
     */
    public record Member(String owner, String name, String descriptor, boolean isStatic, boolean ofInterface)
            implements Comparable<Member> {
        /** Returns whether this is a method or constructor. */
        public boolean isMethod() {
            return descriptor.startsWith("(");
        }

        @Override
        public int compareTo(Member other) {
            return toString().compareTo(other.toString());
        }

        @Override
        public String toString() {
            return owner.replace('/', '.') + "." + name + (isMethod() ? "" : " ") + descriptor;
        }
    }

    /**
     * Reads the classes below some folders.
     *
     * @param wanted which of the files to read
     */
    public static References of(List<Path> folders, Predicate<Path> wanted) {
        References found = new References(new ArrayList<>(), new TreeSet<>(), new TreeSet<>());
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.filter(path -> path.toString().endsWith(".class") && wanted.test(path))
                        .toList()) {
                    ClassNode node = new ClassNode();
                    new ClassReader(Files.readAllBytes(file)).accept(node, ClassReader.SKIP_DEBUG);
                    found.add(node);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return found;
    }

    private void add(ClassNode node) {
        classes.add(node);
        if (node.superName != null) {
            types.add(node.superName);
        }
        types.addAll(node.interfaces);
        for (MethodNode method : node.methods) {
            addTypes(Type.getMethodType(method.desc));
            for (AbstractInsnNode instruction : method.instructions) {
                add(instruction);
            }
        }
        node.fields.forEach(field -> addTypes(Type.getType(field.desc)));
    }

    private void add(AbstractInsnNode instruction) {
        if (instruction instanceof MethodInsnNode call) {
            add(new Member(call.owner, call.name, call.desc, call.getOpcode() == Opcodes.INVOKESTATIC, call.itf));
        } else if (instruction instanceof FieldInsnNode access) {
            int opcode = access.getOpcode();
            boolean isStatic = opcode == Opcodes.GETSTATIC || opcode == Opcodes.PUTSTATIC;
            add(new Member(access.owner, access.name, access.desc, isStatic, false));
        } else if (instruction instanceof TypeInsnNode named) {
            addTypes(Type.getObjectType(named.desc));
        } else if (instruction instanceof InvokeDynamicInsnNode dynamic) {
            addTypes(Type.getMethodType(dynamic.desc));
            for (Object argument : dynamic.bsmArgs) {
                if (argument instanceof Handle handle) {
                    add(new Member(
                            handle.getOwner(),
                            handle.getName(),
                            handle.getDesc(),
                            handle.getTag() == Opcodes.H_INVOKESTATIC,
                            handle.isInterface()));
                } else if (argument instanceof Type type) {
                    addTypes(type);
                }
            }
        }
    }

    private void add(Member member) {
        addTypes(Type.getObjectType(member.owner()));
        addTypes(Type.getType(member.descriptor()));
        if (!member.owner().startsWith("[")) {
            members.add(member);
        }
    }

    private void addTypes(Type type) {
        switch (type.getSort()) {
            case Type.METHOD -> {
                addTypes(type.getReturnType());
                for (Type argument : type.getArgumentTypes()) {
                    addTypes(argument);
                }
            }
            case Type.ARRAY -> addTypes(type.getElementType());
            case Type.OBJECT -> types.add(type.getInternalName());
            default -> {}
        }
    }
}
