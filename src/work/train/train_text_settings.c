/* SPDX-License-Identifier: Apache-2.0 */
/* train_text_settings.c - what a training ran, and on which dataset. */
#include "work/train/train_text_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "data/file/file.h"
#include "job/job.h"
#include "report/text_noise.h"
#include "report/text_settings.h"

/* "; compute_time is a guess of its source" */
static void put_guesses(struct buf *text, const struct job *job)
{
	struct buf guesses = { 0 };

	guess_text(job, &guesses);
	if (guesses.len)
		buf_addf(text, "; %s", buf_str(&guesses));
	buf_fini(&guesses);
}

static void put_job(struct buf *text, const struct text_block *b)
{
	static const char *const barriers[] = {
		[BARRIER_NONE] = "no barrier",
		[BARRIER_STEP] = "barrier after every step",
		[BARRIER_EPOCH] = "barrier after every epoch",
	};
	const struct job *job = b->job;
	char who[SHOW_ACCELERATORS_BYTES], time[UNITS_TEXT_BYTES];

	show_accelerators(who, b->ml->accelerators, b->ml->accelerator);
	buf_addf(text, "%s, batch %" PRIu64 ", ", who, job->batch_size);
	if (!(dist_mean(&job->compute_time) > 0)) {
		buf_add(text, "no compute");
	} else if (dist_is_const(&job->compute_time)) {
		units_human_time(time, (uint64_t)job->compute_time.a);
		buf_addf(text, "compute %s per step", time);
	} else {
		buf_add(text, "compute ");
		dist_format(text, &job->compute_time, DIST_NS);
		buf_add(text, " per step");
	}
	buf_addf(text, ", %s", barriers[job->barrier]);
	put_guesses(text, job);
	if (b->result->members > 1)
		buf_addf(text, "; %u jobs together", b->result->members);
}

/* Whose calls access=framework makes. */
static const char *reader_of(const struct text_block *b)
{
	const struct dataset *ds = b->result->dataset;

	return ds && ds->format && ds->format->reader ? ds->format->reader : "its framework";
}

/* Name the order of shards: resolve.c may have chosen it, not the user. */
static void put_shards(struct buf *text, const struct job *job)
{
	buf_add(text, ", each file from front to back (loader=tfdata, shuffle=");
	job_option_text(job, "shuffle", text);
	buf_addc(text, ')');
}

static void put_threads(struct buf *text, const struct text_block *b)
{
	const struct job *job = b->job;

	if (job->read_threads)
		text_say(text, b, "{readers} read thread{s} ({readers_each} per accelerator)");
	else
		buf_add(text, "each accelerator's own thread");
	text_say(text, b, ", ioengine={ioengine}[ ({ml.in_use})], {direct=}");
	buf_addf(text, ", iodepth=%u", job_depth(job));
	if (job->direct)
		text_say(text, b, "[ (aligned to {read_align_bytes})]");
	if (job->access == ACCESS_PLAIN)
		text_say(text, b, ", {bs.read} reads");
	else if (job->access == ACCESS_RECORDED)
		text_say(text, b, ", reads as recorded in {recorded_calls}");
	else
		buf_addf(text, ", reads as %s does", job->direct ? "DLIO" : reader_of(b));
	if (job->dataset == DATASET_SCAN && job->loader == LOADER_TFDATA)
		put_shards(text, job);
}

/* "146.6 MB (mean)"; "2 MiB" where all files have one, round, size. */
static void put_file_size(struct buf *text, const struct dataset_totals *t)
{
	char size[UNITS_TEXT_BYTES];
	bool varies = t->stdev_file_bytes > 0;

	if (!varies && fmod(t->mean_file_bytes, 1024) <= 0)
		units_human_bytes(size, t->mean_file_bytes);
	else
		units_human_mb(size, t->mean_file_bytes);
	buf_addf(text, "%s%s", size, varies ? " (mean)" : "");
}

static void put_dataset(struct buf *text, const struct text_block *b)
{
	const struct dataset *ds = b->result->dataset;
	const struct dataset_totals *t = &b->result->totals;
	char number[UNITS_TEXT_BYTES];

	if (!ds)
		return;
	buf_addf(text, "%s %s file%s of ", units_human_count(number, ds->files), ds->format->name,
		 plural(ds->files));
	put_file_size(text, t);
	if (ds->uneven_samples)
		buf_addf(text, ", %s samples", units_human_count(number, ds->uneven_samples));
	else if (ds->samples_per_file > 1)
		buf_addf(text, ", %s samples each",
			 units_human_count(number, ds->samples_per_file));
	if (t->label_files > 0)
		buf_addf(text, ", %s with a label file",
			 units_human_count(number, (uint64_t)t->label_files));
	buf_addf(text, ", %s", units_human_bytes(number, (double)t->bytes));
	if (t->estimate)
		buf_add(text, " (estimate)");
	text_memory_ratio(text, b, (double)t->bytes);
}

const struct text_line train_settings[] = {
	{ NULL, text_title },        { "job", put_job },
	{ "threads", put_threads },  { "dataset", put_dataset },
	{ "storage", text_storage }, { "host", text_machine },
	{ NULL, text_command },      { 0 },
};
