/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - write the files of a dataset that are missing. */
#include "run/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "data/format.h"
#include "data/manifest.h"
#include "io/cache.h"
#include "io/engines.h"
#include "io/host.h"
#include "io/mount.h"
#include "run/crew.h"
#include "run/datafile.h"
#include "run/dirlock.h"
#include "run/residency.h"

#define LEAST_WORKERS 8u
#define MOST_WORKERS 16u

/* The first line waits so long, to have measured the speed it tells. */
#define ANNOUNCE_NS UINT64_C(500000000)

/* A start that writes nothing is not held up by looking at the page cache. */
#define RESIDENT_NS UINT64_C(20000000)

struct prepare {
	const struct prepare_request *req;
	struct dataset *ds;
	struct prepare_progress *progress;
	struct crew_config crew;
	enum manifest_state state;
	bool replacing; /* a dataset made otherwise is to go first */
	bool is_fresh;  /* there is no train folder: nothing to look at */
	struct dirlock lock;
	uint64_t start_ns;
	/* Found by the survey. */
	_Atomic uint64_t missing_files, missing_bytes;
	_Atomic uint64_t present_files, present_bytes;
	struct datafiles files;
};

static void add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static void set(_Atomic uint64_t *to, uint64_t n)
{
	atomic_store_explicit(to, n, memory_order_relaxed);
}

/* Looking at what is there */

static int survey_file(struct crew_worker *w, uint64_t index,
		       struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	uint64_t bytes = dataset_file_bytes(p->ds, index);
	int r = datafile_look(&p->files, w, index, err);

	if (r < 0)
		return r;
	add(r ? &p->present_files : &p->missing_files, 1);
	add(r ? &p->present_bytes : &p->missing_bytes, bytes);
	return 0;
}

static void all_missing(struct prepare *p)
{
	struct dataset_totals t;

	dataset_totals(p->ds, &t);
	set(&p->missing_files, p->ds->files);
	set(&p->missing_bytes, t.bytes);
}

static bool is_trusted(const struct prepare *p)
{
	return p->state == MANIFEST_COMPLETE && !p->req->check_all;
}

static bool has_train_folder(const struct prepare *p)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/train", p->ds->directory);
	return access(path, F_OK) == 0 || errno != ENOENT;
}

static int survey(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { survey_file, p, p->ds->files };

	set(&p->missing_files, 0);
	set(&p->missing_bytes, 0);
	set(&p->present_files, 0);
	set(&p->present_bytes, 0);
	p->files.ours = p->state != MANIFEST_ABSENT;
	p->is_fresh = !is_trusted(p) && !has_train_folder(p);
	if (is_trusted(p))
		set(&p->present_files, p->ds->files);
	else if (p->is_fresh || p->replacing)
		all_missing(p);
	else
		return crew_run(&p->crew, &task, err);
	return 0;
}

/* The manifest, then the files. A dataset made otherwise is an error, or with
 * `replace` the one to remove. */
static int examine(struct prepare *p, struct mlgen_err *err)
{
	struct mlgen_err mismatch = { 0 };
	int r = manifest_read(p->ds, &p->state, &mismatch);

	p->replacing = r != 0;
	if (r && !p->req->replace)
		return mlgen_fail(err, r, "%s", mismatch.text);
	return survey(p, err);
}

/* Removing a dataset that was made otherwise */

static int remove_file(struct crew_worker *w, uint64_t index,
		       struct mlgen_err *err)
{
	return datafile_remove(w->owner, w, index, err);
}

static uint64_t folders(const struct dataset *ds)
{
	return ds->subfolders < ds->files_named ? ds->subfolders
						: ds->files_named;
}

/* What holds files of others stays, hence no look at the results. */
static void remove_folders(const struct dataset *ds)
{
	char path[PATH_MAX];

	for (uint64_t i = 0; i < folders(ds); i++) {
		if (datafile_path(ds, i, path, NULL))
			continue;
		datafile_folder(path);
		rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/train", ds->directory);
	rmdir(path);
}

static int remove_manifest(const struct dataset *ds, struct mlgen_err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", ds->directory, MANIFEST_NAME);
	return unlink(path) == 0
		       ? 0
		       : datafile_failed(path, MLGEN_UNLINK, -errno, err);
}

/* Stopped half-way, the old manifest still describes what is left. */
static int remove_all(const struct prepare *p, struct dataset *old,
		      struct mlgen_err *err)
{
	const struct crew_task task = { remove_file, old, old->files };
	int r = manifest_write(old, false, err);

	if (r == 0)
		r = crew_run(&p->crew, &task, err);
	if (r == 0) {
		remove_folders(old);
		r = remove_manifest(old, err);
	}
	return r;
}

static int remove_old(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct dataset old;
	int r = manifest_describe(p->ds->directory, &old, err);

	if (r == 0) {
		*started = true;
		r = remove_all(p, &old, err);
		dataset_fini(&old);
	}
	if (r)
		return r;
	p->replacing = false;
	p->state = MANIFEST_ABSENT;
	return survey(p, err);
}

/* What it will give back to the filesystem. */
static int old_bytes(const struct prepare *p, uint64_t *bytes,
		     struct mlgen_err *err)
{
	struct dataset old;
	uint64_t files;
	bool estimate;
	int r;

	*bytes = 0;
	if (!p->replacing)
		return 0;
	r = manifest_describe(p->ds->directory, &old, err);
	if (r)
		return r;
	r = manifest_present(&old, &files, bytes, &estimate, err);
	dataset_fini(&old);
	return r;
}

/* Refusing, before anything is written */

/* So many files would go into `room`; three digits are what such a number is
 * good for. */
static uint64_t files_for(const struct prepare *p, uint64_t room)
{
	double each =
		(double)get(&p->missing_bytes) / (double)get(&p->missing_files);
	uint64_t files =
		get(&p->present_files) + (uint64_t)((double)room / each);
	uint64_t unit = 1;

	while (files / unit >= 1000)
		unit *= 10;
	return files - files % unit;
}

static int no_space(const struct prepare *p, uint64_t free_bytes,
		    struct mlgen_err *err)
{
	bool half = !p->req->allow_fill;
	uint64_t missing = get(&p->missing_bytes);
	uint64_t files = files_for(p, half ? free_bytes / 2 : free_bytes);
	const char *fill = half && missing <= free_bytes ? "--allow_fill" : "";
	char need[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES], way_out[96];

	if (files)
		snprintf(way_out, sizeof(way_out),
			 "--num_files=%" PRIu64 " would fit%s%s%s", files,
			 *fill ? " (or " : "", fill, *fill ? ")" : "");
	else
		snprintf(way_out, sizeof(way_out), "another directory%s%s",
			 *fill ? ", or " : "", fill);
	return mlgen_fail(err, -ENOSPC, "%s: %s to write, %s free%s; %s",
			  p->ds->directory,
			  units_human_bytes(need, (double)missing),
			  units_human_bytes(have, (double)free_bytes),
			  half ? ", of which half may be used" : "", way_out);
}

static int check_space(const struct prepare *p, struct mlgen_err *err)
{
	uint64_t missing = get(&p->missing_bytes);
	uint64_t freed, room;
	struct mount m;
	int r = old_bytes(p, &freed, err);

	if (r == 0)
		r = mount_read(&m, p->ds->directory, err);
	if (r)
		return r;
	room = m.free_bytes + freed;
	if (missing <= (p->req->allow_fill ? room : room / 2))
		return 0;
	return no_space(p, room, err);
}

static int check_readonly(const struct prepare *p, struct mlgen_err *err)
{
	if (!p->req->readonly)
		return 0;
	return mlgen_fail(err, -EROFS,
			  "readonly: %" PRIu64 " of the %" PRIu64 " files of "
			  "%s are not there; write them once without "
			  "--readonly (--phase=prepare)",
			  get(&p->missing_files), p->ds->files,
			  p->ds->directory);
}

/* The directory and who may write in it */

static int cannot_make(const char *path, int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "%s: mkdir: %s; make it, or another directory=", path,
			  strerror(-code));
}

static int make_directory(const char *directory, struct mlgen_err *err)
{
	char path[PATH_MAX];
	char *slash = path;

	snprintf(path, sizeof(path), "%s", directory);
	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		/* Of one that exists, a read-only filesystem may say EROFS. */
		if (access(path, F_OK) != 0 && mkdir(path, 0777) != 0 &&
		    errno != EEXIST)
			return cannot_make(path, -errno, err);
		if (slash)
			*slash = '/';
	} while (slash);
	return 0;
}

static int write_file(struct crew_worker *w, uint64_t index,
		      struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	int r = p->is_fresh ? 0 : datafile_look(&p->files, w, index, err);

	if (r)
		return r < 0 ? r : 0;
	r = datafile_write(&p->files, w, index, err);
	if (r == 0)
		add(&p->progress->files_done, 1);
	return r;
}

static int sync_folder(struct crew_worker *w, uint64_t index,
		       struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	struct mlgen_file folder = { .path = w->path,
				     .fd = -1,
				     .flags = O_RDONLY | O_DIRECTORY };
	int r;

	if (index < folders(p->ds)) {
		r = datafile_path(p->ds, index, w->path, err);
		if (r)
			return r;
		datafile_folder(w->path);
	} else {
		snprintf(w->path, sizeof(w->path), "%s/train",
			 p->ds->directory);
	}
	r = crew_do(w, MLGEN_OPEN, &folder);
	if (r < 0) /* a subset need not have filled every folder */
		return r == -ENOENT
			       ? 0
			       : datafile_failed(w->path, MLGEN_OPEN, r, err);
	r = crew_do(w, MLGEN_FSYNC, &folder);
	crew_do(w, MLGEN_CLOSE, &folder);
	/* EINVAL: a filesystem that knows no such thing. */
	return r && r != -EINVAL ? datafile_failed(w->path, MLGEN_FSYNC, r, err)
				 : 0;
}

/* Writing all of them */

static void put_time_left(const struct prepare *p, char *out)
{
	uint64_t bytes = get(&p->files.synced_bytes);
	double seen_ns = (double)(clock_now(p->req->clock) - p->start_ns);
	double total_ns;

	/* What is only in the page cache is no measure, but better than none. */
	if (bytes == 0)
		bytes = get(&p->progress->bytes_done) - get(&p->present_bytes);
	if (bytes == 0) {
		snprintf(out, UNITS_TEXT_BYTES, "unknown time");
		return;
	}
	total_ns = seen_ns * (double)get(&p->missing_bytes) / (double)bytes;
	/* Whole seconds, once there are some: it is an estimate. */
	if (total_ns >= 10e9)
		total_ns = round(total_ns / 1e9) * 1e9;
	units_human_time(out, (uint64_t)total_ns);
}

static void announce(const struct prepare *p)
{
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	char present[UNITS_TEXT_BYTES], left[UNITS_TEXT_BYTES], kept[64] = "";
	uint64_t missing = get(&p->missing_files);

	put_time_left(p, left);
	if (get(&p->present_files))
		snprintf(kept, sizeof(kept), "%s there already; ",
			 units_human_count(present, get(&p->present_files)));
	log_plain("%s: writing %s %s file%s, %s to %s (%sabout %s, estimate)",
		  p->req->job_name, units_human_count(files, missing),
		  p->ds->format->name, missing == 1 ? "" : "s",
		  units_human_bytes(bytes, (double)get(&p->missing_bytes)),
		  p->ds->directory, kept, left);
}

static int write_files(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { write_file, p, p->ds->files };
	struct crew *crew;
	int r;

	set(&p->progress->files_total, p->ds->files);
	set(&p->progress->bytes_total,
	    get(&p->present_bytes) + get(&p->missing_bytes));
	set(&p->progress->files_done, get(&p->present_files));
	set(&p->progress->bytes_done, get(&p->present_bytes));
	p->files.missing_bytes = get(&p->missing_bytes);
	p->start_ns = clock_now(p->req->clock);
	r = crew_start(&crew, &p->crew, &task, err);
	if (r)
		return r;
	crew_wait(crew, p->start_ns + ANNOUNCE_NS);
	announce(p);
	return crew_finish(crew, err);
}

static int sync_folders(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { sync_folder, p, folders(p->ds) + 1 };

	return crew_run(&p->crew, &task, err);
}

/* From here on the directory changes. */
static int write_missing(struct prepare *p, bool *started,
			 struct mlgen_err *err)
{
	bool will_be_complete = p->state == MANIFEST_COMPLETE ||
				p->ds->files == p->ds->files_named;
	int r = 0;

	if (p->state != MANIFEST_INCOMPLETE)
		r = manifest_write(p->ds, false, err);
	if (r == 0 && get(&p->missing_files)) {
		*started = true;
		r = write_files(p, err);
		if (r == 0)
			r = sync_folders(p, err);
	}
	if (r == 0 && will_be_complete)
		r = manifest_write(p->ds, true, err);
	return r;
}

static bool has_work(const struct prepare *p)
{
	bool unmarked = p->state != MANIFEST_COMPLETE && !p->req->readonly &&
			p->ds->files == p->ds->files_named;

	return p->replacing || get(&p->missing_files) || unmarked;
}

/* Another mlgen may have been at work before the lock was ours. */
static int examine_again(struct prepare *p, struct mlgen_err *err)
{
	struct dataset now = *p->ds;
	enum manifest_state state;
	struct mlgen_err mismatch = { 0 };
	int r = manifest_read(&now, &state, &mismatch);

	if ((r != 0) == p->replacing && (r != 0 || state == p->state))
		return 0;
	return examine(p, err);
}

static int work_locked(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = examine_again(p, err);

	if (r == 0 && p->replacing)
		r = remove_old(p, started, err);
	if (r == 0 && has_work(p))
		r = write_missing(p, started, err);
	return r;
}

static int work(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = check_readonly(p, err);

	if (r == 0)
		r = check_space(p, err);
	if (r == 0)
		r = make_directory(p->ds->directory, err);
	if (r == 0)
		r = dirlock_take(&p->lock, p->ds->directory, err);
	if (r == 0)
		r = work_locked(p, started, err);
	dirlock_drop(&p->lock);
	return r;
}

static int drop_file(struct crew_worker *w, uint64_t index,
		     struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	int r = datafile_path(p->ds, index, w->path, err);

	if (r == 0)
		cache_drop(w->path); /* what fails costs only memory */
	return r;
}

/* Files are dropped as they are written; those that were there may be in the
 * page cache. */
static int look_at_cache(struct prepare *p, struct prepare_result *result,
			 struct mlgen_err *err)
{
	const struct crew_task task = { drop_file, p, p->ds->files };
	bool leaves_none =
		p->req->check_all || get(&p->files.written_files) > 0;
	uint64_t end_ns = leaves_none ? CLOCK_NEVER
				      : clock_now(p->req->clock) + RESIDENT_NS;
	struct residency found;
	int r = 0;

	residency_sample(&found, p->ds, p->req->clock, end_ns);
	if (leaves_none && !found.is_nothing) {
		r = crew_run(&p->crew, &task, err);
		residency_sample(&found, p->ds, p->req->clock, end_ns);
	}
	result->resident_percent = found.percent;
	result->resident_files = found.files;
	result->is_nothing_resident = found.is_nothing;
	return r;
}

static void fill_result(const struct prepare *p, struct prepare_result *result)
{
	result->files_written = get(&p->files.written_files);
	result->bytes_written = get(&p->files.written_bytes);
	result->files_kept = get(&p->present_files);
}

static int interrupted(const struct prepare *p, struct mlgen_err *err)
{
	return mlgen_fail(err, CREW_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files written; the next run goes on from there",
			  p->ds->directory,
			  get(&p->present_files) + get(&p->files.written_files),
			  p->ds->files);
}

/* The job's engine if it can write at all. */
static const struct mlgen_engine *writer_of(const struct mlgen_engine *engine)
{
	return engine->caps & MLGEN_CAP(MLGEN_WRITE) ? engine
						     : engines_find("psync");
}

static unsigned worker_count(void)
{
	struct host host;

	host_read(&host);
	return host.cpus * 2 < LEAST_WORKERS  ? LEAST_WORKERS
	       : host.cpus * 2 > MOST_WORKERS ? MOST_WORKERS
					      : (unsigned)host.cpus * 2;
}

int prepare_dataset(const struct prepare_request *req,
		    struct prepare_result *result, bool *started,
		    struct mlgen_err *err)
{
	struct prepare p = { .req = req,
			     .ds = req->dataset,
			     .progress = req->progress };
	uint64_t start_ns = clock_now(req->clock);
	int r;

	*result = (struct prepare_result){ .resident_percent = (double)NAN };
	if (req->engine->caps & MLGEN_CAP_NO_FILES)
		return 0;
	p.files.dataset = p.ds;
	p.files.bytes_done = &p.progress->bytes_done;
	p.crew.engine = writer_of(req->engine);
	if (p.crew.engine == req->engine)
		p.crew.engine_opts = req->engine_opts;
	p.crew.clock = req->clock;
	p.crew.stop = &req->progress->stop;
	p.crew.workers = worker_count();
	r = examine(&p, err);
	if (r == 0 && has_work(&p))
		r = work(&p, started, err);
	fill_result(&p, result);
	if (r == 0)
		r = look_at_cache(&p, result, err);
	result->wall_ns = clock_now(req->clock) - start_ns;
	result->interrupted = r == CREW_STOPPED;
	return r == CREW_STOPPED ? interrupted(&p, err) : r;
}
