// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Attributes of a queue pair that is connected without the connection manager: this side's port, and the numbers that
 * the connection manager would have negotiated. Each side has its own; what the other must know is
 * {@link QueuePair#address}.
 *
 * <p>{@link #on} has the defaults of ibv_rc_pingpong, which the {@code with} methods change.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Source:</b> ibv_modify_qp(3), ibv_rc_pingpong(1).
 *
 * @param port of the device, counts from 1
 * @param lid the port's LID; 0 on Ethernet
 * @param gid the port's identifier that packets come from, also where replies go; null to route by LIDs alone, which
 *     InfiniBand can do inside a subnet
 * @param partitionKeyIndex row of {@link Context#partitionKeys}
 * @param mtuBytes most payload of one packet: 256, 512, 1024, 2048, 4096; the smaller of both sides' is used
 * @param serviceLevel InfiniBand service level, 0 to 15
 * @param trafficClass of the global route header, on RoCE v2 the IP header's type of service, 0 to 255
 * @param hopLimit routers that packets may pass, 0 to 255
 * @param firstSequence number of the first packet sent (PSN), 24 bits
 * @param ackTimeout exponent: a packet is sent again after 4.096 us x 2^ackTimeout without an answer, 1 to 31; 0 waits
 *     for ever
 * @param retries how often it is sent again before the pair goes into error, 0 to 7
 * @param rnrRetries how often a SEND is repeated while the peer has no receive posted, 0 to 6; 7 repeats without end
 * @param minRnrTimer how long the peer waits before it repeats one, a code: 1 is 0.01 ms, 12 is 0.64 ms, 14 is 1.28 ms,
 *     31 is 491.52 ms, 0 is 655.36 ms
 * @param initiatorDepth most READs and atomics that this side has outstanding; the smaller of this and what the peer
 *     serves is used
 * @param responderResources most of them that this side serves at once, at most {@link DeviceLimits#maxReadsAsTarget()}
 */
public record PairAttributes(
        int port,
        int lid,
        @Nullable GidEntry gid,
        int partitionKeyIndex,
        int mtuBytes,
        int serviceLevel,
        int trafficClass,
        int hopLimit,
        int firstSequence,
        int ackTimeout,
        int retries,
        int rnrRetries,
        int minRnrTimer,
        int initiatorDepth,
        int responderResources) {
    static final int MAX_24_BITS = 0xffffff;

    private static final int HOP_LIMIT = 64;
    /** 4.096 us x 2^14 = 67 ms: with 7 retries a dead peer is known after half a second. */
    private static final int ACK_TIMEOUT = 14;

    private static final int RETRIES = 7;
    private static final int MIN_RNR_TIMER = 12;

    /**
     * Checks the ranges.
     *
     * @param port any
     * @param lid any
     * @param gid any or null
     * @param partitionKeyIndex 0 to 65,535
     * @param mtuBytes 256, 512, 1024, 2048 or 4096
     * @param serviceLevel 0 to 15
     * @param trafficClass 0 to 255
     * @param hopLimit 0 to 255
     * @param firstSequence 24 bits
     * @param ackTimeout 0 to 31
     * @param retries 0 to 7
     * @param rnrRetries 0 to 7
     * @param minRnrTimer 0 to 31
     * @param initiatorDepth 0 to 255
     * @param responderResources 0 to 255
     * @throws IllegalArgumentException naming the attribute that is out of range
     */
    public PairAttributes {
        PortAttributes.mtu(mtuBytes);
        checkRange("partition key index", partitionKeyIndex, 65_535);
        checkRange("service level", serviceLevel, 15);
        checkRange("traffic class", trafficClass, 255);
        checkRange("hop limit", hopLimit, 255);
        checkRange("first sequence number", firstSequence, MAX_24_BITS);
        checkRange("acknowledgement timeout", ackTimeout, 31);
        checkRange("retries", retries, 7);
        checkRange("RNR retries", rnrRetries, 7);
        checkRange("RNR timer", minRnrTimer, 31);
        checkRange("initiator depth", initiatorDepth, 255);
        checkRange("responder resources", responderResources, 255);
    }

    private static void checkRange(String name, int value, int most) {
        if (value < 0 || value > most) {
            throw new IllegalArgumentException(name + " " + value + ": must be from 0 to " + most);
        }
    }

    /**
     * Attributes as ibv_rc_pingpong has them: the port's MTU, acknowledgement after 67 ms, 7 retries, RNR retries
     * without end, one READ at a time, a random first sequence number.
     *
     * @param port this side's port
     * @param gid one of its identifiers; null to route by LIDs alone
     * @return attributes to connect with, or to change
     * @throws IllegalArgumentException without an identifier on Ethernet, or with one of another port
     */
    public static PairAttributes on(PortAttributes port, @Nullable GidEntry gid) {
        if (gid == null && port.ethernet()) {
            throw new IllegalArgumentException(
                    "port " + port.number() + " is Ethernet, which routes by GIDs: give one");
        }
        if (gid != null && gid.port() != port.number()) {
            throw new IllegalArgumentException("the GID is of port " + gid.port() + ", not of " + port.number());
        }
        return new PairAttributes(
                port.number(),
                port.lid(),
                gid,
                0,
                port.activeMtuBytes(),
                0,
                0,
                HOP_LIMIT,
                ThreadLocalRandom.current().nextInt(MAX_24_BITS + 1),
                ACK_TIMEOUT,
                RETRIES,
                RETRIES,
                MIN_RNR_TIMER,
                1,
                1);
    }

    /**
     * {@return these attributes in another partition}
     *
     * @param index row of {@link Context#partitionKeys}
     */
    public PairAttributes withPartitionKeyIndex(int index) {
        return new PairAttributes(
                port,
                lid,
                gid,
                index,
                mtuBytes,
                serviceLevel,
                trafficClass,
                hopLimit,
                firstSequence,
                ackTimeout,
                retries,
                rnrRetries,
                minRnrTimer,
                initiatorDepth,
                responderResources);
    }

    /**
     * {@return these attributes with another way through the network}
     *
     * @param mtu {@link #mtuBytes}
     * @param level {@link #serviceLevel}
     * @param traffic {@link #trafficClass}
     * @param hops {@link #hopLimit}
     */
    public PairAttributes withPath(int mtu, int level, int traffic, int hops) {
        return new PairAttributes(
                port,
                lid,
                gid,
                partitionKeyIndex,
                mtu,
                level,
                traffic,
                hops,
                firstSequence,
                ackTimeout,
                retries,
                rnrRetries,
                minRnrTimer,
                initiatorDepth,
                responderResources);
    }

    /**
     * {@return these attributes with another first sequence number}
     *
     * @param sequence {@link #firstSequence}
     */
    public PairAttributes withFirstSequence(int sequence) {
        return new PairAttributes(
                port,
                lid,
                gid,
                partitionKeyIndex,
                mtuBytes,
                serviceLevel,
                trafficClass,
                hopLimit,
                sequence,
                ackTimeout,
                retries,
                rnrRetries,
                minRnrTimer,
                initiatorDepth,
                responderResources);
    }

    /**
     * {@return these attributes with other repetitions}
     *
     * @param timeout {@link #ackTimeout}
     * @param repeats {@link #retries}
     * @param rnrRepeats {@link #rnrRetries}
     * @param rnrTimer {@link #minRnrTimer}
     */
    public PairAttributes withRetries(int timeout, int repeats, int rnrRepeats, int rnrTimer) {
        return new PairAttributes(
                port,
                lid,
                gid,
                partitionKeyIndex,
                mtuBytes,
                serviceLevel,
                trafficClass,
                hopLimit,
                firstSequence,
                timeout,
                repeats,
                rnrRepeats,
                rnrTimer,
                initiatorDepth,
                responderResources);
    }

    /**
     * {@return these attributes with more READs and atomics at once}
     *
     * @param initiated {@link #initiatorDepth}
     * @param served {@link #responderResources}
     */
    public PairAttributes withDepths(int initiated, int served) {
        return new PairAttributes(
                port,
                lid,
                gid,
                partitionKeyIndex,
                mtuBytes,
                serviceLevel,
                trafficClass,
                hopLimit,
                firstSequence,
                ackTimeout,
                retries,
                rnrRetries,
                minRnrTimer,
                initiated,
                served);
    }
}
