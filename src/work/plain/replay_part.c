/* SPDX-License-Identifier: Apache-2.0 */
/* replay_part.c - see replay_part.h. */
#include "work/plain/replay_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/below.h"
#include "base/count.h"
#include "base/units.h"
#include "io/mount.h"
#include "run/make/make.h"
#include "work/plain/iocontent.h"

static void put_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	char have[UNITS_TEXT_BYTES];
	struct mount m = { 0 };

	mount_read(&m, x->file.path, NULL);
	snprintf(out, size,
		 "%s are still to be laid out, %s free; make room, or another directory=", left,
		 units_human_bytes(have, (double)m.free_bytes));
}

const struct newfile_kind replay_part_kind = { .suffix = ".mlgen-part",
					       .replaces = true,
					       .next = iocontent_next,
					       .put_no_room = put_no_room };

/* ---- one file ---- */

static const struct replay_file *file_of(const struct crew_worker *w, uint32_t id)
{
	const struct replay_parts *p = w->owner;

	return replay_file(p->f, id);
}

/* A name that leaves no room for more has its id instead. */
static int put_part(struct crew_worker *w, uint32_t id)
{
	char *name = strrchr(w->path, '/') + 1;
	int n;

	if (newfile_temporary(w->part, w->path, &replay_part_kind) == 0)
		return 0;
	n = snprintf(w->part, sizeof(w->part), "%.*s.%x%s", (int)(name - w->path), w->path, id,
		     replay_part_kind.suffix);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* w->path and w->part are its, and it can be made in the folder that is held. */
static int reach(struct crew_worker *w, uint32_t id, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	int r = replay_files_path(p->f, id, w->path);

	if (r == 0)
		r = put_part(w, id);
	if (r)
		return mlgen_fail(err, r, "%s: %s; name a directory with a shorter path", w->path,
				  strerror(-r));
	return datadir_make(&p->dir, w, err);
}

static struct newfile part_of(struct crew_worker *w, uint32_t id, int flags)
{
	const struct replay_parts *p = w->owner;

	return (struct newfile){
		.maker = p->maker,
		.w = w,
		.path = w->path,
		.bytes = file_of(w, id)->bytes,
		.file = { .path = w->part,
			  .name = strrchr(w->part, '/') + 1,
			  .dir_fd = w->folder_fd,
			  .fd = -1,
			  .flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
			  .mode = 0666 },
	};
}

/* What a killed run has left goes. */
static int open_new(struct newfile *x, struct mlgen_err *err)
{
	const struct replay_parts *p = x->w->owner;
	int r = crew_do(x->w, MLGEN_OPEN, &x->file);

	if (r == -EEXIST) {
		r = datadir_check_owner(&p->dir, x->w->folder_fd, x->file.path, err);
		if (r)
			return r;
		crew_do(x->w, MLGEN_UNLINK, &x->file);
		r = crew_do(x->w, MLGEN_OPEN, &x->file);
	}
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

static int put_bytes(struct newfile *x, bool has_content, struct mlgen_err *err)
{
	int r = x->bytes ? iocontent_allocate(x, has_content, err) : 0;

	if (r || has_content)
		return r ? r : iocontent_fill(x, err);
	count_add_shared(&x->maker->progress->bytes_done, x->bytes);
	return 0;
}

static bool is_missing(const struct crew_worker *w, uint32_t id)
{
	unsigned flags = file_of(w, id)->flags;

	return flags & REPLAY_FILE_MISSING && !(flags & REPLAY_FILE_FOLDER);
}

/* Nobody else looks at it. */
static void has_been_made(const struct crew_worker *w, uint32_t id)
{
	const struct replay_parts *p = w->owner;

	replay_file(p->f, id)->flags &= ~(unsigned)REPLAY_FILE_MISSING;
}

bool replay_part_is_large(const struct replay_parts *p, uint32_t id)
{
	const struct replay_file *file = replay_file(p->f, id);

	return file->flags & REPLAY_FILE_MISSING && file->flags & REPLAY_FILE_READ &&
	       !(file->flags & REPLAY_FILE_FOLDER) && file->bytes >= p->large_bytes;
}

int replay_part_folder(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	uint32_t id = (uint32_t)index + 1;
	unsigned flags = file_of(w, id)->flags;
	bool is_made = flags & REPLAY_FILE_FOLDER && flags & REPLAY_FILE_THERE;
	size_t bytes, root = replay_root(p->f->directory);

	if (!replay_file_is_below(p->f, id) || (flags & REPLAY_FILE_THERE && !is_made))
		return 0;
	if (replay_files_path(p->f, id, w->path) != 0)
		return 0;
	bytes = replay_names_made_above(p->f, id);
	if (bytes)
		w->path[root + bytes] = '\0';
	bytes = strlen(w->path);
	if (is_made && bytes + 1 < sizeof(w->path))
		memcpy(w->path + bytes, "/", 2);
	return datadir_make(&p->dir, w, err);
}

int replay_part_make(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	uint32_t id = (uint32_t)index + 1;
	struct newfile x;
	int r;

	if (!is_missing(w, id) || replay_part_is_large(w->owner, id))
		return 0;
	r = reach(w, id, err);
	if (r)
		return r;
	x = part_of(w, id, O_CREAT | O_EXCL);
	r = open_new(&x, err);
	if (r)
		return r;
	r = put_bytes(&x, file_of(w, id)->flags & REPLAY_FILE_READ, err);
	r = newfile_end(&x, r, true, err);
	if (r)
		crew_do(w, MLGEN_UNLINK, &x.file);
	else
		has_been_made(w, id);
	return r;
}

int replay_part_begin(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	struct newfile x;
	int r = reach(w, p->large, err);

	(void)index;
	if (r)
		return r;
	x = part_of(w, p->large, O_CREAT | O_EXCL);
	r = open_new(&x, err);
	if (r)
		return r;
	return newfile_end(&x, iocontent_allocate(&x, true, err), false, err);
}

int replay_part_piece(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct replay_parts *p = w->owner;
	struct newfile x;
	uint64_t left;
	int r = reach(w, p->large, err);

	if (r)
		return r;
	x = part_of(w, p->large, 0);
	x.is_piece = true;
	r = crew_do(w, MLGEN_OPEN, &x.file);
	if (r < 0)
		return newfile_failed(&x, opstat_name(MLGEN_OPEN), r, err);
	r = iocontent_fill_piece(&x, index, err);
	/* The last one syncs what all have written: size and times, too. */
	left = r ? 0 : atomic_fetch_sub_explicit(&p->pieces_left, 1, memory_order_acq_rel);
	r = newfile_end(&x, r, left == 1, err);
	if (r == 0 && left == 1)
		has_been_made(w, p->large);
	return r;
}

int replay_part_drop(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	struct newfile x;
	int r = reach(w, p->large, err);

	(void)index;
	if (r)
		return r;
	x = part_of(w, p->large, 0);
	r = crew_do(w, MLGEN_UNLINK, &x.file);
	return r == -ENOENT ? 0 : r;
}
