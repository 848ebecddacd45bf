/* SPDX-License-Identifier: Apache-2.0 */
/* capture_head.c - what a trace of other programs says before its first record. */
#include "tracing/capture/capture_head.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "io/host.h"
#include "io/mount.h"
#include "trace/trace.h"

/* Looks at two clocks take less. */
#define LOOK_NS 10000

/* Nearest when nothing ran in between. */
uint64_t capture_wall_minus_clock_ns(void)
{
	uint64_t best = 0, least = UINT64_MAX;

	for (int i = 0; i < 3 && least > LOOK_NS; i++) {
		uint64_t before = clock_monotonic_ns(), wall = clock_wall_ns();
		uint64_t took = clock_monotonic_ns() - before;

		if (took < least)
			best = wall - before - took / 2;
		least = u64_min(least, took);
	}
	return best;
}

static void put_fact(void *fill, const char *key, const char *value)
{
	if (has_text(value))
		trace_fill_fact(fill, key, value);
}

/* What a program prints is no data of its. */
static void put_output(struct trace_fill *fill, const char *key, int fd)
{
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	put_fact(fill, key, path);
}

static void put_mount(void *fill, const struct mount_listed *m)
{
	const uint64_t number[] = { (uint64_t)m->dev };
	struct buf text = { 0 };

	mount_put_text(&text, m->type, m->target, m->source);
	trace_fill_entry(fill, TRACE_MOUNT, number, ARRAY_LEN(number), buf_str(&text));
	buf_fini(&text);
}

static void put_all(struct trace_fill *fill, const struct capture_head *h)
{
	host_facts(h->host, put_fact, fill);
	put_fact(fill, "capture", h->backend);
	put_fact(fill, "user", h->user);
	put_output(fill, "stdout", STDOUT_FILENO);
	put_output(fill, "stderr", STDERR_FILENO);
	mount_each(put_mount, fill);
}

int capture_head_write(struct trace_writer **out, const struct capture_head *h,
		       struct mlgen_err *err)
{
	struct trace_head head = { .wall_ns = clock_wall_ns(), .clock_ns = clock_monotonic_ns() };
	struct trace_fill *fill;
	int rc;

	/* Without it, two that are read together would only seem to be of one run. */
	if (getrandom(head.run_id, sizeof(head.run_id), GRND_NONBLOCK) < 0)
		memset(head.run_id, 0, sizeof(head.run_id));
	if (ftruncate(h->fd, 0) < 0)
		return mlgen_fail(err, -errno, "capture=%s: %s", h->path, strerror(errno));
	rc = trace_writer_new(out, h->fd, h->path, &head, err);
	if (rc < 0)
		return rc;
	fill = trace_fill_over(*out);
	put_all(fill, h);
	trace_fill_abandon(fill);
	trace_writer_flush(*out);
	return 0;
}
