/* SPDX-License-Identifier: Apache-2.0 */
/* order_found.c - how often a data set is read, in what order, and which rank has what of it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "distil/order_followed.h"
#include "distil/rank_split.h"

/* An order by chance has a correlation of 3 by the root of n, at most. */
#define FILES_LEAST 8

/* Ends of runs that are where those of that length have to be. */
#define RUNS_EXPLAINED 0.8

/* Of files read more than once in what would be an epoch: of two that run into each other there are
 * fewer. Counts of which the variance is so much more than its share by chance are of different
 * weights. */
#define DRAWN_LEAST 0.05
#define UNEVEN_LEAST 0.3 /* of the mean: variance of counts */
#define UNREAD_MOST 0.5
#define WEIGHTED_LEAST 0.2

struct found_order {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	uint32_t epochs;
	struct order_followed of;
};

/* ---- epochs ---- */

/* A trace that ends in the first epoch. */
static void note_begun(struct found_order *f, uint64_t visits)
{
	const struct distil_found *found = &f->d->found[f->party];
	uint64_t files = found->num_files;
	double samples = (double)visits / fmax(found->visits_per_sample, 1);
	double all = (double)(files * order_samples_per_file(f->d, f->party));

	if (samples >= 0.98 * all)
		return;
	jobsection_note(f->to,
			"The epoch is a part of one: %.0f of %.0f samples (%.0f%%), or lacks a "
			"last batch that is not full. steps= ends a run in the middle of an epoch.",
			samples, all, 100 * samples / all);
}

static void say_epochs(struct found_order *f)
{
	uint64_t most = 0, last = 0;
	enum distil_sure sure = DISTIL_SURE;
	char text[32];

	for (uint32_t i = 0; i < f->d->stage_count; i++) {
		const struct distil_stage *s = &f->d->stages[i];

		if (s->kind != STAGE_TRAIN || s->party != f->party || !f->of.visits[i])
			continue;
		f->epochs++;
		most = u64_max(most, f->of.visits[i]);
		last = f->of.visits[i];
		sure = s->sure > sure ? s->sure : sure;
	}
	snprintf(text, sizeof(text), "%u", f->epochs);
	if (f->epochs > 1)
		jobsection_say(f->to, sure, "epochs", text,
			       "files are read again so many times, less one");
	else
		jobsection_say(f->to, DISTIL_LIKELY, "epochs", text,
			       "no file is read a second time once others were read for the first");
	if (f->epochs == 1)
		note_begun(f, most);
	if (last * 50 < most * 49)
		jobsection_note(f->to,
				"The last epoch is a part of one: %" PRIu64 " of %" PRIu64
				" reads (%.0f%%). steps= ends a run in the middle of an epoch.",
				last, most, 100.0 * (double)last / (double)most);
}

/* ---- order ---- */

static void say_shuffle(struct found_order *f, enum distil_sure sure, const char *value,
			const char *why)
{
	const struct ordered *o = &f->of.is;
	char figures[160] = "";
	size_t n = 0;

	if (!isnan(o->by_name))
		n += (size_t)snprintf(figures, sizeof(figures), "; correlation with names %.2f",
				      o->by_name);
	if (!isnan(o->by_epoch))
		snprintf(figures + n, sizeof(figures) - n, "%s with the epoch before %.2f",
			 n ? "," : "; correlation", o->by_epoch);
	jobsection_say(f->to, sure, "shuffle", value, "%s%s", why, figures);
}

static bool is_by_name(const struct ordered *o)
{
	return o->by_name >= 0.98 || o->ascending >= 0.95;
}

static bool is_far_from(double correlation, double n)
{
	return isnan(correlation) || fabs(correlation) < 4 / sqrt(n);
}

static bool has_runs(const struct order_followed *of)
{
	return of->near.run && of->near.explained >= RUNS_EXPLAINED;
}

/* Runs of neighbours, shuffled, and samples within so many of them. */
static void say_runs(struct found_order *f)
{
	const struct neighbourly *is = &f->of.near;
	uint64_t runs = (uint64_t)llround(fmax(is->window_runs, 1));
	char group[32] = "", text[64];

	if (runs > 1)
		snprintf(group, sizeof(group), ":%" PRIu64, runs);
	snprintf(text, sizeof(text), "chunks:%" PRIu32 "%s", is->run, group);
	jobsection_say(
		f->to, DISTIL_LIKELY, "shuffle", text,
		"samples that lie side by side are read near each other, but where runs of %" PRIu32
		" end: %.0f%% of the places where they are not; as far apart as in windows of %.1f "
		"runs (pages:%" PRIu64 ":%" PRIu64 " is the same in bytes)",
		is->run, 100 * is->explained, is->window_runs,
		is->run * f->d->found[f->party].sample_bytes, runs);
}

/* What a trace of so many files does not show. */
static void note_every(struct found_order *f)
{
	if (f->of.every > 1)
		jobsection_note(f->to,
				"One file in %" PRIu32
				" is looked at: whether neighbours stay together (shuffle=chunks, "
				"pages) is not seen.",
				f->of.every);
}

/* Samples of a file are read one by one. */
static void judge_within(struct found_order *f)
{
	const struct ordered *o = &f->of.is;
	double whole = 1 - 1 / o->per_file;

	if (has_runs(&f->of) && (o->runs < 0.5 * whole || o->inner < 0.75))
		say_runs(f);
	else if (o->runs < 0.5 * whole || o->inner < 0.75)
		say_shuffle(
			f, DISTIL_LIKELY, "sample",
			"samples of a file are read out of order, or those of others between them");
	else if (is_by_name(o) || o->files < FILES_LEAST)
		say_shuffle(f, o->files < FILES_LEAST ? DISTIL_GUESS : DISTIL_LIKELY, "none",
			    "samples are read in the order in which they lie in files, and files "
			    "in that of their names");
	else
		say_shuffle(f, DISTIL_LIKELY, "file",
			    "samples are read in the order in which they lie in a file, and files "
			    "in no order of their names");
}

/* Files are read once in an epoch. */
static void judge_files(struct found_order *f)
{
	const struct ordered *o = &f->of.is;
	const char *all = f->d->found[f->party].samples_per_file > 1 ? "file" : "sample";
	char text[40];

	if (o->files < FILES_LEAST) {
		say_shuffle(f, DISTIL_GUESS, is_by_name(o) ? "none" : all,
			    "so few files show no order");
	} else if (is_by_name(o)) {
		say_shuffle(f, DISTIL_SURE, "none", "files are read in the order of their names");
	} else if (o->by_epoch >= 0.98) {
		say_shuffle(f, DISTIL_LIKELY, "none",
			    "every epoch has the same order, though not that of names: shuffled "
			    "once, or as a directory lists them");
	} else if (o->by_name > 0.5 && o->displaced < o->files / 4) {
		snprintf(text, sizeof(text), "buffer:%" PRIu64,
			 (uint64_t)o->displaced * f->of.every);
		say_shuffle(f, DISTIL_GUESS, text,
			    "files are read near their place by name, at most so many away; mlgen "
			    "reads in order and draws from a buffer");
	} else if (has_runs(&f->of)) {
		say_runs(f);
	} else {
		bool is_sure = f->epochs > 1 && o->files >= 64 &&
			       is_far_from(o->by_name, o->files) &&
			       is_far_from(o->by_epoch, o->files);

		say_shuffle(
			f, is_sure ? DISTIL_SURE : DISTIL_LIKELY, all,
			"files are read in no order of their names, and another one in each epoch");
	}
}

/* ---- draws ---- */

/* Samples: of files that have several each by itself. */
static const struct ordered *drawn_of(const struct found_order *f)
{
	return f->of.samples.reads ? &f->of.samples : &f->of.is;
}

/* Samples of which many are read again before others are read at all, and as unevenly as chance has
 * it; where epochs end is not seen then. Where a visit is for a whole file no sample is told from
 * another. */
static bool is_drawn(const struct found_order *f)
{
	const struct ordered *o = drawn_of(f);

	return (o != &f->of.samples || o->unread < UNREAD_MOST) && o->files >= FILES_LEAST &&
	       o->twice >= DRAWN_LEAST && o->count_variance >= UNEVEN_LEAST * o->count_mean;
}

/* Of the samples that names speak of, the part that is among those counted. */
static double counted_part(const struct found_order *f)
{
	double all = (double)f->d->found[f->party].num_files;

	return all > 0 ? fmin((double)f->of.all_files / all, 1) : 1;
}

static void say_drawn_epochs(struct found_order *f)
{
	double mean = drawn_of(f)->count_mean * counted_part(f) * f->of.is.epochs;
	char text[32];

	snprintf(text, sizeof(text), "%.0f", fmax(mean, 1));
	jobsection_say(f->to, DISTIL_GUESS, "epochs", text,
		       "a sample is read so often in the mean: %.2f", mean);
}

/* Counts of a draw by chance vary as much as their mean is, and by weight more: by the square of
 * how much these vary. */
static void judge_drawn(struct found_order *f)
{
	const struct ordered *o = drawn_of(f);
	double part = counted_part(f), mean = part * o->count_mean;
	double square = o->count_variance + o->count_mean * o->count_mean;
	double variance = part * square - mean * mean;
	double excess = fmax(variance - mean, 0);
	bool is_weighted = excess > WEIGHTED_LEAST * mean;
	char text[48] = "replacement";

	if (is_weighted)
		snprintf(text, sizeof(text), "weighted:lognormal:1:%.2g", sqrt(excess) / mean);
	jobsection_say(
		f->to, is_weighted ? DISTIL_GUESS : DISTIL_LIKELY, "shuffle", text,
		"%.1f%% of samples are read more than once before all are, at most %u times; the "
		"variance of counts is %.2f, that of a draw by chance is its mean, %.2f",
		100 * part * o->twice, o->most, variance, mean);
	jobsection_note(f->to, "Losses are in no trace: what shuffle=importance draws, by weights "
			       "that follow from them, looks like this, too.");
}

/* ---- shard ---- */

static void say_shard(struct found_order *f)
{
	const struct ordered *o = &f->of.is;
	bool stays = isnan(o->same_rank) || o->same_rank >= 0.95;

	if (f->of.ranks < 2)
		return;
	if (o->several > 0.5) {
		jobsection_say(f->to, DISTIL_LIKELY, "shard", "strided",
			       "%.0f%% of files are read by several ranks in an epoch",
			       100 * o->several);
	} else if (stays && o->contiguous >= 0.5) {
		jobsection_say(
			f->to, DISTIL_SURE, "shard", "contiguous",
			"a rank has files whose names stand together, the same ones in each epoch");
	} else if (stays && f->of.every == 1 && o->strided >= 0.95) {
		bool is_file = o->per_file > 1.5 || f->d->found[f->party].samples_per_file > 1 ||
			       (jobsection_value(f->to, "shuffle") &&
				strcmp(jobsection_value(f->to, "shuffle"), "none") != 0);

		jobsection_say(f->to, DISTIL_SURE, "shard", is_file ? "file" : "strided",
			       "%.0f%% of files, by name, are dealt out in turn, the same ones to "
			       "a rank in each epoch",
			       100 * o->strided);
	} else if (stays && !isnan(o->same_rank)) {
		jobsection_say(
			f->to, DISTIL_LIKELY, "shard", "file",
			"%.0f%% of files are read by the rank that had them in the epoch before",
			100 * o->same_rank);
	} else {
		jobsection_say(
			f->to, isnan(o->same_rank) ? DISTIL_GUESS : DISTIL_LIKELY, "shard",
			"strided",
			isnan(o->same_rank)
				? "one epoch does not show whether a rank keeps its files"
				: "each epoch deals files out anew, as DistributedSampler does");
	}
}

static void say_order(struct found_order *f)
{
	if (is_drawn(f)) {
		say_drawn_epochs(f);
		judge_drawn(f);
		return;
	}
	say_epochs(f);
	if (f->of.is.per_file > 1.5 && f->of.is.runs > 0)
		judge_within(f);
	else
		judge_files(f);
	if (strcmp(jobsection_value(f->to, "shuffle"), "sample") == 0)
		note_every(f);
}

static bool shows_order(const struct order_followed *of)
{
	return is_by_name(&of->is) || has_runs(of) ||
	       (of->ranks > 1 && (of->is.contiguous >= 0.5 || of->is.strided >= 0.95));
}

/* By whole names; and where these show nothing, and nothing else tells directories from each other,
 * by the names of files in theirs: one list is dealt out to several directories so. */
static int follow(struct found_order *f, struct mlgen_err *err)
{
	struct order_followed other;
	int rc = order_follow(&f->of, f->d, f->party, ORDER_BY_PATH, err);

	if (rc < 0 || shows_order(&f->of) || f->of.directories < 2)
		return rc;
	rc = order_follow(&other, f->d, f->party, ORDER_BY_BASENAME, err);
	if (rc == 0 && shows_order(&other)) {
		order_followed_fini(&f->of);
		f->of = other;
	} else {
		order_followed_fini(&other);
	}
	return rc;
}

int distil_order(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct found_order f = { .d = d, .party = party, .to = to };
	int rc = rank_split(d, party, err);

	if (rc < 0)
		return rc;
	rc = follow(&f, err);
	if (rc == 0 && f.of.files) {
		say_order(&f);
		say_shard(&f);
	}
	order_followed_fini(&f.of);
	return rc;
}
