/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.c - list the checkpoints in a directory, and choose which to make or restore. */
#include "data/state/state_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "io/devices.h"

/* The largest checkpoint number and step that a manifest, which is JSON, can hold. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)

/* ---- the list ---- */

/* Open a checkpoint's directory for reading, through links. Returns a descriptor, or -errno. */
static int folder_to_read(const struct checkpoints *c, const struct checkpoint *k)
{
	int fd = openat(c->dir_fd, k->name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void list_entry(struct checkpoints *c, const char *name)
{
	char why[sizeof(c->foreign->why)];
	struct checkpoint k = { 0 };

	if (!checkpoint_parse_name(name, &k) || k.epoch == CHECKPOINT_PROBE_EPOCH)
		return;
	int fd = folder_to_read(c, &k);
	if (fd < 0)
		snprintf(why, sizeof(why), "%s", strerror(-fd));
	else if (checkpoint_manifest_read(fd, c->set, &k, why, sizeof(why)) == 0)
		why[0] = '\0';
	if (fd >= 0)
		close(fd);
	k.is_complete &= k.place != CHECKPOINT_PART;
	if (!why[0]) {
		checkpoints_add(c, &k);
		return;
	}
	c->foreign = mem_realloc(c->foreign, (c->foreign_count + 1) * sizeof(*c->foreign));
	struct checkpoint_foreign *f = &c->foreign[c->foreign_count++];
	memcpy(f->name, k.name, sizeof(f->name));
	snprintf(f->why, sizeof(f->why), "%s", why);
}

COMPARE_BY3(by_age, struct checkpoint, number, epoch, step)

COMPARE_BY_TEXT(checkpoints_by_name, struct checkpoint_foreign, name)

const struct checkpoint *checkpoints_at(const struct checkpoints *c, uint64_t epoch, uint64_t step,
					enum checkpoint_place place)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].epoch == epoch && c->items[i].step == step &&
		    c->items[i].place == place)
			return &c->items[i];
	return NULL;
}

const struct checkpoint *checkpoints_replaced(const struct checkpoints *c, uint64_t epoch,
					      uint64_t step)
{
	const struct checkpoint *k = checkpoints_at(c, epoch, step, CHECKPOINT_FINAL);

	return k && k->is_complete ? k : NULL;
}

static int directory_fail(const struct checkpoints *c, int rc, struct mlgen_err *err)
{
	char obstacle[DIRS_WAY_BYTES];

	return mlgen_fail(err, rc, "%s: %s%s", c->directory, strerror(-rc),
			  dirs_explain_failure(obstacle, c->directory, rc));
}

int checkpoints_open_directory(struct checkpoints *c, struct mlgen_err *err)
{
	c->dir_fd = below_open_root(c->directory);
	c->is_held = c->dir_fd >= 0;
	return c->is_held ? 0 : directory_fail(c, c->dir_fd, err);
}

static int list_directory(struct checkpoints *c, struct mlgen_err *err)
{
	DIR *dir = opendir(c->directory);
	struct dirent *entry;
	int rc = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return directory_fail(c, -errno, err);
	if (!c->is_held)
		rc = checkpoints_open_directory(c, err);
	while (rc == 0 && (errno = 0, entry = readdir(dir)))
		list_entry(c, entry->d_name);
	if (rc == 0 && errno)
		rc = directory_fail(c, -errno, err);
	closedir(dir);
	for (size_t i = 0; i < c->count; i++) {
		/* An .old checkpoint whose replacement is complete belongs to the writer of the
		 * replacement, which deletes it. */
		struct checkpoint *k = &c->items[i];
		const struct checkpoint *by =
			checkpoints_at(c, k->epoch, k->step, CHECKPOINT_FINAL);

		if (k->place != CHECKPOINT_OLD || !by || !by->is_complete)
			continue;
		k->is_complete = false;
		k->writer = by->writer;
	}
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_age);
	if (c->foreign_count)
		qsort(c->foreign, c->foreign_count, sizeof(*c->foreign), checkpoints_by_name);
	return rc;
}

int checkpoints_open(struct checkpoints *c, const char *directory, const struct shard_set *set,
		     struct mlgen_err *err)
{
	const struct mlgen_engine *e = set->state->job->engine;
	struct shard_cursor at = { 0 };
	struct shard f;

	*c = (struct checkpoints){ .directory = mem_strdup(directory), .set = set };
	while (shard_next_file(&f, set, &at, 1))
		c->local_bytes += f.bytes;
	process_self(&c->self);
	c->has_no_files = e && e->caps & MLGEN_CAP_NO_FILES;
	return c->has_no_files ? 0 : list_directory(c, err);
}

int checkpoints_refresh(struct checkpoints *c, struct mlgen_err *err)
{
	c->count = c->foreign_count = 0;
	return c->has_no_files ? 0 : list_directory(c, err);
}

void checkpoints_fini(struct checkpoints *c)
{
	if (c->is_held)
		close(c->dir_fd);
	mem_free(c->directory);
	mem_free(c->items);
	mem_free(c->foreign);
	*c = (struct checkpoints){ 0 };
}

/* ---- the next checkpoint ---- */

/* The highest step in a name, mlgen's own or foreign; 0 = there are none. */
static uint64_t newest_step(const struct checkpoints *c, const char **name)
{
	uint64_t step = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].step > step) {
			step = c->items[i].step;
			*name = c->items[i].name;
		}
	for (size_t i = 0; i < c->foreign_count; i++) {
		struct checkpoint k;

		if (checkpoint_parse_name(c->foreign[i].name, &k) && k.step > step) {
			step = k.step;
			*name = c->foreign[i].name;
		}
	}
	return step;
}

int checkpoints_check_next(const struct checkpoints *c, uint64_t step, struct mlgen_err *err)
{
	const char *name = "";

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].number >= NUMBER_MAX)
			return mlgen_fail(err, -ERANGE,
					  "%s/%s: is checkpoint number %" PRIu64
					  ", the largest that a manifest allows; move it away, or "
					  "use another checkpoint_directory",
					  c->directory, c->items[i].name, c->items[i].number);
	if (step == UINT64_MAX && newest_step(c, &name) >= NUMBER_MAX)
		return mlgen_fail(err, -ERANGE,
				  "%s/%s: no later step is possible; move it away, or use another "
				  "checkpoint_directory",
				  c->directory, name);
	return 0;
}

void checkpoints_next(const struct checkpoints *c, uint64_t epoch, uint64_t step,
		      struct checkpoint *next)
{
	const char *name = "";

	*next = (struct checkpoint){
		.number = 1, .epoch = epoch, .step = step, .bytes = c->local_bytes
	};
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].number >= next->number)
			next->number = c->items[i].number + 1;
	checkpoint_sign(next, &c->self);
	if (step == UINT64_MAX)
		next->step = newest_step(c, &name) + 1;
	next->place =
		c->set->state->job->rename_commit || checkpoints_replaced(c, epoch, next->step)
			? CHECKPOINT_PART
			: CHECKPOINT_FINAL;
	checkpoint_print_name(next->name, epoch, next->step, next->place);
}

int checkpoint_path(const struct checkpoints *c, const struct checkpoint *k, const char *file,
		    char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s%s%s", c->directory, k->name, file ? "/" : "",
			 file ? file : "");

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void checkpoints_add(struct checkpoints *c, const struct checkpoint *k)
{
	c->items = mem_realloc(c->items, (c->count + 1) * sizeof(*c->items));
	c->items[c->count++] = *k;
}

void checkpoints_remove(struct checkpoints *c, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->items[i].name, name) != 0)
			c->items[n++] = c->items[i];
	c->count = n;
}

/* ---- restoring ---- */

/* Reasons why checkpoints cannot be restored, for a message. */
struct restore_reasons {
	struct buf text;
	unsigned count;
};

#define REASONS_SHOWN 4

static void add_reason(struct restore_reasons *x, const char *name, const char *why)
{
	if (x->count++ < REASONS_SHOWN)
		buf_addf(&x->text, "; %s: %s", name, why);
}

static bool is_restorable(const struct checkpoints *c, const struct checkpoint *k,
			  struct restore_reasons *x)
{
	char how[256];

	if (!k->is_complete) {
		add_reason(x, k->name, "not complete");
		return false;
	}
	int fd = folder_to_read(c, k);
	if (fd < 0) {
		add_reason(x, k->name, strerror(-fd));
		return false;
	}
	bool fits = checkpoint_manifest_fits(fd, c->set, how, sizeof(how));
	close(fd);
	if (!fits)
		add_reason(x, k->name, how);
	return fits;
}

static int fail_too_few(const struct checkpoints *c, size_t count, size_t found,
			const struct restore_reasons *x, struct mlgen_err *err)
{
	const char *reasons = buf_str(&x->text);

	if (found == 0 && x->count == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: contains no checkpoint; save a checkpoint with "
				  "phase=checkpoint, or use another checkpoint_directory=",
				  c->directory);
	if (found == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: this job can restore none of its checkpoints%s",
				  c->directory, reasons);
	return mlgen_fail(
		err, -EINVAL,
		"%s: %zu of %zu checkpoints can be restored; use checkpoints=%zu, or save more%s",
		c->directory, found, count, found, reasons);
}

int checkpoints_to_restore(const struct checkpoints *c, size_t count, struct checkpoint *to,
			   struct mlgen_err *err)
{
	struct restore_reasons x = { 0 };
	size_t found = 0;
	int rc = 0;

	if (c->has_no_files) {
		for (size_t i = 0; i < count; i++) {
			to[i] = (struct checkpoint){
				.number = i + 1, .epoch = 1, .step = i + 1, .is_complete = true
			};
			checkpoint_print_name(to[i].name, 1, i + 1, CHECKPOINT_FINAL);
		}
		return 0;
	}
	for (size_t i = c->count; i-- && found < count;)
		if (is_restorable(c, &c->items[i], &x))
			to[count - ++found] = c->items[i];
	if (found < count) {
		for (size_t i = 0; i < c->foreign_count; i++)
			add_reason(&x, c->foreign[i].name, c->foreign[i].why);
		if (x.count > REASONS_SHOWN)
			buf_addf(&x.text, "; %u more", x.count - REASONS_SHOWN);
		rc = fail_too_few(c, count, found, &x, err);
	}
	buf_fini(&x.text);
	return rc;
}

/* ---- room ---- */

int checkpoints_check_room(const struct checkpoints *c, uint64_t count, uint64_t keep,
			   struct mlgen_err *err)
{
	char need[UNITS_TEXT_BYTES], room[UNITS_TEXT_BYTES], lack[UNITS_TEXT_BYTES];
	struct mount m;

	/* Compute the peak of the additional space. It includes one more checkpoint, because an old
	 * checkpoint is deleted only after the new one is complete. */
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
	if (c->has_no_files)
		return 0;
	int rc = mount_read(&m, c->directory, err);
	/* A filesystem that does not know its size reports a total of 0. */
	if (rc < 0 || m.total_bytes == 0 || most <= (double)m.free_bytes)
		return rc;
	return mlgen_fail(
		err, -ENOSPC,
		"%s: %" PRIu64
		" checkpoint%s up to %s, but only %s are free: %s too few; use fewer checkpoints, "
		"checkpoint_keep=1, --scale=, or another checkpoint_directory=",
		c->directory, count, count == 1 ? " takes" : "s take",
		units_human_bytes(need, most), units_human_bytes(room, (double)m.free_bytes),
		units_human_bytes(lack, most - (double)m.free_bytes));
}
