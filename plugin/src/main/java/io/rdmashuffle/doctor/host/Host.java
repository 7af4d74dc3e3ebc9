// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.ffi.NativeAccess;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * View of the host for checks; tests replace each part.
 *
 * @param name of the host
 * @param properties system properties of the JVM, by name
 * @param environment of the process
 * @param files the kernel's files
 * @param places directories of executors
 * @param reasonAgainstNative reason why native code cannot be called; empty if it can
 * @param rdma devices and ports
 */
record Host(
        String name,
        Map<String, String> properties,
        Map<String, String> environment,
        HostFiles files,
        Place.Look places,
        Supplier<Optional<String>> reasonAgainstNative,
        RdmaSystem rdma) {

    /** Returns this machine. */
    static Host thisOne() {
        HostFiles files = new HostFiles(Path.of("/"));
        Map<String, String> properties = new HashMap<>();
        System.getProperties().stringPropertyNames().forEach(name -> properties.put(name, System.getProperty(name)));
        return new Host(
                nameOfThis(),
                properties,
                System.getenv(),
                files,
                Place::look,
                NativeAccess::reasonAgainst,
                new NativeRdma(files));
    }

    private static String nameOfThis() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }

    /** Returns a system property of the JVM; an empty string if it is not set. */
    String property(String key) {
        return properties.getOrDefault(key, "");
    }
}
