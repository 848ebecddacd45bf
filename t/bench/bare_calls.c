/* SPDX-License-Identifier: Apache-2.0 */
/* bare_calls.c - reads from the page cache at a pace, or as fast as they go, and what CPU each of
 * them takes. */

/*
 *	bare_calls FILE BYTES CALLS		one thread, as fast as it goes
 *	bare_calls FILE BYTES CALLS RATE THREADS	so many a second, of all threads
 *
 * Prints the median over blocks of 20,000 calls of the CPU time of one, in ns,
 * and the calls that were made. FILE is of 1 MiB at least.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 20000
#define BLOCKS_MOST 4096
#define THREADS_MOST 16
#define SPREAD 256 /* requests until the first place comes again */

struct caller {
	pthread_t thread;
	int fd;
	size_t bytes;
	uint64_t calls, per_s;  /* per_s 0: as fast as it goes */
	double ns[BLOCKS_MOST]; /* of a call, by blocks */
	size_t blocks;
	uint64_t made;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static void *call(void *arg)
{
	struct caller *c = arg;
	uint64_t start = now_ns(CLOCK_MONOTONIC), cpu = 0;
	char *to = malloc(c->bytes);

	for (c->made = 0; to && c->made < c->calls; c->made++) {
		off_t at = (off_t)(c->made % SPREAD * c->bytes);

		if (c->made % BLOCK == 0)
			cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		/* A millisecond's worth at a time. */
		if (c->per_s && c->made % (c->per_s / 1000) == 0)
			sleep_until(start + c->made * 1000000000u / c->per_s);
		if (pread(c->fd, to, c->bytes, at) != (ssize_t)c->bytes)
			break;
		if (c->made % BLOCK == BLOCK - 1 && c->blocks < BLOCKS_MOST)
			c->ns[c->blocks++] =
				(double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / BLOCK;
	}
	free(to);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static struct caller callers[THREADS_MOST];
	uint64_t made = 0;

	if (argc != 4 && argc != 6)
		return 2;
	unsigned threads = argc == 6 ? (unsigned)atoi(argv[5]) : 1;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !threads || threads > THREADS_MOST) {
		fprintf(stderr, "bare_calls: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (unsigned i = 0; i < threads; i++) {
		struct caller *c = &callers[i];

		c->fd = fd;
		c->bytes = strtoul(argv[2], NULL, 10);
		c->calls = strtoull(argv[3], NULL, 10) / threads;
		if (argc == 6)
			c->per_s = strtoull(argv[4], NULL, 10) / threads;
		if (pthread_create(&c->thread, NULL, call, c))
			return 1;
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(callers[i].thread, NULL);
		made += callers[i].made;
	}
	struct caller *c = &callers[0];
	qsort(c->ns, c->blocks, sizeof(*c->ns), by_size);
	printf("%.1f %" PRIu64 "\n", c->blocks ? c->ns[c->blocks / 2] : 0, made);
	return 0;
}
