/* SPDX-License-Identifier: Apache-2.0 */
/* replay_spool.c - see replay_spool.h. */
#include "work/plain/replay_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/unnamed.h"
#include "base/vec.h"
#include "base/writeall.h"

#define NOWHERE UINT64_MAX

enum { CHUNK_OPS = (REPLAY_CHUNK_BYTES - 16) / sizeof(struct replay_op) };

struct chunk {
	uint64_t next; /* where the next one lies; NOWHERE = there is none */
	uint64_t count;
	struct replay_op ops[CHUNK_OPS];
};

/* Of a worker, while it is written. */
struct spool_lane {
	struct chunk *chunk;
	uint64_t first, at; /* of its first chunk, and of this one */
};

struct replay_spool {
	int fd;
	const char *folder;
	VEC(struct spool_lane) lanes;
	uint64_t end; /* of the file */
};

int replay_spool_new(struct replay_spool **out, const char *beside, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(beside);
	int fd = unnamed_open(folder);
	struct replay_spool *s;

	if (fd < 0)
		return mlgen_fail(err, fd, "%s: a temporary file: %s; TMPDIR names another folder",
				  folder, strerror(-fd));
	s = mem_zalloc(sizeof(*s));
	s->fd = fd;
	s->folder = folder;
	*out = s;
	return 0;
}

void replay_spool_free(struct replay_spool *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->lanes.count; i++)
		mem_free(s->lanes.at[i].chunk);
	vec_fini(&s->lanes);
	close(s->fd);
	mem_free(s);
}

static uint64_t take_place(struct replay_spool *s)
{
	uint64_t at = s->end;

	s->end += sizeof(struct chunk);
	return at;
}

static struct spool_lane *lane_of(struct replay_spool *s, unsigned worker)
{
	while (s->lanes.count <= worker)
		vec_push(&s->lanes, (struct spool_lane){ .first = NOWHERE, .at = NOWHERE });
	struct spool_lane *l = &s->lanes.at[worker];

	if (l->at == NOWHERE) {
		l->chunk = mem_zalloc(sizeof(*l->chunk));
		l->first = l->at = take_place(s);
	}
	return l;
}

static int write_chunk(const struct replay_spool *s, struct spool_lane *l, uint64_t next,
		       struct mlgen_err *err)
{
	int rc;

	l->chunk->next = next;
	rc = writeall_at(s->fd, l->chunk, sizeof(*l->chunk), l->at);
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s: the operations of the trace, 48 bytes each: %s; TMPDIR "
				  "names another folder",
				  s->folder, strerror(-rc));
	l->chunk->count = 0;
	l->at = next;
	return 0;
}

int replay_spool_add(struct replay_spool *s, unsigned worker, const struct replay_op *op,
		     struct mlgen_err *err)
{
	struct spool_lane *l = lane_of(s, worker);
	int rc = 0;

	if (l->chunk->count == CHUNK_OPS)
		rc = write_chunk(s, l, take_place(s), err);
	l->chunk->ops[l->chunk->count++] = *op;
	return rc;
}

int replay_spool_end(struct replay_spool *s, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->lanes.count && rc == 0; i++) {
		struct spool_lane *l = &s->lanes.at[i];

		if (l->at == NOWHERE)
			continue;
		rc = write_chunk(s, l, NOWHERE, err);
		mem_free(l->chunk);
		l->chunk = NULL;
	}
	return rc;
}

/* ---- reading ---- */

struct replay_cursor {
	const struct replay_spool *spool;
	uint64_t next, at; /* chunk to come; operation in this one */
	struct chunk chunk;
};

struct replay_cursor *replay_cursor_new(const struct replay_ops *o, unsigned worker)
{
	const struct replay_spool *s = o->spool;
	struct replay_cursor *c = mem_zalloc(sizeof(*c));

	c->spool = s;
	c->next = worker < s->lanes.count ? s->lanes.at[worker].first : NOWHERE;
	return c;
}

void replay_cursor_free(struct replay_cursor *c)
{
	mem_free(c);
}

static int read_chunk(struct replay_cursor *c, struct mlgen_err *err)
{
	char *to = (char *)&c->chunk;
	size_t done = 0;

	while (done < sizeof(c->chunk)) {
		ssize_t n = pread(c->spool->fd, to + done, sizeof(c->chunk) - done,
				  (off_t)(c->next + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return mlgen_fail(err, n ? -errno : -EIO,
					  "%s: the temporary file of the trace's operations: %s",
					  c->spool->folder, strerror(n ? errno : EIO));
		done += (size_t)n;
	}
	c->next = c->chunk.next;
	c->at = 0;
	/* It is there when it is needed, and what was read makes room. */
	if (c->next != NOWHERE)
		posix_fadvise(c->spool->fd, (off_t)c->next, sizeof(struct chunk),
			      POSIX_FADV_WILLNEED);
	return 0;
}

int replay_cursor_next(struct replay_cursor *c, const struct replay_op **op, struct mlgen_err *err)
{
	if (c->at == c->chunk.count) {
		int rc = c->next == NOWHERE ? 0 : read_chunk(c, err);

		if (rc < 0)
			return rc;
		if (c->at == c->chunk.count)
			return 0;
	}
	*op = &c->chunk.ops[c->at++];
	return 1;
}
