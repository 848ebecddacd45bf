/* SPDX-License-Identifier: Apache-2.0 */
/* bare_create.c - eight bare threads: open, write, fsync, close, one file after the other. */

/*
 *	bare_create DIRECTORY FILES BYTES
 *
 * What preparation is measured beside: the same calls, nothing else.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 8

static const char *directory;
static unsigned long files;
static size_t bytes;
static _Atomic unsigned long next;
static _Atomic int failed;

static int create(const char *path, const char *content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	int rc = write(fd, content, bytes) == (ssize_t)bytes ? fsync(fd) : -1;
	return close(fd) == 0 ? rc : -1;
}

static void *work(void *arg)
{
	char *content = malloc(bytes), path[4096];
	unsigned long i;

	(void)arg;
	if (!content)
		return NULL;
	memset(content, 'x', bytes);
	while ((i = atomic_fetch_add(&next, 1)) < files) {
		snprintf(path, sizeof(path), "%s/%lu", directory, i);
		if (create(path, content) < 0)
			atomic_store(&failed, 1);
	}
	free(content);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 4)
		return 2;
	directory = argv[1];
	files = strtoul(argv[2], NULL, 10);
	bytes = strtoul(argv[3], NULL, 10);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&failed);
}
