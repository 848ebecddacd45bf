/* SPDX-License-Identifier: Apache-2.0 */
/* bare_random.c - the peer: one thread that preads 4 KiB at random, and nothing else. */

/*
 *	bare_random SECONDS FILE
 *
 * For so long, blocks of FILE at random, into one buffer that has been touched
 * before. Prints requests per second, and how many there were.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define BLOCK_BYTES 4096
#define BETWEEN_CLOCKS 4096 /* requests */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Marsaglia's xorshift of 64 bits, shifts 13, 7, 17. */
static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* A short read here is a file that shrinks. */
static int read_some(int fd, void *buf, uint64_t blocks, uint64_t *seed)
{
	for (unsigned i = 0; i < BETWEEN_CLOCKS; i++) {
		uint64_t block = (next(seed) >> 32) * blocks >> 32;
		ssize_t n = pread(fd, buf, BLOCK_BYTES, (off_t)(block * BLOCK_BYTES));

		if (n != BLOCK_BYTES)
			return n < 0 ? -errno : -ENODATA;
	}
	return 0;
}

static int read_for(double seconds, int fd, uint64_t blocks)
{
	void *buf = mem_buffer(BLOCK_BYTES, MEM_MMAP);
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15), requests = 0;
	double start = now(), end = start;
	int rc = buf ? 0 : -ENOMEM;

	while (rc == 0 && end - start < seconds) {
		rc = read_some(fd, buf, blocks, &seed);
		requests += BETWEEN_CLOCKS;
		end = now();
	}
	if (rc == 0)
		printf("%.0f %" PRIu64 "\n", (double)requests / (end - start), requests);
	return rc;
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd, rc;

	if (argc != 3) {
		fprintf(stderr, "usage: bare_random SECONDS FILE\n");
		return 2;
	}
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	rc = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && st.st_size / BLOCK_BYTES == 0)
		rc = -ENODATA;
	if (rc == 0)
		rc = read_for(strtod(argv[1], NULL), fd, (uint64_t)st.st_size / BLOCK_BYTES);
	if (rc < 0)
		fprintf(stderr, "bare_random: %s: %s\n", argv[2], strerror(-rc));
	return rc < 0;
}
