/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files_make.c - make the files of a replay that are missing. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "base/count.h"
#include "base/dirs.h"
#include "base/jsonfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "run/make/make.h"
#include "work/plain/iocontent.h"
#include "work/plain/replay_part.h"

/* A file that has more than its share is written by all workers together; of others each has one.
 * No fewer than two pieces. */
#define LARGE_SHARE 8
#define LARGE_LEAST (UINT64_C(128) << 20)

struct making {
	struct replay_files *f;
	struct replay_files_maker *m;
	struct filemaker maker;
	struct replay_parts parts;
	struct dirlock lock;
	uint64_t asked_files; /* missing at first */
	bool has_content;     /* else only space */
	bool is_announced;
};

/* ---- the directory ---- */

static int put_marker(const struct making *x, struct mlgen_err *err)
{
	json_t *root = json_pack("{s:i}", "mlgen_replay", 1);
	int r = root ? jsonfile_replace(x->parts.dir.fd, REPLAY_MARKER, root, true) : -ENOMEM;

	json_decref(root);
	return r ? mlgen_fail(err, r, "%s/%s: %s", x->f->directory, REPLAY_MARKER, strerror(-r))
		 : 0;
}

static int open_directory(struct making *x, struct mlgen_err *err)
{
	char *path = mem_strdup(x->f->directory);
	int r = dirs_make(path, &x->m->started);

	if (r)
		mlgen_fail(err, r, "%s: mkdir: %s", path, strerror(-r));
	mem_free(path);
	if (r == 0)
		r = dirlock_take(&x->lock, x->f->directory, err);
	if (r == 0)
		r = datadir_open(&x->parts.dir, x->f->directory, x->lock.maker, err);
	return r;
}

/* Names reach the device, too: of all folders at once, of which nobody has a list. A filesystem
 * that knows no such thing has no need of it. */
static void sync_names(const struct making *x)
{
	int fd = openat(x->parts.dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	syncfs(fd);
	close(fd);
}

/* ---- files ---- */

static void replay_files_make_announce(const void *arg, const char *time)
{
	const struct making *x = arg;
	const struct filemaker *m = &x->maker;
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];

	log_plain("%s: laying out %s file%s, %s in %s (%s)", x->f->job->name,
		  units_human_count(files, m->missing_files), plural(m->missing_files),
		  units_human_bytes(bytes, (double)m->missing_bytes), x->f->directory,
		  x->has_content ? time : "space only");
}

/* The first that takes time is announced, with all that is to be made. */
static int run(struct making *x,
	       int (*each)(struct crew_worker *w, uint64_t index, struct mlgen_err *err),
	       uint64_t n, struct mlgen_err *err)
{
	const struct crew_task task = { each, &x->parts, n };
	bool is_first = !x->is_announced && x->f->missing_files;

	x->is_announced |= is_first;
	return is_first ? filemaker_run(&x->maker, &task, replay_files_make_announce, x, err)
			: crew_run(&x->maker.crew, &task, err);
}

static int make_large(struct making *x, uint32_t id, struct mlgen_err *err)
{
	uint64_t pieces = iocontent_pieces(replay_file(x->f, id)->bytes);
	const struct crew_task begin = { replay_part_begin, &x->parts, 1 };
	const struct crew_task drop = { replay_part_drop, &x->parts, 1 };
	struct crew_config crew = x->maker.crew;
	int r;

	x->parts.large = id;
	atomic_store_explicit(&x->parts.pieces_left, pieces, memory_order_relaxed);
	r = crew_run(&crew, &begin, err);
	if (r == 0)
		r = run(x, replay_part_piece, pieces, err);
	if (r == 0)
		return 0;
	crew.stop = NULL;
	crew_run(&crew, &drop, NULL);
	return r;
}

static bool has_content(const struct replay_file *file)
{
	return file->flags & REPLAY_FILE_MISSING && file->flags & REPLAY_FILE_READ && file->bytes;
}

static int make_files(struct making *x, struct mlgen_err *err)
{
	uint32_t names = trace_names_count(x->f->names);
	int r = 0;

	x->parts.large_bytes = u64_max(LARGE_LEAST, x->f->missing_bytes / LARGE_SHARE);
	for (uint32_t id = 1; id <= names; id++)
		x->has_content |= has_content(replay_file(x->f, id));
	for (uint32_t id = 1; id <= names && r == 0; id++)
		if (replay_part_is_large(&x->parts, id))
			r = make_large(x, id, err);
	return r ? r : run(x, replay_part_make, names, err);
}

static void making_begin(struct making *x)
{
	struct filemaker *m = &x->maker;

	m->missing_files = x->f->missing_files;
	m->missing_bytes = x->f->missing_bytes;
	m->present_files = x->f->files - x->f->missing_files;
	m->present_bytes = x->f->bytes - x->f->missing_bytes;
	filemaker_begin(m);
	x->m->started = true;
}

/* Behind all: what was made is not missing any more. */
static void making_end(struct making *x)
{
	struct replay_files *f = x->f;

	x->m->made_files = count_get(&x->maker.made_files);
	x->m->made_bytes = count_get(&x->maker.made_bytes);
	f->missing_files -= x->m->made_files;
	f->missing_bytes -= x->m->made_bytes;
}

static int make_all(struct making *x, struct mlgen_err *err)
{
	uint32_t names = trace_names_count(x->f->names);
	const struct crew_task folders = { replay_part_folder, &x->parts, names };
	int r;

	making_begin(x);
	r = put_marker(x, err);
	if (r == 0)
		r = crew_run(&x->maker.crew, &folders, err);
	if (r == 0)
		x->f->missing_folders = 0;
	if (r == 0 && x->f->missing_files)
		r = make_files(x, err);
	making_end(x);
	if (r == 0)
		sync_names(x);
	return r;
}

/* Once more behind the lock: somebody may have made them meanwhile. */
static int make_locked(struct making *x, struct mlgen_err *err)
{
	int r = replay_files_look(x->f, err);

	if (r == 0)
		r = replay_files_check_room(x->f, x->m->allow_fill, err);
	if (r)
		return r;
	filemaker_init(&x->maker, x->f->largest_missing);
	x->asked_files = x->f->missing_files;
	r = make_all(x, err);
	if (r == CREW_STOPPED)
		mlgen_fail(err, r,
			   "%s: interrupted with %" PRIu64 " of %" PRIu64
			   " files laid out; the next run makes the others",
			   x->f->directory, x->m->made_files, x->asked_files);
	return r;
}

int replay_files_make(struct replay_files *f, struct replay_files_maker *m, struct mlgen_err *err)
{
	struct making x = { .f = f,
			    .m = m,
			    .maker = { .kind = &replay_part_kind,
				       .progress = m->progress,
				       .crew = { .engine = f->job->engine,
						 .engine_opts = f->job->engine_opts,
						 .clock = m->clock } },
			    .parts = { .f = f, .maker = &x.maker, .dir.fd = -1 } };
	int r = replay_files_look(f, err);

	m->made_files = m->made_bytes = 0;
	m->started = false;
	if (r || !(f->missing_files || f->missing_folders))
		return r;
	r = replay_files_check_writable(f, err);
	if (r == 0)
		r = replay_files_check_room(f, m->allow_fill, err);
	if (r == 0)
		r = open_directory(&x, err);
	if (r == 0)
		r = make_locked(&x, err);
	if (x.parts.dir.fd >= 0)
		datadir_close(&x.parts.dir);
	dirlock_drop(&x.lock);
	return r;
}
