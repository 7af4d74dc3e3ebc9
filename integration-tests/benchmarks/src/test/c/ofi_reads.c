// SPDX-License-Identifier: Apache-2.0
// One-sided reads through libfabric as a C program does them: the yardstick of bin/bench fabric --ofi, in place of fi_rma_bw of
// fabtests, which Debian does not have.
//
//   ofi_reads PROVIDER ADDRESS BYTES DEPTH COUNT
//
// A child serves, the parent reads COUNT times BYTES with DEPTH reads outstanding. ADDRESS is the local one of both, - for the
// provider's first. Both poll without a pause. Prints nanoseconds of the reads.
#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLLED = 64 };

// What the child tells the parent.
struct owner {
	char name[512];
	size_t length;
	uint64_t base, key;
};

struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	char *memory;
};

static void check(const char *call, long result) {
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", call, fi_strerror(-result));
		exit(1);
	}
}

static void open_side(struct side *side, const char *provider, const char *address, size_t bytes, uint64_t access) {
	struct fi_info *hints = fi_allocinfo();
	hints->caps = FI_MSG | FI_RMA | FI_READ | FI_REMOTE_READ | FI_SEND | FI_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = strdup(provider);
	const char *node = strcmp(address, "-") ? address : NULL;
	check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), node, NULL, node ? FI_SOURCE : 0, hints, &side->info));
	fi_freeinfo(hints);
	struct fi_av_attr av = {.type = FI_AV_UNSPEC};
	struct fi_cq_attr cq = {.size = 1024, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
	check("fi_fabric", fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	check("fi_domain", fi_domain(side->fabric, side->info, &side->domain, NULL));
	check("fi_av_open", fi_av_open(side->domain, &av, &side->av, NULL));
	check("fi_cq_open", fi_cq_open(side->domain, &cq, &side->cq, NULL));
	check("fi_endpoint", fi_endpoint(side->domain, side->info, &side->ep, NULL));
	check("fi_ep_bind", fi_ep_bind(side->ep, &side->av->fid, 0));
	check("fi_ep_bind", fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_enable", fi_enable(side->ep));
	side->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(side->memory, 1, bytes);
	check("fi_mr_reg", fi_mr_reg(side->domain, side->memory, bytes, access, 0, 7, 0, &side->mr, NULL));
	if (side->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		check("fi_mr_bind", fi_mr_bind(side->mr, &side->ep->fid, 0));
		check("fi_mr_enable", fi_mr_enable(side->mr));
	}
}

// Returns how many operations have ended, at most POLLED, with their contexts; 0 if none.
static long poll_side(struct side *side, struct fi_cq_entry *entries) {
	long n = fi_cq_read(side->cq, entries, POLLED);
	if (n == -FI_EAVAIL) {
		struct fi_cq_err_entry error = {0};
		fi_cq_readerr(side->cq, &error, 0);
		check("read", -error.err);
	}
	if (n == -FI_EAGAIN)
		return 0;
	check("fi_cq_read", n);
	return n;
}

// Serves until the parent closes its end.
static void serve(const char *provider, const char *address, size_t bytes, int out, int in) {
	struct side side;
	struct owner owner = {.length = sizeof owner.name};
	open_side(&side, provider, address, bytes, FI_REMOTE_READ);
	check("fi_getname", fi_getname(&side.ep->fid, owner.name, &owner.length));
	owner.base = side.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)side.memory : 0;
	owner.key = fi_mr_key(side.mr);
	if (write(out, &owner, sizeof owner) != sizeof owner)
		exit(1);
	fcntl(in, F_SETFL, O_NONBLOCK);
	char byte;
	struct fi_cq_entry entries[POLLED];
	for (long i = 0; i % 1000 || read(in, &byte, 1) < 0; i++)
		poll_side(&side, entries);
	exit(0);
}

int main(int argc, char **argv) {
	if (argc != 6) {
		fprintf(stderr, "usage: ofi_reads PROVIDER ADDRESS BYTES DEPTH COUNT\n");
		return 2;
	}
	size_t bytes = strtoull(argv[3], NULL, 10);
	long depth = atol(argv[4]), count = atol(argv[5]);
	int from_child[2], to_child[2];
	if (pipe(from_child) || pipe(to_child))
		return 1;
	if (fork() == 0) {
		close(to_child[1]);
		serve(argv[1], argv[2], bytes, from_child[1], to_child[0]);
	}
	close(from_child[1]);
	struct owner owner;
	if (read(from_child[0], &owner, sizeof owner) != sizeof owner)
		return 1;
	struct side side;
	open_side(&side, argv[1], argv[2], bytes * depth, FI_READ);
	if (bytes > side.info->ep_attr->max_msg_size)
		check("a read of that length", -FI_EMSGSIZE);
	fi_addr_t peer;
	if (fi_av_insert(side.av, owner.name, 1, &peer, 0, NULL) != 1)
		check("fi_av_insert", -FI_EINVAL);
	struct fi_context2 *contexts = calloc(depth, sizeof *contexts);
	// Free targets, the one that was used longest ago first, as in ours.
	long *slots = calloc(depth, sizeof *slots), oldest = 0, free_slots = depth;
	for (long i = 0; i < depth; i++)
		slots[i] = i;
	struct fi_cq_entry entries[POLLED];
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	// The first read connects the two before the clock starts.
	for (long posted = -1, ended = -1; ended < count;) {
		while (free_slots > 0 && posted < (ended < 0 ? 0 : count)) {
			long slot = slots[oldest];
			long result = fi_read(side.ep, side.memory + slot * bytes, bytes, fi_mr_desc(side.mr), peer, owner.base,
			                      owner.key, &contexts[slot]);
			if (result == -FI_EAGAIN)
				break;
			check("fi_read", result);
			oldest = (oldest + 1) % depth;
			free_slots--;
			posted++;
		}
		long n = poll_side(&side, entries);
		for (long i = 0; i < n; i++, free_slots++)
			slots[(oldest + free_slots) % depth] = (struct fi_context2 *)entries[i].op_context - contexts;
		ended += n;
		if (n > 0 && ended == 0)
			clock_gettime(CLOCK_MONOTONIC, &from);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	close(to_child[1]);
	waitpid(-1, NULL, 0);
	printf("%lld\n", (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec);
	return 0;
}
