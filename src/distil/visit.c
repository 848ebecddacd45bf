/* SPDX-License-Identifier: Apache-2.0 */
/* visit.c - the visits of a trace: the last of them in memory, the rest in a file without a
 * name. */
#include "distil/visit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"

/* Visits that are written, or read, in one go. */
enum { BLOCK = 1 << 12 };

struct visits {
	struct visit *window; /* of numbers from `written`, by number % size */
	uint64_t count, written;
	const char *folder;
	int fd;
	unsigned signals; /* that were there before it was */
};

struct visits *visits_new(void)
{
	struct visits *v = mem_zalloc(sizeof(*v));

	v->fd = -1;
	v->signals = signals_taken();
	return v;
}

void visits_free(struct visits *v)
{
	if (!v)
		return;
	if (v->fd >= 0)
		close(v->fd);
	mem_free(v->window);
	mem_free(v);
}

uint64_t visits_count(const struct visits *v)
{
	return v->count;
}

static int visits_fail(const struct visits *v, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error,
			  "%s: what a trace's threads do with files is kept in a temporary file "
			  "there: %s; another folder with TMPDIR=",
			  v->folder, strerror(error));
}

static int write_out(struct visits *v, const struct visit *from, uint64_t count, uint64_t number,
		     struct mlgen_err *err)
{
	int rc = writeall_at(v->fd, from, count * sizeof(*from), number * sizeof(*from));

	return rc < 0 ? visits_fail(v, -rc, err) : 0;
}

/* The first block of the window goes, which makes room for as many. */
static int move_out(struct visits *v, struct mlgen_err *err)
{
	int rc;

	if (v->fd < 0) {
		v->folder = unnamed_folder(NULL);
		v->fd = unnamed_open(v->folder);
		if (v->fd < 0)
			return visits_fail(v, -v->fd, err);
	}
	rc = write_out(v, &v->window[v->written % VISITS_WINDOW], BLOCK, v->written, err);
	if (rc == 0)
		v->written += BLOCK;
	return rc;
}

int visits_add(struct visits *v, const struct visit *x, uint64_t *number, struct mlgen_err *err)
{
	int rc = 0;

	if (!v->window)
		v->window = mem_array(VISITS_WINDOW, sizeof(*v->window));
	if (v->count - v->written == VISITS_WINDOW)
		rc = move_out(v, err);
	if (rc < 0)
		return rc;
	v->window[v->count % VISITS_WINDOW] = *x;
	*number = v->count++;
	return 0;
}

struct visit *visits_at(struct visits *v, uint64_t number)
{
	if (number < v->written || number >= v->count)
		return NULL;
	return &v->window[number % VISITS_WINDOW];
}

static int read_in(const struct visits *v, struct visit *to, uint64_t count, uint64_t number,
		   struct mlgen_err *err)
{
	size_t bytes = count * sizeof(*to);
	off_t at = (off_t)(number * sizeof(*to));
	char *into = (char *)to;

	while (bytes) {
		ssize_t n = pread(v->fd, into, bytes, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return visits_fail(v, n ? errno : EIO, err);
		into += n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* The next block; blocks of the file and of the window begin at multiples. */
static int fill(const struct visits *v, struct visits_cursor *c, struct mlgen_err *err)
{
	uint64_t count = u64_min(BLOCK, v->count - c->next);
	int rc = 0;

	if (signals_taken() != v->signals)
		return mlgen_fail(err, -EINTR, "interrupted");
	if (!c->block)
		c->block = mem_array(BLOCK, sizeof(*c->block));
	if (c->next < v->written)
		rc = read_in(v, c->block, count, c->next, err);
	else if (count)
		memcpy(c->block, &v->window[c->next % VISITS_WINDOW], count * sizeof(*c->block));
	c->at = 0;
	c->count = (uint32_t)count;
	return rc;
}

int visits_next(const struct visits *v, struct visits_cursor *c, const struct visit **x,
		struct mlgen_err *err)
{
	if (c->at == c->count) {
		int rc = c->next < v->count ? fill(v, c, err) : 0;

		if (rc < 0 || c->next == v->count) {
			visits_stop(c);
			return rc;
		}
	}
	*x = &c->block[c->at++];
	c->next++;
	return 1;
}

void visits_stop(struct visits_cursor *c)
{
	mem_free(c->block);
	*c = (struct visits_cursor){ 0 };
}

int visits_each(struct visits *v, visits_change *change, void *arg, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	int rc = 0;

	while (rc == 0 && c.next < v->count) {
		uint64_t first = c.next;

		rc = fill(v, &c, err);
		for (uint32_t i = 0; rc == 0 && i < c.count; i++)
			change(arg, &c.block[i]);
		c.next += c.count;
		if (rc == 0 && first < v->written)
			rc = write_out(v, c.block, c.count, first, err);
		else if (rc == 0)
			memcpy(&v->window[first % VISITS_WINDOW], c.block,
			       c.count * sizeof(*c.block));
	}
	visits_stop(&c);
	return rc;
}
