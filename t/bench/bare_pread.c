/* SPDX-License-Identifier: Apache-2.0 */
/* bare_pread.c - the peer: two threads that open, pread and close, and nothing else. */

/*
 *	bare_pread PASSES FILE...
 *
 * Each thread reads every second file, all of it in requests of 1 MiB, PASSES
 * times, into a buffer of its own that has been touched before. Prints the
 * bytes that both have read.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define THREADS 2
#define REQUEST_BYTES ((size_t)1 << 20)

struct reader {
	pthread_t thread;
	char **files;
	int count; /* of files */
	unsigned long passes;
	void *buf;
	uint64_t bytes;
	const char *failed; /* a file; NULL = none */
	int code;
};

/* 0 or -errno. A request that comes back short met the end of the file. */
static int read_file(struct reader *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t off = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = pread(fd, r->buf, REQUEST_BYTES, off);
		off += n > 0 ? n : 0;
	} while (n == (ssize_t)REQUEST_BYTES);
	r->bytes += (uint64_t)off;
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? (int)n : 0;
}

static void *read_all(void *arg)
{
	struct reader *r = arg;

	for (unsigned long pass = 0; pass < r->passes; pass++) {
		for (int i = 0; i < r->count && !r->failed; i += THREADS) {
			r->code = read_file(r, r->files[i]);
			if (r->code)
				r->failed = r->files[i];
		}
	}
	return NULL;
}

static int start(struct reader *r, char **files, int count, unsigned long passes)
{
	*r = (struct reader){ .files = files,
			      .count = count,
			      .passes = passes,
			      .buf = mem_buffer(REQUEST_BYTES, MEM_MMAP) };
	return r->buf ? pthread_create(&r->thread, NULL, read_all, r) : ENOMEM;
}

int main(int argc, char **argv)
{
	struct reader readers[THREADS];
	uint64_t bytes = 0;
	int rc;

	if (argc < 2 + THREADS) {
		fprintf(stderr, "usage: bare_pread PASSES FILE FILE...\n");
		return 2;
	}
	for (int i = 0; i < THREADS; i++) {
		rc = start(&readers[i], argv + 2 + i, argc - 2 - i, strtoul(argv[1], NULL, 10));
		if (rc) {
			fprintf(stderr, "bare_pread: %s\n", strerror(rc));
			return 1;
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(readers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		if (readers[i].failed) {
			fprintf(stderr, "bare_pread: %s: %s\n", readers[i].failed,
				strerror(-readers[i].code));
			return 1;
		}
		bytes += readers[i].bytes;
	}
	printf("%" PRIu64 "\n", bytes);
	return 0;
}
