// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.registry.RegistryMessage.Announce;
import io.rdmashuffle.registry.RegistryMessage.AnnounceRefused;
import io.rdmashuffle.registry.RegistryMessage.CompressionReply;
import io.rdmashuffle.registry.RegistryMessage.CompressionRequest;
import io.rdmashuffle.registry.RegistryMessage.Inherit;
import io.rdmashuffle.registry.RegistryMessage.Inherited;
import io.rdmashuffle.registry.RegistryMessage.LeaveFiles;
import io.rdmashuffle.registry.RegistryMessage.Lookup;
import io.rdmashuffle.registry.RegistryMessage.LookupReply;
import io.rdmashuffle.registry.RegistryMessage.MembershipUpdate;
import io.rdmashuffle.registry.RegistryMessage.MoveToDisk;
import io.rdmashuffle.registry.RegistryMessage.Refused;
import io.rdmashuffle.registry.RegistryMessage.Relay;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.ReportRequest;
import io.rdmashuffle.registry.RegistryMessage.ShufflesGone;
import io.rdmashuffle.registry.RegistryMessage.ShufflesHeld;
import io.rdmashuffle.registry.RegistryMessage.Snapshot;
import io.rdmashuffle.registry.RegistryMessage.SnapshotBehind;
import io.rdmashuffle.registry.RegistryMessage.SnapshotRequest;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.registry.RegistryMessage.Welcome;
import java.util.List;

/**
 * Types of messages with their numbers on the wire. Within a version of the protocol a number stands for one type.
 *
 * <p><b>Threading:</b> immutable.
 */
enum MessageType {
    ANNOUNCE(1, Announce.class),
    ANNOUNCE_REFUSED(2, AnnounceRefused.class),
    SNAPSHOT(3, Snapshot.class),
    MEMBERSHIP_UPDATE(4, MembershipUpdate.class),
    LOOKUP(5, Lookup.class),
    LOOKUP_REPLY(6, LookupReply.class),
    REPORT_REQUEST(7, ReportRequest.class),
    REPORT(8, Report.class),
    SHUFFLES_HELD(9, ShufflesHeld.class),
    SHUFFLES_GONE(10, ShufflesGone.class),
    WELCOME(11, Welcome.class),
    SNAPSHOT_REQUEST(12, SnapshotRequest.class),
    SNAPSHOT_BEHIND(13, SnapshotBehind.class),
    RELAY(14, Relay.class),
    TAKEN(15, Taken.class),
    COMPRESSION_REQUEST(16, CompressionRequest.class),
    COMPRESSION_REPLY(17, CompressionReply.class),
    LEAVE_FILES(18, LeaveFiles.class),
    INHERIT(19, Inherit.class),
    INHERITED(20, Inherited.class),
    REFUSED(21, Refused.class),
    MOVE_TO_DISK(22, MoveToDisk.class);

    private static final List<MessageType> ALL = List.of(values());

    private final int number;
    private final Class<? extends RegistryMessage> messages;

    MessageType(int number, Class<? extends RegistryMessage> messages) {
        this.number = number;
        this.messages = messages;
    }

    static MessageType of(RegistryMessage message) {
        for (MessageType type : ALL) {
            if (type.messages == message.getClass()) {
                return type;
            }
        }
        throw new IllegalArgumentException("no number for a " + message.getClass());
    }

    /** Throws {@link RegistryCodecException} if no type has this number. */
    static MessageType numbered(int number) {
        for (MessageType type : ALL) {
            if (type.number == number) {
                return type;
            }
        }
        throw new RegistryCodecException("registry message of unknown type " + number);
    }

    /** Between 1 and 255. */
    int number() {
        return number;
    }

    /** As the class of its messages is called. */
    @Override
    public String toString() {
        return messages.getSimpleName();
    }
}
