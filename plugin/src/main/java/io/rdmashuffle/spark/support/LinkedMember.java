// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Type or member of Spark or its dependencies that classes of this jar link to.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param owners binary names of types of which one has the member, or inherits it; of a type, its own name
 * @param name empty for a type
 * @param descriptor as in a class file; empty for a type
 */
public record LinkedMember(Kind kind, List<String> owners, String name, String descriptor) {
    private static final Pattern TYPE_IN_DESCRIPTOR = Pattern.compile("(\\[*)([ZBCSIJFD]|L[^;]+;)");

    /** Kind that an instruction expects. */
    public enum Kind {
        TYPE,
        CONSTRUCTOR,
        METHOD,
        STATIC_METHOD,
        FIELD,
        STATIC_FIELD
    }

    /** Reads a line of the lists that the build makes: kind, owners with commas between them, name, descriptor. */
    public static LinkedMember parse(String line) {
        String[] words = line.split(" ", -1);
        return new LinkedMember(
                Kind.valueOf(words[0]),
                List.of(words[1].replace('/', '.').split(",", -1)),
                words.length > 2 ? words[2] : "",
                words.length > 3 ? words[3] : "");
    }

    /** Returns whether a class loader has it, so that code of this jar may link to it. Initializes no class. */
    boolean isPresent(ClassLoader loader) {
        return owners.stream().anyMatch(owner -> isPresent(owner, loader));
    }

    private boolean isPresent(String owner, ClassLoader loader) {
        try {
            Class<?> type = Class.forName(owner, false, loader);
            if (kind == Kind.TYPE) {
                return true;
            }
            MethodHandles.Lookup here = MethodHandles.lookup();
            try {
                find(here, type, loader);
            } catch (IllegalAccessException e) {
                return isProtected(MethodHandles.privateLookupIn(type, here), type, loader);
            }
            return true;
        } catch (ReflectiveOperationException | TypeNotPresentException | LinkageError e) {
            return false;
        }
    }

    /** Subclasses in this jar may link to it. */
    private boolean isProtected(MethodHandles.Lookup inside, Class<?> type, ClassLoader loader)
            throws ReflectiveOperationException {
        int modifiers = inside.revealDirect(find(inside, type, loader)).getModifiers();
        return Modifier.isProtected(modifiers);
    }

    /** Resolves it as the JVM does. */
    private MethodHandle find(MethodHandles.Lookup lookup, Class<?> type, ClassLoader loader)
            throws ReflectiveOperationException {
        return switch (kind) {
            case CONSTRUCTOR -> lookup.findConstructor(type, methodType(loader));
            case METHOD -> lookup.findVirtual(type, name, methodType(loader));
            case STATIC_METHOD -> lookup.findStatic(type, name, methodType(loader));
            case FIELD -> lookup.findGetter(type, name, fieldType(loader));
            case STATIC_FIELD -> lookup.findStaticGetter(type, name, fieldType(loader));
            case TYPE -> throw new AssertionError("a type has no handle");
        };
    }

    private MethodType methodType(ClassLoader loader) {
        return MethodType.fromMethodDescriptorString(descriptor, loader);
    }

    private Class<?> fieldType(ClassLoader loader) {
        return MethodType.fromMethodDescriptorString("()" + descriptor, loader).returnType();
    }

    /** As a user may look for it: {@code org.apache.spark.scheduler.MapStatus$.apply(BlockManagerId, long[], long)}. */
    @Override
    public String toString() {
        String owner = String.join(" or ", owners);
        return switch (kind) {
            case TYPE -> owner;
            case FIELD, STATIC_FIELD -> owner + "." + name;
            case CONSTRUCTOR, METHOD, STATIC_METHOD -> owner + "." + name + parameters();
        };
    }

    /** By descriptor only: the types themselves may be missing. */
    private String parameters() {
        return TYPE_IN_DESCRIPTOR
                .matcher(descriptor.substring(1, descriptor.indexOf(')')))
                .results()
                .map(found ->
                        simpleName(found.group(2)) + "[]".repeat(found.group(1).length()))
                .collect(Collectors.joining(", ", "(", ")"));
    }

    private static String simpleName(String type) {
        return switch (type.charAt(0)) {
            case 'Z' -> "boolean";
            case 'B' -> "byte";
            case 'C' -> "char";
            case 'S' -> "short";
            case 'I' -> "int";
            case 'J' -> "long";
            case 'F' -> "float";
            case 'D' -> "double";
            default -> type.substring(Math.max(type.lastIndexOf('/'), 0) + 1, type.length() - 1);
        };
    }
}
