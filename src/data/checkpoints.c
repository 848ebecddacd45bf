/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.c - see checkpoints.h. */
#include "data/checkpoints.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "data/checkpoint_manifest.h"
#include "io/mount.h"

/* Names */

#define FINAL_NAME "global_epoch%" PRIu64 "_step%" PRIu64
#define PART_NAME "." FINAL_NAME ".part"

static void put_name(char to[CHECKPOINT_NAME_BYTES], uint64_t epoch,
		     uint64_t step, bool is_part)
{
	if (is_part)
		snprintf(to, CHECKPOINT_NAME_BYTES, PART_NAME, epoch, step);
	else
		snprintf(to, CHECKPOINT_NAME_BYTES, FINAL_NAME, epoch, step);
}

static const char *read_number(const char *s, const char *before, uint64_t *out)
{
	char *end;

	if (strncmp(s, before, strlen(before)) != 0)
		return NULL;
	s += strlen(before);
	errno = 0;
	*out = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && errno == 0 ? end : NULL;
}

/* Is it a name as we give them? With *is_part: before rename_commit. */
static bool read_name(const char *name, struct checkpoint *k, bool *is_part)
{
	char same[CHECKPOINT_NAME_BYTES];
	const char *s;

	*is_part = *name == '.';
	s = read_number(name + *is_part, "global_epoch", &k->epoch);
	s = s ? read_number(s, "_step", &k->step) : NULL;
	if (!s)
		return false;
	put_name(same, k->epoch, k->step, *is_part);
	if (strcmp(same, name) != 0)
		return false;
	memcpy(k->name, same, sizeof(same));
	return true;
}

/* The list */

static void add(struct checkpoints *c, const struct checkpoint *k)
{
	c->items = mem_realloc(c->items, (c->count + 1) * sizeof(*c->items));
	c->items[c->count++] = *k;
}

static void add_foreign(struct checkpoints *c, const struct checkpoint *k,
			const char *why)
{
	struct checkpoint_foreign *f;

	c->foreign = mem_realloc(c->foreign,
				 (c->foreign_count + 1) * sizeof(*c->foreign));
	f = &c->foreign[c->foreign_count++];
	memcpy(f->name, k->name, sizeof(f->name));
	snprintf(f->why, sizeof(f->why), "%s", why);
}

static int look_at(struct checkpoints *c, const char *name,
		   struct mlgen_err *err)
{
	char path[PATH_MAX], why[sizeof(c->foreign->why)];
	struct checkpoint k = { 0 };
	bool is_partial;
	int rc;

	if (!read_name(name, &k, &is_partial))
		return 0;
	rc = checkpoint_path(c, &k, NULL, path);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s/%s: %s", c->directory, name,
				  strerror(-rc));
	if (checkpoint_manifest_look(path, &k, why, sizeof(why)) < 0) {
		add_foreign(c, &k, why);
		return 0;
	}
	k.is_complete &= !is_partial;
	add(c, &k);
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct checkpoint *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

static int by_name(const void *a, const void *b)
{
	const struct checkpoint_foreign *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int look(struct checkpoints *c, struct mlgen_err *err)
{
	DIR *dir = opendir(c->directory);
	struct dirent *entry;
	int rc = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return mlgen_fail(err, -errno, "%s: %s", c->directory,
				  strerror(errno));
	while (rc == 0 && (errno = 0, entry = readdir(dir)))
		rc = look_at(c, entry->d_name, err);
	if (rc == 0 && errno)
		rc = mlgen_fail(err, -errno, "%s: %s", c->directory,
				strerror(errno));
	closedir(dir);
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_age);
	if (c->foreign_count)
		qsort(c->foreign, c->foreign_count, sizeof(*c->foreign),
		      by_name);
	return rc;
}

static uint64_t local_bytes(const struct shard_set *set)
{
	uint64_t bytes = 0;
	struct shard f;

	for (uint64_t i = 0; i < state_locals(set->state); i++) {
		uint64_t rank = state_local(set->state, i);
		uint64_t n = shard_files(set, rank);
		for (uint64_t file = 0; file < n; file++) {
			shard_init(&f, set, rank, file, 1);
			bytes += f.bytes;
		}
	}
	return bytes;
}

int checkpoints_open(struct checkpoints *c, const char *directory,
		     const struct shard_set *set, struct mlgen_err *err)
{
	const struct mlgen_engine *e = set->state->job->engine;

	*c = (struct checkpoints){ .directory = mem_strdup(directory),
				   .set = set,
				   .local_bytes = local_bytes(set) };
	c->touches_nothing = e && e->caps & MLGEN_CAP_NO_FILES;
	return c->touches_nothing ? 0 : look(c, err);
}

void checkpoints_fini(struct checkpoints *c)
{
	mem_free(c->directory);
	mem_free(c->items);
	mem_free(c->foreign);
	*c = (struct checkpoints){ 0 };
}

/* The next one */

/* Behind all that have such a name, be they ours or not. */
static uint64_t free_step(const struct checkpoints *c)
{
	uint64_t step = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].step > step)
			step = c->items[i].step;
	for (size_t i = 0; i < c->foreign_count; i++) {
		struct checkpoint k;
		bool part;
		if (read_name(c->foreign[i].name, &k, &part) && k.step > step)
			step = k.step;
	}
	return step + 1;
}

void checkpoints_next(const struct checkpoints *c, uint64_t epoch,
		      uint64_t step, struct checkpoint *next)
{
	*next = (struct checkpoint){ .number = 1,
				     .epoch = epoch,
				     .step = step,
				     .bytes = c->local_bytes };
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].number >= next->number)
			next->number = c->items[i].number + 1;
	if (step == UINT64_MAX)
		next->step = free_step(c);
	put_name(next->name, epoch, next->step,
		 c->set->state->job->rename_commit);
}

void checkpoint_final_name(const struct checkpoint *c,
			   char to[CHECKPOINT_NAME_BYTES])
{
	put_name(to, c->epoch, c->step, false);
}

const struct checkpoint *checkpoints_at(const struct checkpoints *c,
					uint64_t epoch, uint64_t step)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].epoch == epoch && c->items[i].step == step)
			return &c->items[i];
	return NULL;
}

int checkpoint_path(const struct checkpoints *c, const struct checkpoint *k,
		    const char *file, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s%s%s", c->directory, k->name,
			 file ? "/" : "", file ? file : "");

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void checkpoints_add(struct checkpoints *c, const struct checkpoint *k)
{
	add(c, k);
}

void checkpoints_remove(struct checkpoints *c, uint64_t number)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].number != number)
			c->items[n++] = c->items[i];
	c->count = n;
}

/* Restoring */

/* What keeps some of them from being restored, for a message. */
struct excuses {
	struct buf text;
	unsigned count;
};

#define EXCUSES_SHOWN 4

static void excuse(struct excuses *x, const char *name, const char *why)
{
	if (x->count++ < EXCUSES_SHOWN)
		buf_addf(&x->text, "; %s: %s", name, why);
}

static void end_excuses(struct excuses *x)
{
	if (x->count > EXCUSES_SHOWN)
		buf_addf(&x->text, "; %u more", x->count - EXCUSES_SHOWN);
}

static bool is_restorable(const struct checkpoints *c,
			  const struct checkpoint *k, struct excuses *x)
{
	char path[PATH_MAX], how[256];

	if (!k->is_complete) {
		excuse(x, k->name, "not complete");
		return false;
	}
	if (checkpoint_path(c, k, NULL, path) == 0 &&
	    checkpoint_manifest_fits(path, c->set, how, sizeof(how)))
		return true;
	excuse(x, k->name, how);
	return false;
}

static int too_few(const struct checkpoints *c, size_t count, size_t found,
		   const struct excuses *x, struct mlgen_err *err)
{
	const char *more = buf_str(&x->text);

	if (found == 0 && x->count == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: holds no checkpoint; save one with "
				  "phase=checkpoint, or another "
				  "checkpoint_directory=",
				  c->directory);
	if (found == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: none of its checkpoints can be restored "
				  "by this job%s",
				  c->directory, more);
	return mlgen_fail(err, -EINVAL,
			  "%s: %zu of %zu checkpoints can be restored; "
			  "checkpoints=%zu takes these, or save more%s",
			  c->directory, found, count, found, more);
}

/* As they would be called: nothing is read. */
static void imagine(size_t count, struct checkpoint *to)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = (struct checkpoint){ .number = i + 1,
					     .epoch = 1,
					     .step = i + 1,
					     .is_complete = true };
		put_name(to[i].name, 1, i + 1, false);
	}
}

int checkpoints_to_restore(const struct checkpoints *c, size_t count,
			   struct checkpoint *to, struct mlgen_err *err)
{
	struct excuses x = { 0 };
	size_t found = 0;
	int rc = 0;

	if (c->touches_nothing) {
		imagine(count, to);
		return 0;
	}
	for (size_t i = c->count; i-- && found < count;)
		if (is_restorable(c, &c->items[i], &x))
			to[count - ++found] = c->items[i];
	if (found < count) {
		for (size_t i = 0; i < c->foreign_count; i++)
			excuse(&x, c->foreign[i].name, c->foreign[i].why);
		end_excuses(&x);
		rc = too_few(c, count, found, &x, err);
	}
	buf_fini(&x.text);
	return rc;
}

/* Room */

/* The most bytes that they take at any time beyond what is there now: each is
 * whole before an old one goes. */
static double most_bytes(const struct checkpoints *c, uint64_t count,
			 uint64_t keep)
{
	double now = 0, most = 0;
	uint64_t there = 0;
	size_t old = 0;

	for (size_t i = 0; i < c->count; i++)
		there += c->items[i].is_complete;
	for (uint64_t i = 0; i < count; i++) {
		now += (double)c->local_bytes;
		most = now > most ? now : most;
		for (there++; keep && there > keep; there--) {
			while (old < c->count && !c->items[old].is_complete)
				old++;
			now -= old < c->count ? (double)c->items[old++].bytes
					      : (double)c->local_bytes;
		}
	}
	return most;
}

int checkpoints_check_room(const struct checkpoints *c, uint64_t count,
			   uint64_t keep, struct mlgen_err *err)
{
	char need[UNITS_TEXT_BYTES], room[UNITS_TEXT_BYTES],
		lack[UNITS_TEXT_BYTES];
	double most = most_bytes(c, count, keep);
	struct mount m;
	int rc;

	if (c->touches_nothing)
		return 0;
	rc = mount_read(&m, c->directory, err);
	/* A filesystem that cannot tell says that it has none at all. */
	if (rc < 0 || m.total_bytes == 0 || most <= (double)m.free_bytes)
		return rc;
	return mlgen_fail(
		err, -ENOSPC,
		"%s: %" PRIu64 " checkpoints take up to %s, and %s are free: "
		"%s too few; fewer checkpoints, checkpoint_keep=1, --scale=, "
		"or another checkpoint_directory=",
		c->directory, count, units_human_bytes(need, most),
		units_human_bytes(room, (double)m.free_bytes),
		units_human_bytes(lack, most - (double)m.free_bytes));
}
