// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.CallContext;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.Library;
import com.kenai.jffi.Type;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The functions of libfabric under their C names: exported ones, and functions in tables of its objects, which are
 * {@code static inline} in C.
 *
 * <p>A {@code void *context} in C is 0 here. Functions return 0 or a number of things, or a
 * negative error number. A function that a table does not have is {@code -FI_ENOSYS}.
 *
 * <p><b>Threading:</b> thread-safe, as far as the domain is ({@code FI_THREAD_SAFE}).
 *
 * <p><b>Ownership:</b> every address passed must be alive for the call, and an object until {@link #fi_close}: a
 * pointer read from freed memory crashes the JVM.
 *
 * <p><b>Source:</b> rdma/fabric.h, fi_domain.h, fi_endpoint.h, fi_rma.h, fi_cm.h and fi_eq.h of libfabric 1.17 and 2.1.
 */
@SuppressWarnings("MemberName") // C names verbatim
public final class LibFabric {
    private static final String SONAME = "libfabric.so.1";
    private static final Invoker INVOKER = Invoker.getInstance();
    private static final CallContext NOTHING = FunctionPointer.returningErrno();
    private static final CallContext POINTER = FunctionPointer.returningErrno(Type.POINTER);
    private static final CallContext NUMBER_TO_POINTER = FunctionPointer.settingErrno(Type.SINT);
    private static final CallContext POINTER_TO_POINTER = FunctionPointer.settingErrno(Type.POINTER);
    private static final CallContext GETINFO = FunctionPointer.returningErrno(
            Type.UINT32, Type.POINTER, Type.POINTER, Type.UINT64, Type.POINTER, Type.POINTER);
    private static final CallContext THREE_POINTERS =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.POINTER);
    private static final CallContext FOUR_POINTERS =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.POINTER, Type.POINTER);
    private static final CallContext POINTER_INT_POINTER =
            FunctionPointer.returningErrno(Type.POINTER, Type.SINT, Type.POINTER);
    private static final CallContext TWO_POINTERS_INT =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.SINT);
    private static final CallContext TWO_POINTERS_LONG =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.UINT64);
    private static final CallContext TWO_POINTERS_LONG_POINTER =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.UINT64, Type.POINTER);
    private static final CallContext INSERT = FunctionPointer.returningErrno(
            Type.POINTER, Type.POINTER, Type.ULONG, Type.POINTER, Type.UINT64, Type.POINTER);
    private static final CallContext REMOVE =
            FunctionPointer.returningErrno(Type.POINTER, Type.POINTER, Type.ULONG, Type.UINT64);
    private static final CallContext CQ_STRERROR =
            FunctionPointer.settingErrno(Type.POINTER, Type.SINT, Type.POINTER, Type.POINTER, Type.ULONG);

    private static final int ENOSYS = -Errno.ENOSYS.number();

    private final long version;
    private final long getinfo;
    private final long freeinfo;
    private final long dupinfo;
    private final long fabric;
    private final long strerror;

    private LibFabric(Library library) {
        version = symbol(library, "fi_version");
        getinfo = symbol(library, "fi_getinfo");
        freeinfo = symbol(library, "fi_freeinfo");
        dupinfo = symbol(library, "fi_dupinfo");
        fabric = symbol(library, "fi_fabric");
        strerror = symbol(library, "fi_strerror");
    }

    private static long symbol(Library library, String name) {
        long address = library.getSymbolAddress(name);
        if (address == 0) {
            throw new UnsatisfiedLinkError(SONAME + " lacks " + name + ": " + Library.getLastError());
        }
        return address;
    }

    /**
     * Loads the library, once per process; it stays loaded. Constructors of libraries that it needs run now.
     *
     * @throws UnsatisfiedLinkError if it is not there, or lacks a function
     */
    public static LibFabric load() {
        return Holder.get();
    }

    /** Returns the version of the API, {@code major << 16 | minor}. */
    public int fi_version() {
        return INVOKER.invokeI0(NOTHING, version);
    }

    /** Lists what matches the hints, at the address that the result is stored at; initializes providers first. */
    public int fi_getinfo(int apiVersion, long node, long service, long flags, long hints, long info) {
        return (int) INVOKER.invokeN6(GETINFO, getinfo, apiVersion, node, service, flags, hints, info);
    }

    /** Frees a list. */
    public void fi_freeinfo(long info) {
        INVOKER.invokeN1(POINTER, freeinfo, info);
    }

    /** Copies the first element of a list, with all that it points to; an empty one for 0. */
    public long fi_dupinfo(long info) {
        return INVOKER.invokeN1(POINTER_TO_POINTER, dupinfo, info);
    }

    /** Opens a fabric. */
    public int fi_fabric(long attr, long fabricPointer) {
        return (int) INVOKER.invokeN3(THREE_POINTERS, fabric, attr, fabricPointer, 0);
    }

    /** Returns the text of an error number, which is not negative. */
    public String fi_strerror(int error) {
        return text(INVOKER.invokeN1(NUMBER_TO_POINTER, strerror, error));
    }

    /** Closes an object. */
    public int fi_close(long fid) {
        long function = function(fid + LibFabricLayout.fid.ops, LibFabricLayout.fi_ops.close);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN1(POINTER, function, fid);
    }

    /** Binds an object to another. */
    public int fi_bind(long fid, long to, long flags) {
        long function = function(fid + LibFabricLayout.fid.ops, LibFabricLayout.fi_ops.bind);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(TWO_POINTERS_LONG, function, fid, to, flags);
    }

    /** Controls an object. */
    public int fi_control(long fid, int command, long argument) {
        long function = function(fid + LibFabricLayout.fid.ops, LibFabricLayout.fi_ops.control);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(POINTER_INT_POINTER, function, fid, command, argument);
    }

    /** Opens a domain. */
    public int fi_domain(long fabric, long info, long domainPointer) {
        long function = function(fabric + LibFabricLayout.fid_fabric.ops, LibFabricLayout.fi_ops_fabric.domain);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN4(FOUR_POINTERS, function, fabric, info, domainPointer, 0);
    }

    /** Returns 0 if a wait on the descriptors of the objects may begin; {@code -FI_EAGAIN} if there is work first. */
    public int fi_trywait(long fabric, long fids, int count) {
        long function = function(fabric + LibFabricLayout.fid_fabric.ops, LibFabricLayout.fi_ops_fabric.trywait);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(TWO_POINTERS_INT, function, fabric, fids, count);
    }

    /** Opens an address vector. */
    public int fi_av_open(long domain, long attr, long avPointer) {
        return open(domain, LibFabricLayout.fi_ops_domain.av_open, attr, avPointer);
    }

    /** Opens a completion queue. */
    public int fi_cq_open(long domain, long attr, long cqPointer) {
        return open(domain, LibFabricLayout.fi_ops_domain.cq_open, attr, cqPointer);
    }

    /** Opens an endpoint. */
    public int fi_endpoint(long domain, long info, long epPointer) {
        return open(domain, LibFabricLayout.fi_ops_domain.endpoint, info, epPointer);
    }

    private static int open(long domain, int offset, long what, long pointer) {
        long function = function(domain + LibFabricLayout.fid_domain.ops, offset);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN4(FOUR_POINTERS, function, domain, what, pointer, 0);
    }

    /** Registers memory. */
    public int fi_mr_regattr(long domain, long attr, long flags, long mrPointer) {
        long function = function(domain + LibFabricLayout.fid_domain.mr, LibFabricLayout.fi_ops_mr.regattr);
        return function == 0
                ? ENOSYS
                : (int) INVOKER.invokeN4(TWO_POINTERS_LONG_POINTER, function, domain, attr, flags, mrPointer);
    }

    /** Adds addresses, and stores what requests name them by; returns how many. */
    public int fi_av_insert(long av, long addresses, long count, long fiAddresses) {
        long function = function(av + LibFabricLayout.fid_av.ops, LibFabricLayout.fi_ops_av.insert);
        return function == 0
                ? ENOSYS
                : (int) INVOKER.invokeN6(INSERT, function, av, addresses, count, fiAddresses, 0, 0);
    }

    /** Removes addresses. */
    public int fi_av_remove(long av, long fiAddresses, long count) {
        long function = function(av + LibFabricLayout.fid_av.ops, LibFabricLayout.fi_ops_av.remove);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN4(REMOVE, function, av, fiAddresses, count, 0);
    }

    /** Stores the address of an endpoint, and its length. */
    public int fi_getname(long ep, long address, long length) {
        long function = function(ep + LibFabricLayout.fid_ep.cm, LibFabricLayout.fi_ops_cm.getname);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(THREE_POINTERS, function, ep, address, length);
    }

    /** Posts a buffer for a message. */
    public int fi_recvmsg(long ep, long msg, long flags) {
        return post(ep + LibFabricLayout.fid_ep.msg, LibFabricLayout.fi_ops_msg.recvmsg, ep, msg, flags);
    }

    /** Sends a message. */
    public int fi_sendmsg(long ep, long msg, long flags) {
        return post(ep + LibFabricLayout.fid_ep.msg, LibFabricLayout.fi_ops_msg.sendmsg, ep, msg, flags);
    }

    /** Reads remote memory. */
    public int fi_readmsg(long ep, long msg, long flags) {
        return post(ep + LibFabricLayout.fid_ep.rma, LibFabricLayout.fi_ops_rma.readmsg, ep, msg, flags);
    }

    private static int post(long table, int offset, long ep, long msg, long flags) {
        long function = function(table, offset);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(TWO_POINTERS_LONG, function, ep, msg, flags);
    }

    /** Stores completions; returns how many, {@code -FI_EAGAIN} for none, {@code -FI_EAVAIL} for a failure first. */
    public int fi_cq_read(long cq, long entries, long count) {
        long function = function(cq + LibFabricLayout.fid_cq.ops, LibFabricLayout.fi_ops_cq.read);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(TWO_POINTERS_LONG, function, cq, entries, count);
    }

    /** Stores a failed operation; returns 1. */
    public int fi_cq_readerr(long cq, long entry) {
        long function = function(cq + LibFabricLayout.fid_cq.ops, LibFabricLayout.fi_ops_cq.readerr);
        return function == 0 ? ENOSYS : (int) INVOKER.invokeN3(TWO_POINTERS_LONG, function, cq, entry, 0);
    }

    /** Returns the provider's text of a failure. */
    public String fi_cq_strerror(long cq, int providerErrno, long errorData) {
        long function = function(cq + LibFabricLayout.fid_cq.ops, LibFabricLayout.fi_ops_cq.strerror);
        return function == 0 ? "" : text(INVOKER.invokeN5(CQ_STRERROR, function, cq, providerErrno, errorData, 0, 0));
    }

    /** Returns the text at an address; empty for 0. */
    public static String text(long address) {
        if (address == 0) {
            return "";
        }
        int length = 0;
        while (RawMemory.getByte(address + length) != 0) {
            length++;
        }
        byte[] bytes = new byte[length];
        RawMemory.getBytes(address, bytes, 0, length);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Returns a function of the table that a pointer names; 0 if there is none. */
    private static long function(long tablePointer, int offset) {
        long table = RawMemory.getLong(tablePointer);
        if (table == 0 || Long.compareUnsigned(RawMemory.getLong(table + LibFabricLayout.fi_ops.size), offset) <= 0) {
            return 0;
        }
        return RawMemory.getLong(table + offset);
    }

    /** Binds on first use of {@link #load}; a failure is kept, since a class that failed to initialize has no cause. */
    private static final class Holder {
        private static final @Nullable LibFabric LIBRARY;
        private static final String FAILURE;

        static {
            LibFabric bound = null;
            String failure = "";
            Library library = Library.openLibrary(SONAME, Library.LAZY | Library.LOCAL);
            if (library == null) {
                failure = String.valueOf(Library.getLastError());
            } else {
                try {
                    bound = new LibFabric(library);
                } catch (UnsatisfiedLinkError e) {
                    failure = String.valueOf(e.getMessage());
                }
            }
            LIBRARY = bound;
            FAILURE = failure;
        }

        private static LibFabric get() {
            if (LIBRARY == null) {
                throw new UnsatisfiedLinkError("cannot load libfabric.so.1: " + FAILURE);
            }
            return LIBRARY;
        }

        private Holder() {}
    }
}
