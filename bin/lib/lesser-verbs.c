// SPDX-License-Identifier: Apache-2.0
// A libibverbs whose devices can do less than they can: RXE_LACKS names what they lack, apart by commas, of srq, odp and
// atomics. Stands before the real library, which rxe-lesser.sh gives another name, and passes everything else on to it.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#undef ibv_reg_mr

static int lacks(const char *what)
{
	const char *lacking = getenv("RXE_LACKS");

	return lacking && strstr(lacking, what);
}

static void *real(const char *function)
{
	void *library = dlopen(REAL_LIBRARY, RTLD_LAZY);
	void *found = library ? dlsym(library, function) : NULL;

	if (!found) {
		fprintf(stderr, "lesser-verbs: %s\n", dlerror());
		abort();
	}
	return found;
}

static void take_away(struct ibv_device_attr *attr)
{
	if (lacks("srq"))
		attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	if (lacks("atomics"))
		attr->atomic_cap = IBV_ATOMIC_NONE;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int (*query)(struct ibv_context *, struct ibv_device_attr *) = real("ibv_query_device");
	int error = query(context, attr);

	if (!error)
		take_away(attr);
	return error;
}

// One kind of device in a process.
static int (*real_query_ex)(struct ibv_context *, const struct ibv_query_device_ex_input *, struct ibv_device_attr_ex *,
			    size_t);

static int query_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr, size_t size)
{
	int error = real_query_ex(context, input, attr, size);

	if (error)
		return error;
	take_away(&attr->orig_attr);
	if (lacks("odp") && size >= offsetof(struct ibv_device_attr_ex, odp_caps) + sizeof(attr->odp_caps))
		memset(&attr->odp_caps, 0, sizeof(attr->odp_caps));
	if (lacks("atomics") &&
	    size >= offsetof(struct ibv_device_attr_ex, pci_atomic_caps) + sizeof(attr->pci_atomic_caps))
		memset(&attr->pci_atomic_caps, 0, sizeof(attr->pci_atomic_caps));
	return 0;
}

// Called by librdmacm, too. What is static inline in verbs.h asks through the pointers of a context.
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*open)(struct ibv_device *) = real("ibv_open_device");
	struct ibv_context *context = open(device);
	struct verbs_context *extended = context ? verbs_get_ctx(context) : NULL;

	if (extended && extended->query_device_ex && extended->query_device_ex != query_ex) {
		real_query_ex = extended->query_device_ex;
		extended->query_device_ex = query_ex;
	}
	return context;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *(*create)(struct ibv_pd *, struct ibv_srq_init_attr *) = real("ibv_create_srq");

	if (lacks("srq")) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return create(pd, attr);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct ibv_mr *(*registered)(struct ibv_pd *, void *, size_t, int) = real("ibv_reg_mr");

	if ((lacks("odp") && access & IBV_ACCESS_ON_DEMAND) || (lacks("atomics") && access & IBV_ACCESS_REMOTE_ATOMIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return registered(pd, address, length, access);
}
