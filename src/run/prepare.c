/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - write the files of a dataset that are missing. */
#include "run/prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/log.h"
#include "base/units.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "hosts/hosts.h"
#include "io/engines.h"
#include "run/datafile.h"
#include "run/datafolder.h"
#include "run/dataremove.h"
#include "run/datasample.h"
#include "run/dirlock.h"
#include "run/prepare_cache.h"
#include "run/prepare_inside.h"
#include "run/prepare_place.h"

/* Looking at what is there */

static int survey_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
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

/* What cannot be asked for is there. */
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
	const struct crew_task task = { survey_file, p, datafiles_count(&p->files) };
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
		prepare_all_missing(p);
	else
		return crew_run(&p->maker.crew, &task, err);
	return 0;
}

static int check_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
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

/* The first file, and the first to evaluate with: what is wrong with all is wrong with them. */
static int check_first(struct prepare *p, struct mlgen_err *err)
{
	struct crew_task task = { check_file, p, 1 };
	struct crew_config one = p->maker.crew;
	int r;

	/* With plain calls: what an engine does is for the run to see. */
	one.engine = engines_find("psync");
	one.engine_opts = NULL;
	one.workers = 1;
	if (p->files.ours[1])
		task.count = 2;
	r = crew_run(&one, &task, err);
	return r == CREW_STOPPED ? 0 : r; /* what comes next sees it, too */
}

static int sample_files(const struct prepare *p, struct mlgen_err *err)
{
	const struct datasample sample = {
		.files = &p->files,
		.is_complete = { p->trusted[0], p->trusted[1] },
		.all = p->req->thorough,
		.first_files = p->req->first_files,
		.forgiving = p->req->forgiving,
		.crew = &p->maker.crew,
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

/* The manifest, then the files. A dataset made otherwise is an error, or with `replace` the one to
 * remove. */
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

/* In the place of one that was made otherwise */

static int remove_old(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = dataremove_all(&p->maker.crew, &p->files.dir, started, err);

	if (r)
		return r;
	/* Nothing of it is left to be a part of. */
	p->ds->files_named = p->ds->files;
	p->ds->eval_files = 0;
	return examine(p, err);
}

/* Refusing, before anything is written */

static int check_place(const struct prepare *p, struct mlgen_err *err)
{
	struct prepare_need need = {
		.dataset = p->ds,
		.readonly = p->req->readonly,
		.allow_fill = p->req->allow_fill,
		.missing_files = count_get(&p->maker.missing_files),
		.missing_bytes = count_get(&p->maker.missing_bytes),
		.present_files = count_get(&p->maker.present_files),
		.present_bytes = count_get(&p->maker.present_bytes),
		.eval_bytes = prepare_bytes_of(p->eval),
	};
	int r = p->replacing ? dataremove_bytes(p->ds->directory, &need.freed_bytes, err) : 0;

	for (const struct prepare_rule *rule = prepare_rules; rule->name && r == 0; rule++)
		r = rule->ask(&need, err);
	return r;
}

/* Are the job's files all that its manifest speaks of? */
static bool covers_all(const struct prepare *p)
{
	uint64_t eval = p->eval ? p->eval->files : 0;

	return p->ds->files == p->ds->files_named &&
	       (p->ds->eval_files == eval || !p->ds->eval_files);
}

/* From here on the directory changes. */
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
		r = prepare_write(p, err);
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

/* Another mlgen may have been at work before the lock was ours. */
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
	int r = examine_again(p, err);

	if (r == 0)
		r = datafolders_check(&p->files, false, err);
	if (r == 0 && p->replacing)
		r = remove_old(p, started, err);
	if (r == 0 && has_work(p))
		r = write_missing(p, started, err);
	return r;
}

static int work_held(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = datadir_open(&p->files.dir, p->ds->directory, p->lock.maker, err);

	if (r == 0) {
		r = work_locked(p, started, err);
		datadir_close(&p->files.dir);
	}
	return r;
}

static int prepare_work(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = check_place(p, err);

	if (r == 0)
		r = prepare_make_directory(p->ds->directory, err);
	if (r == 0)
		r = dirlock_take(&p->lock, p->ds->directory, err);
	if (r == 0)
		r = work_held(p, started, err);
	dirlock_drop(&p->lock);
	return r;
}

static int prepare_complete(struct prepare *p, bool *started, struct mlgen_err *err)
{
	int r = examine(p, err);

	return r == 0 && has_work(p) ? prepare_work(p, started, err) : r;
}

/* All of them: rank 0 as a process alone does, the others as it tells them. */
static int complete_together(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct mlgen_err mismatch = { 0 };
	struct hosts *h = p->req->hosts;
	int r;

	if (hosts_rank(h))
		r = prepare_take_part(p, started, err);
	else
		r = prepare_complete(p, started, err);
	if (hosts_rank(h) == 0 && !p->has_told)
		prepare_tell(p, false, &mismatch);
	r = prepare_end_together(p, r, err);
	/* What the manifest says of the files is known to all. */
	return hosts_rank(h) && r == 0 ? read_manifests(p, err) : r;
}

static int found_all(struct prepare *p)
{
	count_set(&p->maker.present_files, datafiles_count(&p->files));
	return 0;
}

static int look_at_cache(struct prepare *p, struct prepare_result *result, struct mlgen_err *err)
{
	struct prepare_cache c = {
		.crew = &p->maker.crew,
		.files = &p->files,
		.clock = p->req->clock,
		.leaves_none = p->req->check_all || count_get(&p->maker.made_files) > 0,
	};

	return prepare_cache_look(&c, result, err);
}

static void fill_result(const struct prepare *p, struct prepare_result *result)
{
	result->files_written = count_get(&p->maker.made_files);
	result->bytes_written = count_get(&p->maker.made_bytes);
	result->files_kept = count_get(&p->maker.present_files);
}

static int prepare_interrupted(const struct prepare *p, struct mlgen_err *err)
{
	return mlgen_fail(err, CREW_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files written; the next run goes on from there",
			  p->ds->directory,
			  count_get(&p->maker.present_files) + count_get(&p->maker.made_files),
			  datafiles_count(&p->files));
}

/* Of those that hold samples, to which others are small. */
static uint64_t largest_file(const struct prepare *p)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < 2; i++) {
		const struct dataset *ds = p->files.sets[i];
		uint64_t bytes =
			ds ? dataset_file_bytes(ds, dataset_large_file(ds, CREW_MOST_BYTES)) : 0;

		if (bytes > most)
			most = bytes;
	}
	return most;
}

/* Of what a request is about; `out` is zeroed by this. */
static void prepare_begin(struct prepare *out, const struct prepare_request *req)
{
	*out = (struct prepare){
		.req = req,
		.ds = req->dataset,
		.maker = { .kind = &datafile_kind,
			   .progress = req->progress,
			   .crew = { .traced = req->traced,
				     .engine = req->engine,
				     .engine_opts = req->engine_opts,
				     .clock = req->clock } },
	};
	if (req->eval && req->eval->files)
		out->eval = req->eval;
	out->files.sets[0] = out->ds;
	out->files.sets[1] = out->eval;
	filemaker_init(&out->maker, largest_file(out));
}

int prepare_dataset(const struct prepare_request *req, struct prepare_result *result, bool *started,
		    struct mlgen_err *err)
{
	struct prepare p;
	uint64_t start_ns = clock_now(req->clock);
	int r;

	*result = (struct prepare_result){ .resident_percent = (double)NAN };
	if (req->engine->caps & MLGEN_CAP_NO_FILES)
		return 0;
	prepare_begin(&p, req);
	r = p.ds->scan ? found_all(&p) : complete_together(&p, started, err);
	fill_result(&p, result);
	if (r == 0)
		r = look_at_cache(&p, result, err);
	result->wall_ns = clock_now(req->clock) - start_ns;
	result->interrupted = r == CREW_STOPPED;
	return r == CREW_STOPPED ? prepare_interrupted(&p, err) : r;
}

int prepare_ask(const struct prepare_request *req, struct mlgen_err *err)
{
	struct prepare p;
	int r;

	if (req->engine->caps & MLGEN_CAP_NO_FILES || req->dataset->scan)
		return 0;
	prepare_begin(&p, req);
	/* A mismatch, or files of others, are told elsewhere. */
	if (read_manifests(&p, NULL) != 0 || !p.files.ours[0])
		return 0;
	r = check_first(&p, err);
	return r ? r : sample_files(&p, err);
}
