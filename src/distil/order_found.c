/* SPDX-License-Identifier: Apache-2.0 */
/* order_found.c - how often a data set is read, in what order, and which rank has what of it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "distil/ordering.h"
#include "distil/rank_split.h"
#include "distil/rankreads.h"

/* Of more files so many are looked at, and of all of them each read. */
#define FILES_MOST 32768
/* An order by chance has a correlation of 3 by the root of n, at most. */
#define FILES_LEAST 8

/* Of files read more than once in what would be an epoch: of two that run into
 * each other there are fewer. Counts of which the variance is so much more than
 * its share by chance are of different weights. */
#define DRAWN_LEAST 0.05
#define WEIGHTED_LEAST 0.2

struct order_file {
	uint32_t id, name; /* of the entry; number by name */
	char *path;        /* while they are sorted */
};

struct found_order {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	struct keyed keys; /* of ids */
	struct order_file *file;
	size_t room;
	uint32_t every; /* of so many files one is looked at */
	uint32_t ranks, epochs;
	uint64_t *visits; /* by stage */
	uint64_t all_files;
	struct ordered is;
};

/* ---- files by name ---- */

/* A number that has nothing to do with the order of ids. */
static bool is_looked_at(const struct found_order *f, uint32_t id)
{
	uint64_t mixed = id * UINT64_C(0x9e3779b97f4a7c15);

	return (mixed >> 33) % f->every == 0;
}

static int by_path(const void *a, const void *b)
{
	const struct order_file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static void number_by_name(struct found_order *f)
{
	uint32_t n = f->keys.count;
	struct order_file **sorted = mem_array(n + 1, sizeof(*sorted));

	for (uint32_t i = 0; i < n; i++) {
		f->file[i].path = mem_strdup(distil_path(f->d, f->file[i].id));
		sorted[i] = &f->file[i];
	}
	qsort(sorted, n, sizeof(struct order_file *), by_path);
	for (uint32_t i = 0; i < n; i++)
		sorted[i]->name = i;
	for (uint32_t i = 0; i < n; i++)
		mem_free(f->file[i].path);
	mem_free(sorted);
}

static int note_files(struct found_order *f, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	while ((rc = visits_next(f->d->visits, &c, &x, err)) > 0) {
		bool is_new;
		uint32_t n;

		if (!rankreads_is_sample(f->d, x, f->party, STAGE_TRAIN))
			continue;
		f->visits[x->stage]++;
		if (!is_looked_at(f, x->file))
			continue;
		n = keyed_number(&f->keys, x->file, &is_new);
		if (!is_new)
			continue;
		f->file = mem_grow(f->file, &f->room, (size_t)n + 1,
				   sizeof(*f->file));
		f->file[n] = (struct order_file){ .id = x->file };
	}
	f->all_files = (uint64_t)f->keys.count * f->every;
	return rc;
}

/* ---- reads in their order ---- */

static void count_tasks(struct found_order *f)
{
	const struct distil *d = f->d;

	f->ranks = 1;
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party &&
		    d->task[i].rank != UINT32_MAX)
			f->ranks = (uint32_t)u64_max(f->ranks,
						     d->task[i].rank + 1);
}

static int follow_reads(struct found_order *f, struct mlgen_err *err)
{
	struct ordering *o =
		ordering_new(f->keys.count, f->ranks, f->d->task_count);
	struct visits_cursor c = { 0 };
	const struct visit *x;
	uint32_t epoch = 0;
	int rc;

	while ((rc = visits_next(f->d->visits, &c, &x, err)) > 0) {
		const struct distil_task *t = &f->d->task[x->task];
		uint32_t n;

		if (!rankreads_is_sample(f->d, x, f->party, STAGE_TRAIN) ||
		    !keyed_find(&f->keys, x->file, &n))
			continue;
		/* Two epochs may run into each other. */
		epoch = (uint32_t)u64_max(epoch, x->stage);
		ordering_add(
			o, &(struct ordering_read){
				   .file = f->file[n].name,
				   .epoch = epoch,
				   .rank = t->rank == UINT32_MAX ? 0 : t->rank,
				   .worker = x->task,
				   .off = x->off,
			   });
	}
	ordering_end(o, &f->is);
	ordering_free(o);
	return rc;
}

/* ---- epochs ---- */

static void say_epochs(struct found_order *f)
{
	uint64_t most = 0, last = 0;
	enum distil_sure sure = DISTIL_SURE;
	char text[32];

	for (uint32_t i = 0; i < f->d->stage_count; i++) {
		const struct distil_stage *s = &f->d->stages[i];

		if (s->kind != STAGE_TRAIN || s->party != f->party ||
		    !f->visits[i])
			continue;
		f->epochs++;
		most = u64_max(most, f->visits[i]);
		last = f->visits[i];
		sure = s->sure > sure ? s->sure : sure;
	}
	snprintf(text, sizeof(text), "%u", f->epochs);
	if (f->epochs > 1)
		jobsection_say(f->to, sure, "epochs", text,
			       "files are read again so many times, less one");
	else
		jobsection_say(f->to, DISTIL_LIKELY, "epochs", text,
			       "no file is read a second time once others were "
			       "read for the first");
	if (last * 50 < most * 49)
		jobsection_note(f->to,
				"The last epoch is a part of one: %" PRIu64
				" of %" PRIu64 " reads (%.0f%%). steps= ends a "
				"run in the middle of an epoch.",
				last, most,
				100.0 * (double)last / (double)most);
}

/* ---- order ---- */

static void say_shuffle(struct found_order *f, enum distil_sure sure,
			const char *value, const char *why)
{
	const struct ordered *o = &f->is;
	char figures[160] = "";
	size_t n = 0;

	if (!isnan(o->by_name))
		n += (size_t)snprintf(figures, sizeof(figures),
				      "; correlation with names %.2f",
				      o->by_name);
	if (!isnan(o->by_epoch))
		snprintf(figures + n, sizeof(figures) - n,
			 "%s with the epoch before %.2f",
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

/* Samples of a file are read one by one. */
static void judge_within(struct found_order *f)
{
	const struct ordered *o = &f->is;
	double whole = 1 - 1 / o->per_file;

	if (o->runs < 0.5 * whole || o->inner < 0.75)
		say_shuffle(f, DISTIL_LIKELY, "sample",
			    "samples of a file are read out of order, or those "
			    "of others between them");
	else if (is_by_name(o) || o->files < FILES_LEAST)
		say_shuffle(f,
			    o->files < FILES_LEAST ? DISTIL_GUESS
						   : DISTIL_LIKELY,
			    "none",
			    "samples are read in the order in which they lie "
			    "in files, and files in that of their names");
	else
		say_shuffle(f, DISTIL_LIKELY, "file",
			    "samples are read in the order in which they lie "
			    "in a file, and files in no order of their names");
}

/* Files are read once in an epoch. */
static void judge_files(struct found_order *f)
{
	const struct ordered *o = &f->is;
	const char *all =
		f->d->found[f->party].samples_per_file > 1 ? "file" : "sample";
	char text[40];

	if (o->files < FILES_LEAST) {
		say_shuffle(f, DISTIL_GUESS, is_by_name(o) ? "none" : all,
			    "so few files show no order");
	} else if (is_by_name(o)) {
		say_shuffle(f, DISTIL_SURE, "none",
			    "files are read in the order of their names");
	} else if (o->by_epoch >= 0.98) {
		say_shuffle(f, DISTIL_LIKELY, "none",
			    "every epoch has the same order, though not that "
			    "of names: shuffled once, or as a directory lists "
			    "them");
	} else if (o->by_name > 0.5 && o->displaced < o->files / 4) {
		snprintf(text, sizeof(text), "buffer:%" PRIu64,
			 (uint64_t)o->displaced * f->every);
		say_shuffle(f, DISTIL_GUESS, text,
			    "files are read near their place by name, at most "
			    "so many away; mlgen reads in order and draws from "
			    "a buffer");
	} else {
		bool is_sure = f->epochs > 1 && o->files >= 64 &&
			       is_far_from(o->by_name, o->files) &&
			       is_far_from(o->by_epoch, o->files);

		say_shuffle(f, is_sure ? DISTIL_SURE : DISTIL_LIKELY, all,
			    "files are read in no order of their names, and "
			    "another one in each epoch");
	}
}

/* ---- draws ---- */

/* Files of one sample, of which many are read again before others are read at
 * all; where epochs end is not seen then. */
static bool is_drawn(const struct found_order *f)
{
	return f->d->found[f->party].samples_per_file <= 1 &&
	       f->is.files >= FILES_LEAST && f->is.twice >= DRAWN_LEAST;
}

static double mean_reads(const struct ordered *o)
{
	return (double)o->reads /
	       ((double)o->files * (o->epochs ? o->epochs : 1));
}

static void say_drawn_epochs(struct found_order *f)
{
	double mean = mean_reads(&f->is) * f->is.epochs;
	char text[32];

	snprintf(text, sizeof(text), "%.0f", fmax(mean, 1));
	jobsection_say(f->to, DISTIL_GUESS, "epochs", text,
		       "a file is read so often in the mean: %.2f", mean);
}

/* Counts of a draw by chance vary as much as their mean is, and by weight more:
 * by the square of how much these vary. */
static void judge_drawn(struct found_order *f)
{
	const struct ordered *o = &f->is;
	double mean = mean_reads(o);
	double excess = fmax(o->count_variance - mean, 0);
	bool is_weighted = excess > WEIGHTED_LEAST * mean;
	char text[48] = "replacement";

	if (is_weighted)
		snprintf(text, sizeof(text), "weighted:lognormal:1:%.2g",
			 sqrt(excess) / mean);
	jobsection_say(f->to, is_weighted ? DISTIL_GUESS : DISTIL_LIKELY,
		       "shuffle", text,
		       "%.1f%% of files are read more than once before all "
		       "are, at most %u times; the variance of counts is "
		       "%.2f, that of a draw by chance is its mean, %.2f",
		       100 * o->twice, o->most, o->count_variance, mean);
}

/* ---- shard ---- */

static void say_shard(struct found_order *f)
{
	const struct ordered *o = &f->is;
	bool stays = isnan(o->same_rank) || o->same_rank >= 0.95;

	if (f->ranks < 2)
		return;
	if (o->several > 0.5) {
		jobsection_say(f->to, DISTIL_LIKELY, "shard", "strided",
			       "%.0f%% of files are read by several ranks in "
			       "an epoch",
			       100 * o->several);
	} else if (stays && o->contiguous >= 0.5) {
		jobsection_say(f->to, DISTIL_SURE, "shard", "contiguous",
			       "a rank has files whose names stand together, "
			       "the same ones in each epoch");
	} else if (stays && f->every == 1 && o->strided >= 0.95) {
		bool is_file = o->per_file > 1.5 ||
			       f->d->found[f->party].samples_per_file > 1 ||
			       (jobsection_value(f->to, "shuffle") &&
				strcmp(jobsection_value(f->to, "shuffle"),
				       "none") != 0);

		jobsection_say(f->to, DISTIL_SURE, "shard",
			       is_file ? "file" : "strided",
			       "%.0f%% of files, by name, are dealt out in "
			       "turn, the same ones to a rank in each epoch",
			       100 * o->strided);
	} else if (stays && !isnan(o->same_rank)) {
		jobsection_say(f->to, DISTIL_LIKELY, "shard", "file",
			       "%.0f%% of files are read by the rank that had "
			       "them in the epoch before",
			       100 * o->same_rank);
	} else {
		jobsection_say(f->to,
			       isnan(o->same_rank) ? DISTIL_GUESS
						   : DISTIL_LIKELY,
			       "shard", "strided",
			       isnan(o->same_rank)
				       ? "one epoch does not show whether a "
					 "rank keeps its files"
				       : "each epoch deals files out anew, as "
					 "DistributedSampler does");
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
	if (f->is.per_file > 1.5 && f->is.runs > 0)
		judge_within(f);
	else
		judge_files(f);
}

int distil_order(struct distil *d, uint32_t party, struct jobsection *to,
		 struct mlgen_err *err)
{
	struct found_order f = { .d = d, .party = party, .to = to };
	int rc = rank_split(d, party, err);

	if (rc < 0)
		return rc;
	f.every = (uint32_t)divide_up(d->file_count, FILES_MOST);
	if (!f.every)
		f.every = 1;
	f.visits = mem_array(d->stage_count + 1, sizeof(*f.visits));
	rc = note_files(&f, err);
	if (rc == 0 && f.keys.count) {
		number_by_name(&f);
		count_tasks(&f);
		rc = follow_reads(&f, err);
	}
	if (rc == 0 && f.keys.count) {
		say_order(&f);
		say_shard(&f);
	}
	keyed_fini(&f.keys);
	mem_free(f.file);
	mem_free(f.visits);
	return rc;
}
