/* SPDX-License-Identifier: Apache-2.0 */
/* loader_found.c - who reads for a rank: which loader, of how many workers, and how far ahead. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "distil/pipeline_inside.h"
#include "distil/timefit.h"

/* Is a library of that name among what was loaded? */
static bool loads(const struct distil *d, const char *library)
{
	for (uint32_t i = 1; i < d->file_count; i++)
		if (distil_class(d, i) == CLASS_CODE && strstr(distil_path(d, i), library))
			return true;
	return false;
}

static bool has_records(const struct pipeline *f)
{
	return f->d->found[f->party].format == FORMAT_TFRECORD;
}

void pipeline_find_loader(struct pipeline *f)
{
	const struct pulse *p = f->best ? f->best : f->pulse;

	f->loader = has_records(f) || loads(f->d, "/tensorflow/") ? LOADER_TFDATA
		    : p->batch && p->kind == PULSE_SHARED         ? LOADER_PLAIN
								  : LOADER_PYTORCH;
	f->readers = p->workers;
	f->interleaves = f->loader == LOADER_TFDATA && f->readers >= JOB_INTERLEAVE_THREADS &&
			 f->readers % JOB_INTERLEAVE_THREADS == 0;
}

static void say_loader(struct pipeline *f)
{
	const struct pulse *p = f->best;

	jobsection_heading(f->to, "loader");
	if (f->loader == LOADER_TFDATA)
		jobsection_say(f->to, has_records(f) ? DISTIL_LIKELY : DISTIL_GUESS, "loader",
			       "tfdata", "%s",
			       has_records(f) ? "files are TensorFlow's records"
					      : "TensorFlow was loaded");
	else if (f->loader == LOADER_PLAIN)
		jobsection_say(f->to, DISTIL_LIKELY, "loader", "plain",
			       "several workers have each batch: %.0f%% of them", 100 * p->regular);
	else if (p && p->kind == PULSE_WORKER)
		jobsection_say(
			f->to, p->workers > 1 ? DISTIL_LIKELY : DISTIL_GUESS, "loader", "pytorch",
			p->workers > 1
				? "a batch is read by one worker, and the next one by another"
				: "one worker has all batches, so that all loaders are alike");
	else
		jobsection_say(f->to, DISTIL_GUESS, "loader", "pytorch", "%s",
			       p                        ? "a rank reads its batches by itself"
			       : loads(f->d, "/torch/") ? "PyTorch was loaded"
							: "nothing shows another one");
	if (f->loader == LOADER_TFDATA && !jobsection_value(f->to, "shard"))
		jobsection_say(f->to, DISTIL_GUESS, "shard", "file",
			       "tf.data deals out files; one rank does not show it");
}

static void say_workers(struct pipeline *f)
{
	uint32_t workers = f->readers;
	struct distil_found *found = &f->d->found[f->party];
	char text[32];

	found->read_threads = f->interleaves ? workers / JOB_INTERLEAVE_THREADS : workers;
	if (f->loader == LOADER_TFDATA && !found->read_threads)
		found->read_threads = 1;
	snprintf(text, sizeof(text), "%u", found->read_threads);
	if (f->interleaves)
		jobsection_say(f->to, DISTIL_LIKELY, "read_threads", text,
			       "%u threads of a rank read, and interleave() has %u for each",
			       workers, JOB_INTERLEAVE_THREADS);
	else if (!workers)
		jobsection_say(f->to, DISTIL_LIKELY, "read_threads", text,
			       "ranks read samples by themselves");
	else
		jobsection_say(f->to, DISTIL_SURE, "read_threads", text,
			       "so many read side by side for a rank");
	if (f->loader == LOADER_TFDATA && !f->interleaves)
		jobsection_say(f->to, DISTIL_GUESS, "deterministic", "0",
			       "with it there would be three threads for each");
}

/* In batches of the loader's own count. */
static uint32_t prefetch_of(const struct pipeline *f, uint32_t window)
{
	uint32_t workers = f->d->found[f->party].read_threads;
	uint32_t ahead = window;

	if (f->loader == LOADER_PYTORCH && workers)
		ahead = (window + workers - 1) / workers;
	if (f->interleaves)
		ahead = window > workers * JOB_INTERLEAVE_THREADS
				? window - workers * JOB_INTERLEAVE_THREADS
				: 1;
	return ahead ? ahead : 1;
}

static void say_prefetch(struct pipeline *f)
{
	struct distil_found *found = &f->d->found[f->party];
	uint32_t window = f->best ? f->best->window : 0;
	char text[32];

	if (!found->read_threads) {
		jobsection_say(f->to, DISTIL_SURE, "prefetch", "0", "nobody reads ahead");
		return;
	}
	found->prefetch = window ? prefetch_of(f, window) : 2;
	snprintf(text, sizeof(text), "%u", found->prefetch);
	if (!window)
		jobsection_say(f->to, DISTIL_GUESS, "prefetch", text,
			       "%s, so that how far they may go is not to be seen",
			       f->best && f->best->idle > f->best->batches / 4
				       ? "loaders wait at times that differ"
				       : "loaders never wait");
	else if (f->best->order_percent > 0)
		jobsection_say(f->to, DISTIL_LIKELY, "prefetch", text,
			       "were a rank's loaders fewer than %u batches ahead, it would have "
			       "taken some within half a step: so in %.0f%% of epochs",
			       window, f->best->order_percent);
	else
		jobsection_say(f->to, f->best->window_percent >= 50 ? DISTIL_LIKELY : DISTIL_GUESS,
			       "prefetch", text,
			       "at the begin of an epoch a rank's loaders are %u batch%s ahead of "
			       "the one that is taken: %.0f%% of what they wait for says so",
			       window, window == 1 ? "" : "es", f->best->window_percent);
}

/* ---- the last batch of an epoch ---- */

/* Epochs of a rank, and those that end with a part of a batch. The last one may have been ended in
 * the middle. */
static void count_ends(const struct pipeline *f, uint64_t *epochs, uint64_t *parts, uint64_t *reads)
{
	const struct rank_reads *r = &f->reads.rank[0];
	uint64_t n = 0;

	for (size_t i = 0; i < r->count; i++, n++) {
		if (!i || r->at[i].epoch == r->at[i - 1].epoch)
			continue;
		++*epochs;
		*parts += n % f->batch != 0;
		*reads = n;
		n = 0;
	}
}

static void say_last_batch(struct pipeline *f)
{
	uint64_t epochs = 0, parts = 0, reads = 0;

	if (!f->best || f->has_rounds || f->batch < 2 || f->best->batch != f->batch)
		return;
	count_ends(f, &epochs, &parts, &reads);
	if (epochs && parts == epochs)
		jobsection_say(f->to, DISTIL_LIKELY, "drop_last", "0",
			       "a rank reads %" PRIu64
			       " samples in an epoch, which are no whole batches",
			       reads);
	else if (epochs && !parts && reads * f->reads.ranks < f->d->found[f->party].num_files)
		jobsection_say(
			f->to, DISTIL_LIKELY, "drop_last", "1",
			"a rank reads whole batches, and some files are left out of each epoch");
}

int pipeline_loader(struct pipeline *f, struct mlgen_err *err)
{
	int rc;

	say_loader(f);
	say_workers(f);
	say_prefetch(f);
	rc = pipeline_start(f, err);
	if (rc == 0)
		rc = pipeline_decoding(f, err);
	pipeline_fresh(f);
	say_last_batch(f);
	return rc;
}
