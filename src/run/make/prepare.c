/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - prepares the directory of a data set: looks, removes, writes, and looks again. */
#include "run/make/make_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "io/engines.h"
#include "io/mount.h"
#include "io/pagecache.h"

struct prepare_cache {
	const struct crew_config *crew;
	struct datafiles *files;
	struct clock *clock;
	bool leaves_none; /* drop what is found there */
};

/* ---- the page cache loses what was written ---- */

/* A start that writes nothing is not held up by looking at the page cache. */
#define RESIDENT_NS UINT64_C(20000000)

static int drop_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct prepare_cache *c = w->owner;
	uint64_t in_set = index;
	unsigned set = datafiles_set(c->files, &in_set);
	int r;

	if (!dataset_has_file(c->files->sets[set], in_set))
		return 0;
	r = datafile_path(c->files, index, w->path, err);

	/* What fails costs only memory, unless it is no file. */
	if (r == 0 && pagecache_drop(w->path) < 0)
		r = filekind_check(w->path, "", err);
	return r;
}

/* Trusted or not: what could not be looked at may be no file. */
static int sample_set(struct residency *r, const struct prepare_cache *c, const struct dataset *ds,
		      uint64_t end_ns, struct mlgen_err *err)
{
	char path[PATH_MAX];

	residency_sample(r, ds, c->clock, end_ns);
	if (r->failed_file == UINT64_MAX ||
	    dataset_path(ds, r->failed_file, path, sizeof(path)) <= 0)
		return 0;
	return filekind_check(path, ds->scan ? "" : FILEKIND_OF_DATASET, err);
}

static int sample_cache(const struct prepare_cache *c, uint64_t end_ns, struct residency *found,
			struct mlgen_err *err)
{
	struct residency eval = { .is_nothing = true };
	int r = sample_set(found, c, c->files->sets[0], end_ns, err);

	if (r == 0 && c->files->sets[1])
		r = sample_set(&eval, c, c->files->sets[1], end_ns, err);
	found->is_nothing &= eval.is_nothing;
	return r;
}

/*
 * Files are dropped as they are written; those that were there may be in the page cache. What a
 * sample finds goes into the result; where there is to be none, all files are dropped and looked at
 * once more, however long that takes. 0 or -errno with err: a file may be no file.
 */
static int prepare_cache_look(struct prepare_cache *c, struct prepare_result *result,
			      struct mlgen_err *err)
{
	const struct crew_task task = { drop_file, c, datafiles_count(c->files) };
	uint64_t end_ns = c->leaves_none ? CLOCK_NEVER : clock_now(c->clock) + RESIDENT_NS;
	struct residency found;
	int r = sample_cache(c, end_ns, &found, err);

	if (r == 0 && c->leaves_none && !found.is_nothing) {
		r = crew_run(c->crew, &task, err);
		if (r == 0)
			r = sample_cache(c, end_ns, &found, err);
	}
	result->resident_percent = found.percent;
	result->resident_files = found.files;
	result->is_nothing_resident = found.is_nothing;
	return r;
}

/* ---- room, and the storage below ---- */

/* So many files would go into `room`; three digits are what such a number is good for. */
static uint64_t files_for(const struct dataset *ds, double bytes)
{
	uint64_t files = bytes > 0 ? (uint64_t)(bytes / dataset_mean_file_bytes(ds)) : 0;
	uint64_t unit = 1;

	while (files / unit >= 1000)
		unit *= 10;
	return files - files % unit;
}

#define WAY_OUT_BYTES 64

/* What would fit into room->free_bytes, in whole files with those that are there, or where else it
 * would: way_out, which is `out`, and or_fill. */
static void put_way_out(char out[WAY_OUT_BYTES], struct filemaker_room *room,
			const struct prepare_need *n)
{
	uint64_t usable = filemaker_usable(room->free_bytes, room->allow_fill);
	uint64_t files = files_for(n->dataset, (double)n->present_bytes + (double)usable -
						       (double)n->eval_bytes);

	room->way_out = out;
	room->or_fill = files ? " (or --allow_fill)" : ", or --allow_fill";
	if (files)
		snprintf(out, WAY_OUT_BYTES, "--num_files=%" PRIu64 " would fit", files);
	else
		snprintf(out, WAY_OUT_BYTES, "another directory");
}

static int check_readonly(const struct prepare_need *n, struct mlgen_err *err)
{
	if (!n->readonly || !n->missing_files)
		return 0;
	return mlgen_fail(
		err, -EROFS,
		"readonly: %" PRIu64 " of the %" PRIu64
		" files of %s are not there; write them once without --readonly (--phase=prepare)",
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

/* Half of what is free is enough, or all of it with allow_fill. */
static int check_space(const struct prepare_need *n, struct mlgen_err *err)
{
	struct filemaker_room room = { .path = n->dataset->directory,
				       .purpose = "to write",
				       .missing_bytes = n->missing_bytes,
				       .allow_fill = n->allow_fill };
	struct mount m;
	char way_out[WAY_OUT_BYTES];
	int r = mount_read(&m, room.path, err);

	if (r)
		return r;
	room.free_bytes = m.free_bytes + n->freed_bytes;
	put_way_out(way_out, &room, n);
	return filemaker_check_room(&room, err);
}

const struct prepare_rule prepare_rules[] = {
	{ "dataset", check_readonly },
	{ "dataset", check_writable },
	{ "space", check_space },
	{ NULL, NULL },
};

/* With those above it. 0 or -errno with err. */
static int prepare_make_directory(const char *directory, struct mlgen_err *err)
{
	char path[PATH_MAX], why[NOROOM_BYTES];
	int r;

	snprintf(path, sizeof(path), "%s", directory);
	r = dirs_make(path, NULL);
	return r ? mlgen_fail(err, r, "%s: mkdir: %s%s; make it, or another directory=", path,
			      strerror(-r), noroom_put(why, directory, r, 0))
		 : 0;
}

/* ---- writing ---- */

/* Of several processes: what rank 0 has found, and whether there is anything to write. */
struct prepare_order {
	bool writes, is_fresh, looks_inside;
	bool trusted[2], ours[2];
	uid_t maker;
};

/* Of a dataset; 0 of NULL. */
static uint64_t prepare_bytes_of(const struct dataset *ds)
{
	struct dataset_totals t = { 0 };

	if (ds)
		dataset_totals(ds, &t);
	return t.bytes;
}

/* Nothing is there. */
static void prepare_all_missing(struct prepare *p)
{
	count_set(&p->maker.missing_files, datafiles_count(&p->files));
	count_set(&p->maker.missing_bytes, prepare_bytes_of(p->ds) + prepare_bytes_of(p->eval));
}

static int write_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
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

static int sync_folder(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct prepare *p = w->owner;

	return datafolder_sync(&p->files, w, index, err);
}

/* Writing all of them */

static void prepare_write_announce(const void *arg, const char *time)
{
	const struct prepare *p = arg;
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	char present[UNITS_TEXT_BYTES], kept[64] = "", by[64] = "";
	uint64_t missing = p->missing_files;

	if (hosts_total(p->req->hosts) > 1)
		snprintf(by, sizeof(by), "by %u processes, ", hosts_total(p->req->hosts));

	if (count_get(&p->maker.present_files))
		snprintf(kept, sizeof(kept), "%s there already; ",
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

/* What one has failed in, or was stopped in, is so for all. */
static int prepare_end_together(const struct prepare *p, int r, struct mlgen_err *err)
{
	struct hosts *h = p->req->hosts;
	uint64_t stopped = 0;
	int rc = hosts_agree(h, r < 0 ? r : 0, err);

	if (rc == 0)
		rc = hosts_vote(h, r == CREW_STOPPED, &stopped, err);
	return rc == 0 && stopped ? CREW_STOPPED : rc;
}

/* Its share of them, as of what all are told. */
static int write_share(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { write_file, p, datafiles_count(&p->files) };
	unsigned n = hosts_total(p->req->hosts);
	bool says = hosts_rank(p->req->hosts) == 0;

	p->missing_files = count_get(&p->maker.missing_files);
	p->missing_bytes = count_get(&p->maker.missing_bytes);
	count_set(&p->maker.missing_files, (p->missing_files + n - 1) / n);
	count_set(&p->maker.missing_bytes, (p->missing_bytes + n - 1) / n);
	filemaker_begin(&p->maker);
	return filemaker_run(&p->maker, &task, says ? prepare_write_announce : announce_nothing, p,
			     err);
}

/* Rank 0 says what it has found; a process alone says it to nobody. */
static int prepare_tell(struct prepare *p, bool writes, struct mlgen_err *err)
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

	p->has_told = true;
	buf_addn(&b, (const char *)&order, sizeof(order));
	int rc = hosts_share(p->req->hosts, &b, err);
	buf_fini(&b);
	return rc;
}

static int sync_folders(struct prepare *p, struct mlgen_err *err)
{
	const struct crew_task task = { sync_folder, p, datafolders_count(&p->files) };

	return crew_run(&p->maker.crew, &task, err);
}

/* Rank 0, which holds the directory: all processes write what is missing, and this gives back when
 * they have. 0, CREW_STOPPED, or -errno with err. */
static int prepare_write(struct prepare *p, struct mlgen_err *err)
{
	int r = prepare_tell(p, true, err);

	if (r < 0)
		return r;
	r = write_share(p, err);
	if (r == 0)
		r = sync_folders(p, err);
	return prepare_end_together(p, r, err);
}

/* A process that is not rank 0: until there is nothing more to write. */
static int prepare_write_follow(struct prepare *p, const struct prepare_order *order, bool *started,
				struct mlgen_err *err)
{
	p->is_fresh = order->is_fresh;
	p->files.looks_inside = order->looks_inside;
	for (unsigned i = 0; i < 2; i++) {
		p->trusted[i] = order->trusted[i];
		p->files.ours[i] = order->ours[i];
	}
	*started = true;
	int r = datadir_open(&p->files.dir, p->ds->directory, order->maker, err);
	bool is_open = r == 0;
	prepare_all_missing(p);
	if (r == 0)
		r = write_share(p, err);
	if (r == 0)
		r = sync_folders(p, err);
	r = prepare_end_together(p, r, err);
	if (is_open)
		datadir_close(&p->files.dir);
	return r;
}

/* The others: as they are told; the same. */
static int prepare_take_part(struct prepare *p, bool *started, struct mlgen_err *err)
{
	struct prepare_order order = { 0 };
	struct buf b = { 0 };
	int r = hosts_share(p->req->hosts, &b, err);

	if (r == 0)
		memcpy(&order, buf_str(&b), sizeof(order));
	buf_fini(&b);
	if (r < 0)
		return r;
	return order.writes ? prepare_write_follow(p, &order, started, err) : 0;
}

/* ---- preparing ---- */

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
