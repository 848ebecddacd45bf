/* SPDX-License-Identifier: Apache-2.0 */
/* loader_found.c - who reads for a rank: which loader, of how many workers, how far ahead, and what they do with a sample. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "distil/pipeline_inside.h"
#include "distil/timefit.h"

/* A pause between two samples that is no decoding: mlgen has one, too. */
#define DECODE_LEAST_NS 100e3
#define DECODE_PERCENT 2.0

/* Is a library of that name among what was loaded? */
static bool loads(const struct distil *d, const char *library)
{
	for (uint32_t i = 1; i < d->file_count; i++)
		if (distil_class(d, i) == CLASS_CODE &&
		    strstr(distil_path(d, i), library))
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

	f->loader = has_records(f) || loads(f->d, "/tensorflow/")
			    ? LOADER_TFDATA
		    : p->batch && p->kind == PULSE_SHARED ? LOADER_PLAIN
							  : LOADER_PYTORCH;
	f->readers = p->workers;
	f->interleaves = f->loader == LOADER_TFDATA &&
			 f->readers >= JOB_INTERLEAVE_THREADS &&
			 f->readers % JOB_INTERLEAVE_THREADS == 0;
}

static void say_loader(struct pipeline *f)
{
	const struct pulse *p = f->best;

	jobsection_heading(f->to, "loader");
	if (f->loader == LOADER_TFDATA)
		jobsection_say(f->to,
			       has_records(f) ? DISTIL_LIKELY : DISTIL_GUESS,
			       "loader", "tfdata", "%s",
			       has_records(f) ? "files are TensorFlow's records"
					      : "TensorFlow was loaded");
	else if (f->loader == LOADER_PLAIN)
		jobsection_say(
			f->to, DISTIL_LIKELY, "loader", "plain",
			"several workers have each batch: %.0f%% of them",
			100 * p->regular);
	else if (p && p->kind == PULSE_WORKER)
		jobsection_say(
			f->to, p->workers > 1 ? DISTIL_LIKELY : DISTIL_GUESS,
			"loader", "pytorch",
			p->workers > 1 ? "a batch is read by one worker, and "
					 "the next one by another"
				       : "one worker has all batches, so that "
					 "all loaders are alike");
	else
		jobsection_say(f->to, DISTIL_GUESS, "loader", "pytorch", "%s",
			       p ? "a rank reads its batches by itself"
			       : loads(f->d, "/torch/")
				       ? "PyTorch was loaded"
				       : "nothing shows another one");
	if (f->loader == LOADER_TFDATA && !jobsection_value(f->to, "shard"))
		jobsection_say(f->to, DISTIL_GUESS, "shard", "file",
			       "tf.data deals out files; one rank does not "
			       "show it");
}

static void say_workers(struct pipeline *f)
{
	uint32_t workers = f->readers;
	struct distil_found *found = &f->d->found[f->party];
	char text[32];

	found->read_threads =
		f->interleaves ? workers / JOB_INTERLEAVE_THREADS : workers;
	if (f->loader == LOADER_TFDATA && !found->read_threads)
		found->read_threads = 1;
	snprintf(text, sizeof(text), "%u", found->read_threads);
	if (f->interleaves)
		jobsection_say(f->to, DISTIL_LIKELY, "read_threads", text,
			       "%u threads of a rank read, and interleave() "
			       "has %u for each",
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
		jobsection_say(f->to, DISTIL_SURE, "prefetch", "0",
			       "nobody reads ahead");
		return;
	}
	found->prefetch = window ? prefetch_of(f, window) : 2;
	snprintf(text, sizeof(text), "%u", found->prefetch);
	if (!window)
		jobsection_say(f->to, DISTIL_GUESS, "prefetch", text,
			       "%s, so that how far they may go is not to be "
			       "seen",
			       f->best && f->best->idle > f->best->batches / 4
				       ? "readers wait at times that differ"
				       : "readers never wait");
	else
		jobsection_say(f->to,
			       f->best->window_percent >= 50 ? DISTIL_LIKELY
							     : DISTIL_GUESS,
			       "prefetch", text,
			       "at the begin of an epoch a rank's readers are "
			       "%u batch%s ahead of the one that is taken: "
			       "%.0f%% of what they wait for says so",
			       window, window == 1 ? "" : "es",
			       f->best->window_percent);
}

/* ---- decoding ---- */

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of visits whose calls are all known: what the thread did between these, in the
 * middle; the time behind the last one is none of it. 0: there are none. */
static double between_calls(const struct pipeline *f)
{
	const struct specimens *s = &f->d->specimens;
	double *at = mem_array(s->count + 1, sizeof(*at)), middle;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct specimen *x = &s->at[i];

		if (f->d->task[x->visit.task].party != f->party ||
		    x->count != x->visit.calls ||
		    distil_class(f->d, x->visit.file) != CLASS_SAMPLE)
			continue;
		for (uint32_t k = 0; k < x->count; k++)
			at[n] += (double)x->calls[k].think_ns;
		n++;
	}
	qsort(at, n, sizeof(*at), by_number);
	middle = n ? at[n / 2] : 0;
	mem_free(at);
	return middle;
}

/* Most of it between the calls of a sample, and not behind them. */
static bool decodes_reads(const struct pipeline *f, double cpu)
{
	return f->loader != LOADER_TFDATA &&
	       between_calls(f) >= DECODE_LEAST_NS &&
	       between_calls(f) >= cpu / 2;
}

static void say_decoding(struct pipeline *f)
{
	uint64_t cpu_ns = 0, cpu_visits = 0, call_ns = 0, visits = 0;
	/* tf.data decodes behind those that read. */
	double think =
		f->best && f->best->batch > 1 && f->loader != LOADER_TFDATA
			? f->best->think_ns
			: 0;
	double call, cpu;
	bool burns, reads;
	struct buf text = { 0 };
	struct dist d;

	for (uint32_t i = 0; i < f->reads.count; i++) {
		cpu_ns += f->reads.rank[i].cpu_ns;
		cpu_visits += f->reads.rank[i].cpu_visits;
		call_ns += f->reads.rank[i].call_ns;
		visits += f->reads.rank[i].visits;
	}
	if (!visits)
		return;
	call = (double)call_ns / (double)visits;
	cpu = cpu_visits ? (double)cpu_ns / (double)cpu_visits : 0;
	burns = cpu >= DECODE_LEAST_NS && cpu >= think / 2;
	if (burns)
		think = cpu;
	reads = burns && decodes_reads(f, cpu);
	if (reads)
		think = between_calls(f);
	think *= pipeline_visits(f);
	if (think < DECODE_LEAST_NS || think < DECODE_PERCENT / 100 * call)
		return;
	d = timefit_constant(think);
	timefit_format(&text, &d);
	if (reads) {
		jobsection_say(f->to, DISTIL_LIKELY, "preprocess_time",
			       buf_str(&text),
			       "what a reader does between the calls of a "
			       "sample, in the middle");
		jobsection_say(f->to, DISTIL_LIKELY, "preprocess_at", "reads",
			       "there, and not behind them, is most of its CPU "
			       "time");
		jobsection_say(f->to, DISTIL_GUESS, "preprocess", "sleep",
			       "as if by CPUs of its own; burn takes this "
			       "host's");
	} else if (burns) {
		jobsection_say(f->to, DISTIL_LIKELY, "preprocess_time",
			       buf_str(&text),
			       "CPU that a reader takes for a sample, in and "
			       "behind its reads");
		jobsection_say(f->to, DISTIL_GUESS, "preprocess", "sleep",
			       "as if by CPUs of its own; burn takes this "
			       "host's");
	} else {
		jobsection_say(f->to, DISTIL_LIKELY, "preprocess_time",
			       buf_str(&text),
			       "in the middle a reader pauses so long between "
			       "two samples of a batch%s",
			       cpu_visits ? ", without CPU" : "");
	}
	buf_fini(&text);
}

/* ---- the last batch of an epoch ---- */

/* Epochs of a rank, and those that end with a part of a batch. The last one may
 * have been ended in the middle. */
static void count_ends(const struct pipeline *f, uint64_t *epochs,
		       uint64_t *parts, uint64_t *reads)
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

	if (!f->best || f->has_rounds || f->batch < 2 ||
	    f->best->batch != f->batch)
		return;
	count_ends(f, &epochs, &parts, &reads);
	if (epochs && parts == epochs)
		jobsection_say(f->to, DISTIL_LIKELY, "drop_last", "0",
			       "a rank reads %" PRIu64
			       " samples in an epoch, which are no whole "
			       "batches",
			       reads);
	else if (epochs && !parts &&
		 reads * f->reads.ranks < f->d->found[f->party].num_files)
		jobsection_say(f->to, DISTIL_LIKELY, "drop_last", "1",
			       "a rank reads whole batches, and some files are "
			       "left out of each epoch");
}

void pipeline_loader(struct pipeline *f)
{
	say_loader(f);
	say_workers(f);
	say_prefetch(f);
	say_decoding(f);
	say_last_batch(f);
}
