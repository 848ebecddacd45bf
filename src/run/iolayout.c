/* SPDX-License-Identifier: Apache-2.0 */
/* iolayout.c - make the files of a plain job that are missing. */
#include "run/iolayout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "io/engines.h"
#include "io/mount.h"
#include "run/crew.h"
#include "run/dirlock.h"
#include "run/iopart.h"
#include "run/writetime.h"

/* A folder that files are made in. */
struct folder {
	char *path;
	char mount[256]; /* mount point */
	uint64_t missing_bytes, free_bytes;
	struct dirlock lock;
};

struct layout {
	struct iofiles *f;
	struct iofiles_layout *l;
	struct ioparts parts;
	struct folder *folders;
	size_t folder_count;
	struct crew_config crew;
	uint64_t start_ns;
	uint64_t asked_files; /* missing at first */
};

/* Where they go, and is there room */

static struct folder *folder_of(struct folder **list, size_t *count, char *path)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp((*list)[i].path, path) == 0) {
			mem_free(path);
			return &(*list)[i];
		}
	*list = mem_realloc(*list, (*count + 1) * sizeof(**list));
	(*list)[*count] = (struct folder){ .path = path };
	return &(*list)[(*count)++];
}

static size_t list_folders(struct folder **list, const struct iofiles *f)
{
	size_t count = 0;

	*list = NULL;
	for (size_t i = 0; i < f->count; i++) {
		const struct iofile *file = &f->files[i];
		if (!file->is_missing)
			continue;
		folder_of(list, &count, iolayout_folder(file->path))
			->missing_bytes += file->bytes;
	}
	return count;
}

static void free_folders(struct folder *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free(list[i].path);
	mem_free(list);
}

/* Of all folders on the filesystem of one of them. */
static uint64_t missing_on(const struct folder *list, size_t count,
			   const char *mount)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].mount, mount) == 0)
			bytes += list[i].missing_bytes;
	return bytes;
}

static int check_folder(const struct folder *d, uint64_t missing,
			const struct iofiles_request *req,
			struct mlgen_err *err)
{
	bool half = !req->allow_fill;
	bool fills = half && missing <= d->free_bytes;
	char need[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];

	if (missing <= (half ? d->free_bytes / 2 : d->free_bytes))
		return 0;
	return mlgen_fail(err, -ENOSPC,
			  "%s: %s to lay out, %s free%s; a smaller size=, "
			  "another directory=%s",
			  d->path, units_human_bytes(need, (double)missing),
			  units_human_bytes(have, (double)d->free_bytes),
			  half ? ", of which half may be used" : "",
			  fills ? ", or --allow_fill" : "");
}

static int check_folders(struct folder *list, size_t count,
			 const struct iofiles_request *req,
			 struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		struct mount m;
		r = mount_read(&m, list[i].path, err);
		if (r)
			break;
		snprintf(list[i].mount, sizeof(list[i].mount), "%s", m.target);
		list[i].free_bytes = m.free_bytes;
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = check_folder(&list[i],
				 missing_on(list, count, list[i].mount), req,
				 err);
	return r;
}

/* Folders */

static int make_folder(struct layout *x, char *path, struct mlgen_err *err)
{
	/* Of one that exists, a read-only filesystem may say EROFS. */
	if (access(path, F_OK) == 0)
		return 0;
	if (mkdir(path, 0777) == 0)
		x->l->started = true;
	else if (errno != EEXIST)
		return mlgen_fail(err, -errno, "%s: mkdir: %s", path,
				  strerror(errno));
	return 0;
}

static int make_folders(struct layout *x, char *path, struct mlgen_err *err)
{
	char *slash = path;
	int r = 0;

	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		r = make_folder(x, path, err);
		if (slash)
			*slash = '/';
	} while (slash && r == 0);
	return r;
}

static int open_folders(struct layout *x, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < x->folder_count && r == 0; i++) {
		struct folder *d = &x->folders[i];
		r = make_folders(x, d->path, err);
		if (r == 0)
			r = dirlock_take(&d->lock, d->path, err);
	}
	return r;
}

static int sync_folder(const char *path, struct mlgen_err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 || fsync(fd) != 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	/* EINVAL: a filesystem that knows no such thing; EACCES: a folder that
	 * may be written, not read. */
	return r == 0 || r == -EINVAL || r == -EACCES
		       ? 0
		       : mlgen_fail(err, r, "%s: fsync: %s", path,
				    strerror(-r));
}

static int sync_folders(const struct layout *x, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < x->folder_count && r == 0; i++)
		r = sync_folder(x->folders[i].path, err);
	return r;
}

/* What is still to do */

/* Another job or another mlgen has made it meanwhile: it has to be as large. */
static int look_again(struct iofiles *f, struct iofile *file,
		      struct mlgen_err *err)
{
	char has[UNITS_TEXT_BYTES], needs[UNITS_TEXT_BYTES];
	struct stat st;

	if (stat(file->path, &st) != 0)
		return 0;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < file->bytes)
		return mlgen_fail(err, -EEXIST,
				  "%s: was made meanwhile with %s, and %s are "
				  "needed; jobs that share a file have to give "
				  "it one size",
				  file->path,
				  units_put_size(has, (uint64_t)st.st_size),
				  units_put_size(needs, file->bytes));
	file->is_missing = false;
	f->missing_files--;
	f->missing_bytes -= file->bytes;
	file->bytes = (uint64_t)st.st_size;
	return 0;
}

static int look_at_missing(struct iofiles *f, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < f->count && r == 0; i++)
		if (f->files[i].is_missing)
			r = look_again(f, &f->files[i], err);
	return r;
}

/* Making them */

static void announce(const struct layout *x)
{
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	char time[WRITETIME_BYTES] = "space only";
	const char *where = x->folders[0].path;

	if (x->parts.has_content)
		writetime_text(time, clock_now(x->l->clock) - x->start_ns,
			       atomic_load_explicit(&x->parts.synced_bytes,
						    memory_order_relaxed),
			       x->parts.bytes);
	log_plain("%s: laying out %s file%s, %s in %s%s (%s)",
		  x->l->req->job->name,
		  units_human_count(files, x->parts.count),
		  x->parts.count == 1 ? "" : "s",
		  units_human_bytes(bytes, (double)x->parts.bytes), where,
		  x->folder_count > 1 ? " and elsewhere" : "", time);
}

static void begin_progress(struct layout *x)
{
	struct prepare_progress *p = x->l->progress;
	const struct iofiles *f = x->f;
	uint64_t all = 0;

	for (size_t i = 0; i < f->count; i++)
		all += f->files[i].bytes;
	atomic_store_explicit(&p->files_total, f->count, memory_order_relaxed);
	atomic_store_explicit(&p->bytes_total, all, memory_order_relaxed);
	atomic_store_explicit(&p->files_done, f->count - x->parts.count,
			      memory_order_relaxed);
	atomic_store_explicit(&p->bytes_done, all - x->parts.bytes,
			      memory_order_relaxed);
}

static int run_announced(struct layout *x, const struct crew_task *task,
			 struct mlgen_err *err)
{
	struct crew *crew;
	int r = crew_start(&crew, &x->crew, task, err);

	if (r)
		return r;
	writetime_wait(crew, &x->parts.synced_bytes, x->start_ns);
	announce(x);
	return crew_finish(crew, err);
}

static int make_parts(struct layout *x, struct mlgen_err *err)
{
	struct crew_task make = { iopart_make, &x->parts, x->parts.count };
	struct crew_task fill = { iopart_fill, &x->parts, x->parts.pieces };
	int r;

	x->l->started = true;
	x->start_ns = clock_now(x->l->clock);
	begin_progress(x);
	if (!x->parts.has_content)
		return run_announced(x, &make, err);
	r = crew_run(&x->crew, &make, err);
	return r ? r : run_announced(x, &fill, err);
}

static int work_locked(struct layout *x, struct mlgen_err *err)
{
	int r = look_at_missing(x->f, err);

	if (r || x->f->missing_files == 0)
		return r;
	r = ioparts_init(&x->parts, x->f, x->l, err);
	if (r == 0)
		r = ioparts_remove(&x->parts, err);
	if (r == 0) {
		r = make_parts(x, err);
		if (r)
			ioparts_remove(&x->parts, NULL);
		else
			r = sync_folders(x, err);
	}
	x->l->made_files = x->parts.made_files;
	x->l->made_bytes = x->parts.made_bytes;
	x->f->missing_files -= x->l->made_files;
	x->f->missing_bytes -= x->l->made_bytes;
	ioparts_fini(&x->parts);
	return r;
}

static int work(struct layout *x, struct mlgen_err *err)
{
	int r = check_folders(x->folders, x->folder_count, x->l->req, err);

	if (r == 0)
		r = open_folders(x, err);
	if (r == 0)
		r = work_locked(x, err);
	for (size_t i = 0; i < x->folder_count; i++)
		dirlock_drop(&x->folders[i].lock);
	return r;
}

/* The job's engine if it can write at all. */
static const struct mlgen_engine *writer_of(const struct mlgen_engine *engine)
{
	return engine->caps & MLGEN_CAP(MLGEN_WRITE) ? engine
						     : engines_find("psync");
}

static int interrupted(const struct layout *x, struct mlgen_err *err)
{
	return mlgen_fail(err, CREW_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files laid out; the next run makes the others",
			  x->folders[0].path, x->l->made_files, x->asked_files);
}

int iolayout_run(struct iofiles *f, struct iofiles_layout *l,
		 struct mlgen_err *err)
{
	const struct job *j = l->req->job;
	struct layout x = { .f = f,
			    .l = l,
			    .crew = { .engine = writer_of(j->engine),
				      .clock = l->clock,
				      .stop = &l->progress->stop,
				      .view = &l->progress->crew,
				      .workers = crew_writers(),
				      .buf_bytes = crew_writer_bytes(
					      iofiles_largest_missing(f)) } };
	int r = look_at_missing(f, err);

	if (x.crew.engine == j->engine)
		x.crew.engine_opts = j->engine_opts;
	if (r || f->missing_files == 0)
		return r;
	x.asked_files = f->missing_files;
	x.folder_count = list_folders(&x.folders, f);
	r = work(&x, err);
	if (r == CREW_STOPPED)
		interrupted(&x, err);
	free_folders(x.folders, x.folder_count);
	return r;
}

int iolayout_check_space(const struct iofiles *f,
			 const struct iofiles_request *req,
			 struct mlgen_err *err)
{
	struct folder *list;
	size_t count = list_folders(&list, f);
	int r = check_folders(list, count, req, err);

	free_folders(list, count);
	return r;
}

char *iolayout_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return mem_strdup(".");
	return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}
