/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - prepare a dataset: examine its directory, remove old files, write missing ones. */
#include "run/make/make_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "io/engines.h"
#include "io/devices.h"
#include "io/host.h"

/* ---- files leave the page cache ---- */

/* Time limit of a look at the page cache, so that it does not delay a run that writes nothing. */
#define RESIDENT_NS UINT64_C(20000000)

static int drop_file(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct prepare *p = w->owner;
	uint64_t in_set = index;
	unsigned set = datafiles_set(&p->files, &in_set);
	int r;

	if (!dataset_has_file(p->files.sets[set], in_set))
		return 0;
	r = datafile_path(&p->files, index, w->path, err);

	/* A failure costs only memory, unless the path is not a regular file. */
	if (r == 0 && pagecache_drop(w->path) < 0)
		r = filekind_check(w->path, "", err);
	return r;
}

/* Sample one set. A path that cannot be sampled is checked, since even a trusted dataset may
 * contain a path that is not a regular file. */
static int sample_set(struct residency *r, const struct prepare *p, const struct dataset *ds,
		      uint64_t end_ns, struct mlgen_err *err)
{
	char path[PATH_MAX];

	residency_sample(r, ds, p->req->clock, end_ns);
	if (r->failed_file == UINT64_MAX ||
	    dataset_path(ds, r->failed_file, path, sizeof(path)) <= 0)
		return 0;
	return filekind_check(path, ds->scan ? "" : FILEKIND_OF_DATASET, err);
}

static int sample_cache(const struct prepare *p, uint64_t end_ns, struct residency *sampled,
			struct mlgen_err *err)
{
	struct residency eval = { .is_nothing = true };
	int r = sample_set(sampled, p, p->ds, end_ns, err);

	if (r == 0 && p->eval)
		r = sample_set(&eval, p, p->eval, end_ns, err);
	sampled->is_nothing &= eval.is_nothing;
	return r;
}

/*
 * Sample the dataset's pages in the page cache. New files were dropped as they were written, but
 * older files may still be cached. If the sample finds pages, a run that made files or has
 * check_all drops all files and samples again, however long that takes. 0, or -errno with err for a
 * path that is not a regular file.
 */
static int look_at_cache(struct prepare *p, struct prepare_result *result, struct mlgen_err *err)
{
	const struct pool_task task = { drop_file, p, datafiles_count(&p->files) };
	bool leaves_none = p->req->check_all || count_get(&p->maker.made_files) > 0;
	uint64_t end_ns = leaves_none ? CLOCK_NEVER : clock_now(p->req->clock) + RESIDENT_NS;
	struct residency sampled;
	int r = sample_cache(p, end_ns, &sampled, err);

	if (r == 0 && leaves_none && !sampled.is_nothing) {
		r = pool_run(&p->maker.pool, &task, err);
		if (r == 0)
			r = sample_cache(p, end_ns, &sampled, err);
	}
	result->resident_percent = sampled.percent;
	result->resident_files = sampled.files;
	result->is_nothing_resident = sampled.is_nothing;
	return r;
}

/* ---- room, and the storage below ---- */

static int check_readonly(const struct prepare_need *n, struct mlgen_err *err)
{
	if (!n->readonly || !n->missing_files)
		return 0;
	return mlgen_fail(
		err, -EROFS,
		"readonly: %" PRIu64 " of the %" PRIu64
		" files of %s are missing; write them once without --readonly (--phase=prepare)",
		n->missing_files, n->present_files + n->missing_files, n->dataset->directory);
}

static int check_writable(const struct prepare_need *n, struct mlgen_err *err)
{
	char files[UNITS_TEXT_BYTES], what[UNITS_TEXT_BYTES + 8];

	if (!n->missing_files)
		return 0;
	snprintf(what, sizeof(what), "%s file%s", units_human_count(files, n->missing_files),
		 plural(n->missing_files));
	return filemaker_check_writable(n->dataset->directory, what, "--directory", err);
}

static int check_space(const struct prepare_need *n, struct mlgen_err *err)
{
	struct filemaker_room room = { .path = n->dataset->directory,
				       .purpose = "to write",
				       .missing_bytes = n->missing_bytes,
				       .allow_fill = n->allow_fill };
	struct mount m;
	uint64_t unit = 1;
	char way_out[64] = "use another directory";
	int r = mount_read(&m, room.path, err);

	if (r)
		return r;
	room.free_bytes = m.free_bytes + n->freed_bytes;
	/* Number of files that would fit, including those that exist. The number is an estimate, so
	 * it is rounded down to three digits. */
	uint64_t usable = filemaker_usable(room.free_bytes, room.allow_fill);
	double bytes = (double)n->present_bytes + (double)usable - (double)n->eval_bytes;
	uint64_t files = bytes > 0 ? (uint64_t)(bytes / dataset_mean_file_bytes(n->dataset)) : 0;
	while (files / unit >= 1000)
		unit *= 10;
	files -= files % unit;
	if (files)
		snprintf(way_out, sizeof(way_out), "--num_files=%" PRIu64 " would fit", files);
	room.way_out = way_out;
	room.or_fill = files ? " (or --allow_fill)" : ", or --allow_fill";
	return filemaker_check_room(&room, err);
}

const struct prepare_rule prepare_rules[] = {
	{ "dataset", check_readonly },
	{ "dataset", check_writable },
	{ "space", check_space },
	{ NULL, NULL },
};

/* ---- writing ---- */

/* Message of rank 0 to the other processes: the state of the dataset, and whether to write. */
struct prepare_order {
	bool writes, is_fresh, looks_inside;
	bool trusted[2], ours[2];
	uid_t maker;
};

/* Size of a dataset; 0 for NULL. */
static uint64_t dataset_bytes_of(const struct dataset *ds)
{
	struct dataset_totals t = { 0 };

	if (ds)
		dataset_totals(ds, &t);
	return t.bytes;
}

static void count_all_missing(struct prepare *p)
{
	count_set(&p->maker.missing_files, datafiles_count(&p->files));
	count_set(&p->maker.missing_bytes, dataset_bytes_of(p->ds) + dataset_bytes_of(p->eval));
}

static int write_file(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	uint64_t in_set = index;
	int r = p->trusted[datafiles_set(&p->files, &in_set)];

	if (index % hosts_total(p->req->hosts) != hosts_rank(p->req->hosts))
		return 0;
	if (r == 0 && !p->is_fresh)
		r = datafile_look(&p->files, w, index, err);
	if (r)
		return r < 0 ? r : 0;
	return datafile_write(&p->files, &p->maker, w, index, err);
}

static void announce_writing(const void *arg, const char *time)
{
	const struct prepare *p = arg;
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	char present[UNITS_TEXT_BYTES], kept[64] = "", by[64] = "";
	uint64_t missing = p->missing_files;

	if (hosts_total(p->req->hosts) > 1)
		snprintf(by, sizeof(by), "by %u processes, ", hosts_total(p->req->hosts));

	if (count_get(&p->maker.present_files))
		snprintf(kept, sizeof(kept), "%s already present; ",
			 units_human_count(present, count_get(&p->maker.present_files)));
	log_plain("%s: writing %s %s file%s, %s to %s (%s%s%s)", p->req->job_name,
		  units_human_count(files, missing), p->ds->format->name, missing == 1 ? "" : "s",
		  units_human_bytes(bytes, (double)p->missing_bytes), p->ds->directory, kept, by,
		  time);
}

static void announce_nothing(const void *arg, const char *time)
{
	(void)arg;
	(void)time;
}

/* Agree with the other processes: if one process fails or is stopped, all processes return its
 * result. */
static int agree_on_end(const struct prepare *p, int r, struct mlgen_err *err)
{
	struct hosts *h = p->req->hosts;
	uint64_t stopped = 0;
	int rc = hosts_agree(h, r < 0 ? r : 0, err);

	if (rc == 0)
		rc = hosts_vote(h, r == POOL_STOPPED, &stopped, err);
	return rc == 0 && stopped ? POOL_STOPPED : rc;
}

/* Write this process's share of the missing files, and sync all folders. */
static int write_share(struct prepare *p, struct mlgen_err *err)
{
	const struct pool_task files = { write_file, p, datafiles_count(&p->files) };
	const struct pool_task folders = { datafolder_sync, &p->files,
					   datafolders_count(&p->files) };
	unsigned n = hosts_total(p->req->hosts);
	bool announces = hosts_rank(p->req->hosts) == 0;

	p->missing_files = count_get(&p->maker.missing_files);
	p->missing_bytes = count_get(&p->maker.missing_bytes);
	count_set(&p->maker.missing_files, (p->missing_files + n - 1) / n);
	count_set(&p->maker.missing_bytes, (p->missing_bytes + n - 1) / n);
	filemaker_begin(&p->maker);
	int r = filemaker_run(&p->maker, &files, announces ? announce_writing : announce_nothing, p,
			      err);
	return r ? r : pool_run(&p->maker.pool, &folders, err);
}

/* Send the order of rank 0 to the other processes, if there are any. */
static int send_order(struct prepare *p, bool writes, struct mlgen_err *err)
{
	const struct prepare_order order = {
		.writes = writes,
		.is_fresh = p->is_fresh,
		.looks_inside = p->files.looks_inside,
		.trusted = { p->trusted[0], p->trusted[1] },
		.ours = { p->files.ours[0], p->files.ours[1] },
		.maker = p->lock.maker,
	};
	struct buf b = { 0 };

	p->has_sent_order = true;
	buf_addn(&b, (const char *)&order, sizeof(order));
	int rc = hosts_broadcast(p->req->hosts, &b, err);
	buf_fini(&b);
	return rc;
}

/* Ranks other than 0 receive the order of rank 0, and write their share if there is work. */
static int follow_order(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct prepare_order order = { 0 };
	struct buf b = { 0 };
	int r = hosts_broadcast(p->req->hosts, &b, err);

	if (r == 0)
		memcpy(&order, buf_str(&b), sizeof(order));
	buf_fini(&b);
	if (r < 0 || !order.writes)
		return r < 0 ? r : 0;
	p->is_fresh = order.is_fresh;
	p->files.looks_inside = order.looks_inside;
	for (unsigned i = 0; i < 2; i++) {
		p->trusted[i] = order.trusted[i];
		p->files.ours[i] = order.ours[i];
	}
	*started = true;
	r = datadir_open(&p->files.dir, p->ds->directory, order.maker, err);
	bool is_open = r == 0;
	count_all_missing(p);
	if (r == 0)
		r = write_share(p, err);
	r = agree_on_end(p, r, err);
	if (is_open)
		datadir_close(&p->files.dir);
	return r;
}

/* ---- the state of the directory ---- */

static int survey_file(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	uint64_t in_set = index;
	unsigned set = datafiles_set(&p->files, &in_set);
	uint64_t bytes = dataset_file_bytes(p->files.sets[set], in_set);
	int r = p->trusted[set] ? 1 : datafile_look(&p->files, w, index, err);

	if (r < 0)
		return r;
	count_add_shared(r ? &p->maker.present_files : &p->maker.missing_files, 1);
	count_add_shared(r ? &p->maker.present_bytes : &p->maker.missing_bytes, bytes);
	return 0;
}

/* A folder that cannot be looked up is assumed to exist. */
static bool has_folder(const struct dataset *ds)
{
	char path[PATH_MAX];

	for (unsigned part = 0; ds && part < ds->parts; part++)
		if (dataset_folder(ds, part, path, sizeof(path)) > 0 &&
		    (access(path, F_OK) == 0 || errno != ENOENT))
			return true;
	return false;
}

static int survey(struct prepare *p, struct mlgen_err *err)
{
	const struct pool_task task = { survey_file, p, datafiles_count(&p->files) };
	bool trusts_all = p->trusted[0] && (p->trusted[1] || !p->eval);

	count_set(&p->maker.missing_files, 0);
	count_set(&p->maker.missing_bytes, 0);
	count_set(&p->maker.present_files, 0);
	count_set(&p->maker.present_bytes, 0);
	p->is_fresh =
		!p->trusted[0] && !p->trusted[1] && !has_folder(p->ds) && !has_folder(p->eval);
	if (trusts_all)
		count_set(&p->maker.present_files, datafiles_count(&p->files));
	else if (p->is_fresh || p->replacing)
		count_all_missing(p);
	else
		return pool_run(&p->maker.pool, &task, err);
	return 0;
}

static int check_file(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct prepare *p = w->owner;
	uint64_t first = index ? dataset_all_files(p->ds) : 0;
	struct mlgen_err why = { 0 };
	int r = datafile_check(&p->files, w, first, &why);

	if (r && p->trusted[index])
		return mlgen_fail(err, r, "%s", why.text);
	p->files.looks_inside |= r == -EILSEQ;
	return 0;
}

/* Check the first training and evaluation file: a fault that all files have shows there. */
static int check_first(struct prepare *p, struct mlgen_err *err)
{
	struct pool_task task = { check_file, p, 1 };
	struct pool_config one = p->maker.pool;
	int r;

	/* The run, not its preparation, exercises the engine. */
	one.engine = engines_find("psync");
	one.engine_opts = NULL;
	one.workers = 1;
	if (p->files.ours[1])
		task.count = 2;
	r = pool_run(&one, &task, err);
	return r == POOL_STOPPED ? 0 : r; /* the next step stops, too */
}

static int sample_files(const struct prepare *p, struct mlgen_err *err)
{
	const struct datasample sample = {
		.files = &p->files,
		.is_complete = { p->trusted[0], p->trusted[1] },
		.all = p->req->thorough,
		.first_files = p->req->first_files,
		.forgiving = p->req->forgiving,
		.pool = &p->maker.pool,
	};

	return datasample_check(&sample, err);
}

static int read_manifests(struct prepare *p, struct mlgen_err *mismatch)
{
	int r = manifest_read(p->ds, &p->state, mismatch);

	p->eval_state = MANIFEST_ABSENT;
	if (r == 0 && p->eval)
		r = manifest_read_eval(p->eval, p->ds, &p->eval_state, mismatch);
	p->replacing = r != 0;
	p->files.ours[0] = p->state != MANIFEST_ABSENT;
	p->files.ours[1] = p->eval_state != MANIFEST_ABSENT;
	p->files.looks_inside = false;
	p->trusted[0] = p->state == MANIFEST_COMPLETE && !p->req->check_all;
	p->trusted[1] = p->eval_state == MANIFEST_COMPLETE && !p->req->check_all;
	return r;
}

/* Look at the manifest, then at the files. A dataset with another description is an error; with
 * `replace`, it will be removed. */
static int examine(struct prepare *p, struct mlgen_err *err)
{
	struct mlgen_err mismatch = { 0 };
	int r = read_manifests(p, &mismatch);

	if (r && !p->req->replace)
		return mlgen_fail(err, r, "%s", mismatch.text);
	if (r == 0 && p->files.ours[0])
		r = check_first(p, err);
	else
		return survey(p, err);
	if (r == 0)
		r = sample_files(p, err);
	return r ? r : survey(p, err);
}

/* Do the job's files include all files of the manifest? */
static bool covers_all(const struct prepare *p)
{
	uint64_t eval = p->eval ? p->eval->files : 0;

	return p->ds->files == p->ds->files_named &&
	       (p->ds->eval_files == eval || !p->ds->eval_files);
}

static int write_missing(struct prepare *p, bool *started, struct mlgen_err *err)
{
	bool will_be_complete = p->state == MANIFEST_COMPLETE || covers_all(p);
	bool adds_eval = p->eval && p->eval_state == MANIFEST_ABSENT;
	int r = 0;

	if (adds_eval)
		p->ds->eval_files = p->eval->files_named;
	if (p->state != MANIFEST_INCOMPLETE || adds_eval)
		r = manifest_write(p->ds, false, err);
	if (r == 0 && count_get(&p->maker.missing_files)) {
		*started = true;
		r = send_order(p, true, err);
		if (r == 0)
			r = agree_on_end(p, write_share(p, err), err);
	}
	if (r == 0 && will_be_complete)
		r = manifest_write(p->ds, true, err);
	return r;
}

static bool has_work(const struct prepare *p)
{
	bool unmarked = p->state != MANIFEST_COMPLETE && !p->req->readonly && covers_all(p);

	return p->replacing || count_get(&p->maker.missing_files) || unmarked;
}

/* Another mlgen may have changed the directory before it was locked. */
static int examine_again(struct prepare *p, struct mlgen_err *err)
{
	enum manifest_state state = p->state, eval_state = p->eval_state;
	bool replacing = p->replacing, looks_inside = p->files.looks_inside;
	struct mlgen_err mismatch = { 0 };
	int r = read_manifests(p, &mismatch);

	p->files.looks_inside = looks_inside;
	if (p->replacing == replacing && (r || (p->state == state && p->eval_state == eval_state)))
		return 0;
	return examine(p, err);
}

static int work_locked(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = datadir_open(&p->files.dir, p->ds->directory, p->lock.maker, err);

	if (r)
		return r;
	r = examine_again(p, err);
	if (r == 0)
		r = datafolders_check(&p->files, false, err);
	if (r == 0 && p->replacing) {
		r = dataremove_all(&p->maker.pool, &p->files.dir, started, err);
		if (r == 0) {
			/* The job's files are no longer a part of a larger dataset. */
			p->ds->files_named = p->ds->files;
			p->ds->eval_files = 0;
			r = examine(p, err);
		}
	}
	if (r == 0 && has_work(p))
		r = write_missing(p, started, err);
	datadir_close(&p->files.dir);
	return r;
}

static int work(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct prepare_need need = {
		.dataset = p->ds,
		.readonly = p->req->readonly,
		.allow_fill = p->req->allow_fill,
		.missing_files = count_get(&p->maker.missing_files),
		.missing_bytes = count_get(&p->maker.missing_bytes),
		.present_files = count_get(&p->maker.present_files),
		.present_bytes = count_get(&p->maker.present_bytes),
		.eval_bytes = dataset_bytes_of(p->eval),
	};
	char path[PATH_MAX], why[NOROOM_BYTES];
	int r = p->replacing ? dataremove_bytes(p->ds->directory, &need.freed_bytes, err) : 0;

	/* Refuse before the first byte is written. */
	for (const struct prepare_rule *rule = prepare_rules; rule->name && r == 0; rule++)
		r = rule->ask(&need, err);
	if (r == 0) {
		snprintf(path, sizeof(path), "%s", p->ds->directory);
		r = dirs_make(path, NULL);
		if (r)
			mlgen_fail(err, r,
				   "%s: mkdir: %s%s; create it, or use another directory=", path,
				   strerror(-r), noroom_text(why, p->ds->directory, r, 0));
	}
	if (r == 0)
		r = dirlock_acquire(&p->lock, p->ds->directory, err);
	if (r == 0)
		r = work_locked(p, started, err);
	dirlock_drop(&p->lock);
	return r;
}

/* Rank 0 does the work of a single process; other ranks follow its order. */
static int complete_together(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct mlgen_err ignored = { 0 };
	bool leads = hosts_rank(p->req->hosts) == 0;
	int r = leads ? examine(p, err) : follow_order(p, started, err);

	if (leads && r == 0 && has_work(p))
		r = work(p, started, err);
	if (leads && !p->has_sent_order)
		send_order(p, false, &ignored);
	r = agree_on_end(p, r, err);
	/* The other ranks read the finished manifest, too. */
	return !leads && r == 0 ? read_manifests(p, err) : r;
}

static void prepare_init(struct prepare *out, const struct prepare_request *req)
{
	uint64_t largest_bytes = 0;

	*out = (struct prepare){
		.req = req,
		.ds = req->dataset,
		.maker = { .kind = &datafile_kind,
			   .progress = req->progress,
			   .pool = { .traced = req->traced,
				     .engine = req->engine,
				     .engine_opts = req->engine_opts,
				     .clock = req->clock } },
	};
	if (req->eval && req->eval->files)
		out->eval = req->eval;
	out->files.sets[0] = out->ds;
	out->files.sets[1] = out->eval;
	/* The largest file with samples, or any that has POOL_MOST_BYTES; files without samples are
	 * small. */
	for (unsigned i = 0; i < 2; i++) {
		const struct dataset *ds = out->files.sets[i];

		if (ds)
			largest_bytes = u64_max(
				largest_bytes,
				dataset_file_bytes(ds, dataset_large_file(ds, POOL_MOST_BYTES)));
	}
	filemaker_init(&out->maker, largest_bytes);
}

int prepare_dataset(const struct prepare_request *req, struct prepare_result *result, bool *started,
		    struct mlgen_err *err)
{
	struct prepare p;
	uint64_t start_ns = clock_now(req->clock);
	int r = 0;

	*result = (struct prepare_result){ .resident_percent = (double)NAN };
	if (req->engine->caps & MLGEN_CAP_NO_FILES)
		return 0;
	prepare_init(&p, req);
	if (p.ds->scan)
		count_set(&p.maker.present_files, datafiles_count(&p.files));
	else
		r = complete_together(&p, started, err);
	result->files_written = count_get(&p.maker.made_files);
	result->bytes_written = count_get(&p.maker.made_bytes);
	result->files_kept = count_get(&p.maker.present_files);
	if (r == 0)
		r = look_at_cache(&p, result, err);
	result->wall_ns = clock_now(req->clock) - start_ns;
	result->interrupted = r == POOL_STOPPED;
	if (r != POOL_STOPPED)
		return r;
	return mlgen_fail(err, POOL_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files written; the next run continues from there",
			  p.ds->directory,
			  count_get(&p.maker.present_files) + count_get(&p.maker.made_files),
			  datafiles_count(&p.files));
}

int prepare_ask(const struct prepare_request *req, struct mlgen_err *err)
{
	struct prepare p;
	int r;

	if (req->engine->caps & MLGEN_CAP_NO_FILES || req->dataset->scan)
		return 0;
	prepare_init(&p, req);
	/* Other rules report a mismatch, and files that are not ours. */
	if (read_manifests(&p, NULL) != 0 || !p.files.ours[0])
		return 0;
	r = check_first(&p, err);
	return r ? r : sample_files(&p, err);
}
