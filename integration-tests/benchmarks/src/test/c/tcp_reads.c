// SPDX-License-Identifier: Apache-2.0
// One-sided reads over TCP as a C program does them: the yardstick of bin/bench fabric --tcp.
//
//   tcp_reads BYTES DEPTH COUNT
//
// A child serves, the parent reads COUNT times BYTES with DEPTH requests outstanding, over one connection on the loopback
// address. A request is its number and the bytes wanted, a response a header of 16 bytes and the bytes. Prints nanoseconds of
// the reads, and of the CPU time of both: "elapsed reader owner".
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct request { uint64_t id, bytes; };
struct header { uint64_t id, bytes; };

static void die(const char *what) {
	perror(what);
	exit(1);
}

static void receive(int fd, void *to, size_t bytes) {
	for (size_t done = 0; done < bytes;) {
		ssize_t n = read(fd, (char *)to + done, bytes - done);
		if (n <= 0)
			die("read");
		done += n;
	}
}

static void serve(int fd, char *memory, long count) {
	for (long i = 0; i < count; i++) {
		struct request request;
		receive(fd, &request, sizeof request);
		struct header header = {request.id, request.bytes};
		struct iovec vectors[2] = {{&header, sizeof header}, {memory, request.bytes}};
		int first = 0;
		for (size_t left = sizeof header + request.bytes; left > 0;) {
			ssize_t n = writev(fd, vectors + first, 2 - first);
			if (n < 0)
				die("writev");
			left -= n;
			for (; first < 2 && (size_t)n >= vectors[first].iov_len; first++)
				n -= vectors[first].iov_len;
			if (first < 2) {
				vectors[first].iov_base = (char *)vectors[first].iov_base + n;
				vectors[first].iov_len -= n;
			}
		}
	}
}

static void ask(int fd, uint64_t id, uint64_t bytes) {
	struct request request = {id, bytes};
	if (write(fd, &request, sizeof request) != sizeof request)
		die("write");
}

static int64_t nanos(struct timeval tv) { return tv.tv_sec * 1000000000LL + tv.tv_usec * 1000LL; }

static int64_t cpu(int who) {
	struct rusage usage;
	getrusage(who, &usage);
	return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}

int main(int argc, char **argv) {
	if (argc != 4) {
		fprintf(stderr, "usage: tcp_reads BYTES DEPTH COUNT\n");
		return 2;
	}
	uint64_t bytes = strtoull(argv[1], NULL, 10);
	long depth = atol(argv[2]), count = atol(argv[3]);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		die("listen");
	char *memory = malloc(bytes * (depth + 1));
	memset(memory, 1, bytes * (depth + 1));
	pid_t child = fork();
	if (child == 0) {
		int fd = accept(listener, NULL, NULL);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		serve(fd, memory, count);
		exit(0);
	}
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&address, length))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	struct timespec from, to;
	int64_t before = cpu(RUSAGE_SELF);
	clock_gettime(CLOCK_MONOTONIC, &from);
	long asked = 0;
	for (; asked < depth && asked < count; asked++)
		ask(fd, asked, bytes);
	for (long i = 0; i < count; i++) {
		struct header header;
		receive(fd, &header, sizeof header);
		receive(fd, memory + bytes * (i % depth), header.bytes);
		if (asked < count)
			ask(fd, asked++, bytes);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	int64_t reader = cpu(RUSAGE_SELF) - before;
	waitpid(child, NULL, 0);
	printf("%lld %lld %lld\n", (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec, (long long)reader,
	       (long long)cpu(RUSAGE_CHILDREN));
	return 0;
}
