/* SPDX-License-Identifier: Apache-2.0 */
/* distil_order.c - options for the order and number of reads, and for the files of each rank. */
#include "tracing/distil/data/data_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "tracing/distil/steps/steps.h"

/* Numbering of files: by whole path, or by name in the directory and then by path. */
enum order_names { ORDER_BY_PATH, ORDER_BY_BASENAME };

/* Largest number of sampled files; every read of a sampled file is counted. */
#define FILES_MOST (1u << 17)
/* Number of samples that are searched for neighbours that stay together. */
#define SAMPLES_MOST (1u << 20)

/* The order in which a training run reads. */
struct order_facts {
	uint64_t *visits;      /* visits to samples, by stage */
	uint32_t files, every; /* number of sampled files: one in `every` */
	uint64_t all_files;
	uint32_t directories; /* directories of the sampled files; 2 = several */
	uint32_t ranks;
	struct ordered by_file;
	struct ordered by_sample; /* samples by place in their file; reads 0 = a file is a
				   * sample */
	struct neighbour_stats near;
};

struct order_file {
	uint32_t id;   /* file id of the trace */
	uint32_t name; /* number by name */
	char *path;    /* set only while files are sorted */
};

struct order_reader {
	const struct distil *d;
	uint32_t party;
	struct order_facts *to;
	struct map keys;             /* file id to index of `file` */
	VEC(struct order_file) file; /* ordered by first read */
	uint64_t each;               /* samples of a file */
	uint64_t end;                /* largest end of a read in any file */
};

/* ---- files by name ---- */

static int by_path(const void *a, const void *b)
{
	const struct order_file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static int by_basename(const void *a, const void *b)
{
	const struct order_file *const *x = a, *const *y = b;
	int c = strcmp(distil_basename((*x)->path), distil_basename((*y)->path));

	return c ? c : by_path(a, b);
}

static bool is_same_directory(const char *a, const char *b)
{
	size_t n = (size_t)(distil_basename(a) - a);

	return n == (size_t)(distil_basename(b) - b) && memcmp(a, b, n) == 0;
}

/* ---- reads in their order ---- */

/* Number of samples in the sampled files, at most SAMPLES_MOST. */
static uint32_t samples_seen(const struct order_reader *f)
{
	return f->each > SAMPLES_MOST ? 0
				      : (uint32_t)u64_min(f->keys.count * f->each, SAMPLES_MOST);
}

/* The sample that a visit reads, as an index in its file. The file is divided evenly, including its
 * header; half a sample before the end of the visit lies inside the sample. */
static uint64_t sample_of(const struct order_reader *f, const struct visit *x)
{
	uint64_t n = f->each, each = f->end / n;

	if (n < 2 || !each || x->end_off == TRACE_UNKNOWN || x->end_off < each / 2)
		return 0;
	return u64_min((x->end_off - each / 2) / each, n - 1);
}

static int add_reads(struct order_reader *f, struct mlgen_err *err)
{
	struct ordering *o = ordering_new(f->keys.count, f->to->ranks, f->d->task_count);
	/* Files next to each other are neighbours only if no file is skipped. */
	struct neighbours *near = neighbours_new(f->to->every > 1 ? 0 : samples_seen(f));
	/* Reads of each sample are counted only if files have several samples. */
	struct ordering *samples = ordering_new(f->each > 1 ? samples_seen(f) : 0, 1, 1);
	struct visits_cursor c = { 0 };
	const struct visit *x;
	uint32_t epoch = 0;
	int rc;

	while ((rc = visits_next(f->d->visits, &c, &x, err)) > 0) {
		const struct distil_task *t = &f->d->task[x->task];
		uint32_t n;

		if (!distil_reads_sample(f->d, x, f->party, STAGE_TRAIN) ||
		    !map_find(&f->keys, x->file, &n))
			continue;
		/* Two epochs may run into each other. */
		epoch = (uint32_t)u64_max(epoch, x->stage);
		ordering_add(o, &(struct ordering_read){
					.file = f->file.at[n].name,
					.epoch = epoch,
					.rank = t->rank == UINT32_MAX ? 0 : t->rank,
					.worker = x->task,
					.off = x->off,
				});
		uint64_t sample = f->file.at[n].name * f->each + sample_of(f, x);
		neighbours_add(near, sample, epoch);
		if (sample < SAMPLES_MOST)
			ordering_add(samples, &(struct ordering_read){ .file = (uint32_t)sample,
								       .epoch = epoch });
	}
	ordering_end(o, &f->to->by_file);
	ordering_free(o);
	ordering_end(samples, &f->to->by_sample);
	ordering_free(samples);
	neighbours_end(near, &f->to->near);
	neighbours_free(near);
	return rc;
}

/* ---- facts about the order ---- */

static uint64_t samples_per_file(const struct distil *d, uint32_t party)
{
	return u64_max(d->found[party].samples_per_file, 1);
}

/* Walk twice over the visits. to->files is 0 if no samples were read. 0, or -errno with err: see
 * visits_next. Call order_facts_fini in any case. */
static int order_facts_init(struct order_facts *to, const struct distil *d, uint32_t party,
			    enum order_names names, struct mlgen_err *err)
{
	struct order_reader f = {
		.d = d, .party = party, .to = to, .each = samples_per_file(d, party)
	};
	uint64_t every = divide_up(d->file_count, FILES_MOST);
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	*to = (struct order_facts){
		.every = (uint32_t)u64_max(every, 1),
		.visits = mem_array(d->stage_count + 1, sizeof(*to->visits)),
	};
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		bool is_new;

		if (!distil_reads_sample(d, x, party, STAGE_TRAIN))
			continue;
		to->visits[x->stage]++;
		if (x->end_off != TRACE_UNKNOWN)
			f.end = u64_max(f.end, x->end_off);
		/* Sample one file in `every`, by a hash that is unrelated to the order of ids. */
		uint64_t mixed = x->file * UINT64_C(0x9e3779b97f4a7c15);
		if ((mixed >> 33) % to->every != 0)
			continue;
		map_number(&f.keys, x->file, &is_new);
		if (is_new)
			vec_push(&f.file, (struct order_file){ .id = x->file });
	}
	to->all_files = (uint64_t)f.keys.count * to->every;
	to->files = f.keys.count;
	if (rc == 0 && to->files) {
		uint32_t n = f.keys.count;
		struct order_file **sorted = mem_array(n + 1, sizeof(*sorted));

		to->directories = 1;
		for (uint32_t i = 0; i < n; i++) {
			f.file.at[i].path = mem_strdup(distil_path(d, f.file.at[i].id));
			sorted[i] = &f.file.at[i];
			if (!is_same_directory(f.file.at[i].path, f.file.at[0].path))
				to->directories = 2;
		}
		qsort(sorted, n, sizeof(struct order_file *),
		      names == ORDER_BY_PATH ? by_path : by_basename);
		for (uint32_t i = 0; i < n; i++)
			sorted[i]->name = i;
		for (uint32_t i = 0; i < n; i++)
			mem_free(f.file.at[i].path);
		mem_free(sorted);
		to->ranks = distil_ranks(d, party);
		rc = add_reads(&f, err);
	}
	map_fini(&f.keys);
	vec_fini(&f.file);
	return rc;
}

static void order_facts_fini(struct order_facts *f)
{
	mem_free(f->visits);
	*f = (struct order_facts){ 0 };
}

/* ---- options ---- */

/* Fewer files show no order: the correlation of a random order is up to 3 / sqrt(n). */
#define FILES_LEAST 8

/* Least share of the ends of runs whose distance is a multiple of the run length. */
#define RUNS_EXPLAINED 0.8

/* Least part of files that are read more than once in an epoch of a draw with replacement. Two
 * epochs that overlap have fewer. */
#define DRAWN_LEAST 0.05
/* Least variance of counts of a draw, as a part of their mean. */
#define UNEVEN_LEAST 0.3
#define UNREAD_MOST 0.5
/* Samples have weights if the variance of counts exceeds that of a draw by this part of the mean.
 */
#define WEIGHTED_LEAST 0.2

struct order_finder {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	uint32_t epochs;
	struct order_facts of;
};

/* ---- epochs ---- */

static void set_epochs(struct order_finder *f)
{
	const struct distil_results *found = &f->d->found[f->party];
	uint64_t most = 0, last = 0;
	enum distil_sure sure = DISTIL_SURE;

	for (uint32_t i = 0; i < f->d->stage_count; i++) {
		const struct distil_stage *s = &f->d->stages[i];

		if (s->kind != STAGE_TRAIN || s->party != f->party || !f->of.visits[i])
			continue;
		f->epochs++;
		most = u64_max(most, f->of.visits[i]);
		last = f->of.visits[i];
		sure = s->sure > sure ? s->sure : sure;
	}
	if (f->epochs > 1)
		jobsection_set_u64(f->to, sure, "epochs", f->epochs,
				   "files are read this many times");
	else
		jobsection_set_u64(f->to, DISTIL_LIKELY, "epochs", f->epochs,
				   "no file is read a second time after other files were read for "
				   "the first time");
	/* The trace may end in the first epoch. */
	double samples = (double)most / fmax(found->visits_per_sample, 1);
	double all = (double)(found->num_files * samples_per_file(f->d, f->party));
	if (f->epochs == 1 && samples < 0.98 * all)
		jobsection_comment(
			f->to,
			"The epoch is partial: %.0f of %.0f samples (%.0f%%), or its last batch is "
			"incomplete. steps= ends a run in the middle of an epoch.",
			samples, all, 100 * samples / all);
	if (last * 50 < most * 49)
		jobsection_comment(f->to,
				   "The last epoch is partial: %" PRIu64 " of %" PRIu64
				   " reads (%.0f%%). steps= ends a run in the middle of an epoch.",
				   last, most, 100.0 * (double)last / (double)most);
}

/* ---- order ---- */

static void set_shuffle(struct order_finder *f, enum distil_sure sure, const char *value,
			const char *why)
{
	const struct ordered *o = &f->of.by_file;
	char figures[160] = "";
	size_t n = 0;

	if (!isnan(o->by_name))
		n += (size_t)snprintf(figures, sizeof(figures), "; correlation with names %.2f",
				      o->by_name);
	if (!isnan(o->by_epoch))
		snprintf(figures + n, sizeof(figures) - n, "%s with the previous epoch %.2f",
			 n ? "," : "; correlation", o->by_epoch);
	jobsection_set(f->to, sure, "shuffle", value, "%s%s", why, figures);
}

static bool is_by_name(const struct ordered *o)
{
	return o->by_name >= 0.98 || o->ascending >= 0.95;
}

static bool is_uncorrelated(double correlation, double n)
{
	return isnan(correlation) || fabs(correlation) < 4 / sqrt(n);
}

static bool has_runs(const struct order_facts *of)
{
	return of->near.run && of->near.explained >= RUNS_EXPLAINED;
}

/* Set shuffle if runs of neighbours are shuffled, and then samples within a window of several
 * runs. */
static void set_chunk_shuffle(struct order_finder *f)
{
	const struct neighbour_stats *is = &f->of.near;
	uint64_t runs = (uint64_t)llround(fmax(is->window_runs, 1));
	char group[32] = "", text[64];

	if (runs > 1)
		snprintf(group, sizeof(group), ":%" PRIu64, runs);
	snprintf(text, sizeof(text), "chunks:%" PRIu32 "%s", is->run, group);
	jobsection_set(
		f->to, DISTIL_LIKELY, "shuffle", text,
		"adjacent samples are read close together, except at the ends of runs of %" PRIu32
		", which explain %.0f%% of the exceptions; they are as far apart as in windows of "
		"%.1f runs (pages:%" PRIu64 ":%" PRIu64 " is the same in bytes)",
		is->run, 100 * is->explained, is->window_runs,
		is->run * f->d->found[f->party].sample_bytes, runs);
}

/* Set shuffle if the samples of a file are read one by one. */
static void set_sample_shuffle(struct order_finder *f)
{
	const struct ordered *o = &f->of.by_file;
	double whole = 1 - 1 / o->per_file;
	bool is_mixed = o->runs < 0.5 * whole || o->inner < 0.75;

	if (is_mixed && has_runs(&f->of))
		set_chunk_shuffle(f);
	else if (is_mixed)
		set_shuffle(f, DISTIL_LIKELY, "sample",
			    "samples of a file are read out of order, or mixed with samples of "
			    "other files");
	else if (is_by_name(o) || o->files < FILES_LEAST)
		set_shuffle(f, o->files < FILES_LEAST ? DISTIL_GUESS : DISTIL_LIKELY, "none",
			    "samples of a file are read in file order, and files in order of their "
			    "names");
	else
		set_shuffle(f, DISTIL_LIKELY, "file",
			    "samples of a file are read in file order, and files in an order "
			    "unrelated to their names");
}

/* Set shuffle if files are read once in an epoch. */
static void set_file_shuffle(struct order_finder *f)
{
	const struct ordered *o = &f->of.by_file;
	const char *all = f->d->found[f->party].samples_per_file > 1 ? "file" : "sample";
	char text[40];

	if (o->files < FILES_LEAST) {
		set_shuffle(f, DISTIL_GUESS, is_by_name(o) ? "none" : all,
			    "too few files to show an order");
	} else if (is_by_name(o)) {
		set_shuffle(f, DISTIL_SURE, "none", "files are read in order of their names");
	} else if (o->by_epoch >= 0.98) {
		set_shuffle(f, DISTIL_LIKELY, "none",
			    "every epoch has the same order, but not that of names: shuffled once, "
			    "or in directory order");
	} else if (o->by_name > 0.5 && o->displaced < o->files / 4) {
		snprintf(text, sizeof(text), "buffer:%" PRIu64,
			 (uint64_t)o->displaced * f->of.every);
		set_shuffle(f, DISTIL_GUESS, text,
			    "each file is read near its position by name, at most this far away; "
			    "mlgen reads in order and draws from a buffer");
	} else if (has_runs(&f->of)) {
		set_chunk_shuffle(f);
	} else {
		bool is_sure = f->epochs > 1 && o->files >= 64 &&
			       is_uncorrelated(o->by_name, o->files) &&
			       is_uncorrelated(o->by_epoch, o->files);

		set_shuffle(f, is_sure ? DISTIL_SURE : DISTIL_LIKELY, all,
			    "files are read in an order unrelated to their names, which changes in "
			    "each epoch");
	}
}

/* ---- draws ---- */

/* Counts of reads by sample, or by file if a file is a sample. */
static const struct ordered *counts_of(const struct order_finder *f)
{
	return f->of.by_sample.reads ? &f->of.by_sample : &f->of.by_file;
}

/*
 * A draw with replacement reads many samples again before it reads others at all, and counts vary
 * as by chance; the ends of epochs are not visible. If a visit is for a whole file, samples cannot
 * be distinguished.
 */
static bool is_drawn(const struct order_finder *f)
{
	const struct ordered *o = counts_of(f);

	return (o != &f->of.by_sample || o->unread < UNREAD_MOST) && o->files >= FILES_LEAST &&
	       o->twice >= DRAWN_LEAST && o->count_variance >= UNEVEN_LEAST * o->count_mean;
}

/* The variance of counts of a uniform draw is their mean. Weights increase it by the square of
 * their variation coefficient. */
static void set_drawn(struct order_finder *f)
{
	const struct ordered *o = counts_of(f);
	double all = (double)f->d->found[f->party].num_files;
	double part = all > 0 ? fmin((double)f->of.all_files / all, 1) : 1; /* counted files */
	double mean = part * o->count_mean, reads = mean * f->of.by_file.epochs;
	double square = o->count_variance + o->count_mean * o->count_mean;
	double variance = part * square - mean * mean;
	double excess = fmax(variance - mean, 0);
	bool is_weighted = excess > WEIGHTED_LEAST * mean;
	char epochs[32], text[48] = "replacement";

	snprintf(epochs, sizeof(epochs), "%.0f", fmax(reads, 1));
	jobsection_set(f->to, DISTIL_GUESS, "epochs", epochs,
		       "mean number of reads per sample: %.2f", reads);
	if (is_weighted)
		snprintf(text, sizeof(text), "weighted:lognormal:1:%.2g", sqrt(excess) / mean);
	jobsection_set(f->to, is_weighted ? DISTIL_GUESS : DISTIL_LIKELY, "shuffle", text,
		       "%.1f%% of samples are read repeatedly before all samples are read, at most "
		       "%u times; the variance of the counts is %.2f, while a random draw gives "
		       "their mean, %.2f",
		       100 * part * o->twice, o->most, variance, mean);
	jobsection_comment(f->to, "A trace contains no losses: shuffle=importance, whose weights "
				  "depend on losses, would look the same.");
}

/* ---- shard ---- */

static void set_shard(struct order_finder *f)
{
	const struct ordered *o = &f->of.by_file;
	bool stays = isnan(o->same_rank) || o->same_rank >= 0.95;

	if (f->of.ranks < 2)
		return;
	if (o->several > 0.5) {
		jobsection_set(f->to, DISTIL_LIKELY, "shard", "strided",
			       "%.0f%% of files are read by several ranks in an epoch",
			       100 * o->several);
	} else if (stays && o->contiguous >= 0.5) {
		jobsection_set(
			f->to, DISTIL_SURE, "shard", "contiguous",
			"a rank reads files with consecutive names, the same files in each epoch");
	} else if (stays && f->of.every == 1 && o->strided >= 0.95) {
		bool is_file = o->per_file > 1.5 || f->d->found[f->party].samples_per_file > 1 ||
			       (jobsection_value(f->to, "shuffle") &&
				strcmp(jobsection_value(f->to, "shuffle"), "none") != 0);

		jobsection_set(f->to, DISTIL_SURE, "shard", is_file ? "file" : "strided",
			       "%.0f%% of files, ordered by name, are dealt out in turn; a rank "
			       "reads the same files in each epoch",
			       100 * o->strided);
	} else if (stays && !isnan(o->same_rank)) {
		jobsection_set(f->to, DISTIL_LIKELY, "shard", "file",
			       "%.0f%% of files are read by the same rank as in the previous epoch",
			       100 * o->same_rank);
	} else {
		jobsection_set(
			f->to, isnan(o->same_rank) ? DISTIL_GUESS : DISTIL_LIKELY, "shard",
			"strided",
			isnan(o->same_rank)
				? "a single epoch does not show whether a rank keeps its files"
				: "files are dealt out anew in each epoch, as by "
				  "DistributedSampler");
	}
}

static void set_order(struct order_finder *f)
{
	if (is_drawn(f)) {
		set_drawn(f);
		return;
	}
	set_epochs(f);
	if (f->of.by_file.per_file > 1.5 && f->of.by_file.runs > 0)
		set_sample_shuffle(f);
	else
		set_file_shuffle(f);
	if (f->of.every > 1 && strcmp(jobsection_value(f->to, "shuffle"), "sample") == 0)
		jobsection_comment(f->to,
				   "One file in %" PRIu32
				   " is examined: shuffle=chunks and shuffle=pages, where "
				   "neighbours stay together, cannot be detected.",
				   f->of.every);
}

static bool shows_order(const struct order_facts *of)
{
	return is_by_name(&of->by_file) || has_runs(of) ||
	       (of->ranks > 1 && (of->by_file.contiguous >= 0.5 || of->by_file.strided >= 0.95));
}

/*
 * Files are numbered by whole path. If that shows no order, and there are several directories, they
 * are numbered by name within their directory: a list of files may have been distributed over
 * directories in turn.
 */
static int find_order(struct order_finder *f, struct mlgen_err *err)
{
	struct order_facts other;
	int rc = order_facts_init(&f->of, f->d, f->party, ORDER_BY_PATH, err);

	if (rc < 0 || shows_order(&f->of) || f->of.directories < 2)
		return rc;
	rc = order_facts_init(&other, f->d, f->party, ORDER_BY_BASENAME, err);
	if (rc == 0 && shows_order(&other)) {
		order_facts_fini(&f->of);
		f->of = other;
	} else {
		order_facts_fini(&other);
	}
	return rc;
}

int distil_order(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct order_finder f = { .d = d, .party = party, .to = to };
	int rc = rank_split(d, party, err);

	if (rc < 0)
		return rc;
	rc = find_order(&f, err);
	if (rc == 0 && f.of.files) {
		set_order(&f);
		set_shard(&f);
	}
	order_facts_fini(&f.of);
	return rc;
}
