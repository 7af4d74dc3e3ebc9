// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A host and a port of the command line: {@code host}, {@code host:port}, {@code :port}, {@code [IPv6]:port}, or an
 * IPv6 address alone.
 *
 * @param host name or address; empty for none
 * @param port 0 to 65,535
 */
record HostPort(String host, int port) {
    /** The one of ibv_rc_pingpong and perftest. */
    static final int DEFAULT_PORT = 18515;

    private static final int MAX_PORT = 65_535;

    private static HostPort parse(String text) {
        int colon = text.lastIndexOf(':');
        boolean bracketed = text.startsWith("[");
        boolean bareIpv6 = !bracketed && text.indexOf(':') != colon;
        if (colon < 0 || bareIpv6 || (bracketed && text.endsWith("]"))) {
            return new HostPort(unbracketed(text), DEFAULT_PORT);
        }
        try {
            int port = Integer.parseInt(text.substring(colon + 1));
            if (port >= 0 && port <= MAX_PORT) {
                return new HostPort(unbracketed(text.substring(0, colon)), port);
            }
        } catch (NumberFormatException e) {
            // the same answer
        }
        throw new TypeConversionException("'" + text + "': the port must be a number from 0 to " + MAX_PORT);
    }

    private static String unbracketed(String host) {
        return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
    }

    /** Reads one from the command line. */
    static final class Converter implements ITypeConverter<HostPort> {
        @Override
        public HostPort convert(String value) {
            if (value.isEmpty()) {
                throw new TypeConversionException("the address is missing");
            }
            return parse(value);
        }
    }

    /** Looks the host up. */
    InetSocketAddress resolve() throws IOException {
        try {
            return new InetSocketAddress(InetAddress.getByName(host), port);
        } catch (UnknownHostException e) {
            throw new IOException("no host is called " + host, e);
        }
    }

    /** Writes an address as messages show it. */
    static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }
}
