/* SPDX-License-Identifier: Apache-2.0 */
/* describe_lists.c - what a description lists: sizes, files, tasks, epochs, checkpoints. */
#include "tracing/describe/describe_inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/describe/phases.h"

/* Of the bytes of files: where epochs are true of so many, they are likely. */
#define LIKELY_PERCENT 90.0

static void *take_list(struct describe *d, struct metric_list *l, size_t count,
		       size_t element_bytes)
{
	*l = (struct metric_list){ json_store_alloc(&d->to->store, count * element_bytes), count };
	return l->items;
}

/* ---- request sizes ---- */

static void fill_size(struct described_size *to, const struct size_account *s, unsigned class,
		      uint64_t all)
{
	double seconds = (double)s->ns[class] / NS_PER_S;
	double count = (double)s->count[class];

	*to = (struct described_size){
		.at_most_bytes = class < 64 ? UINT64_C(1) << class : UINT64_MAX,
		.count = s->count[class],
		.bytes = s->bytes[class],
		.percent = 100 * count / (double)all,
		.bytes_per_sec = seconds > 0 ? (double)s->bytes[class] / seconds : (double)NAN,
		.lat_mean_ns = seconds > 0 ? (double)s->ns[class] / count : (double)NAN,
	};
}

static void fill_sizes(struct describe *d)
{
	static const char *const names[SIZED] = { "read", "write", "block_read", "block_write" };
	struct described_size *to = take_list(d, &d->to->figures.trace.request_sizes,
					      SIZED * SIZES_CLASSES, sizeof(*to));
	size_t n = 0;

	for (unsigned k = 0; k < SIZED; k++) {
		const struct size_account *s = &d->sizes[k];
		uint64_t all = 0;

		for (unsigned i = 0; i < SIZES_CLASSES; i++)
			all += s->count[i];
		for (unsigned i = 0; i < SIZES_CLASSES; i++) {
			if (!s->count[i])
				continue;
			fill_size(&to[n], s, i, all);
			/* The times of block requests are those of issuing. */
			if (k >= SIZED_BLOCK_READ)
				to[n].bytes_per_sec = to[n].lat_mean_ns = (double)NAN;
			to[n++].operation = names[k];
		}
	}
	d->to->figures.trace.request_sizes.count = n;
}

/* ---- files, directories, processes, threads ---- */

static void fill_files(struct describe *d)
{
	struct described_file *to =
		take_list(d, &d->to->figures.trace.top_files, d->top_count, sizeof(*to));
	struct described_directory *dirs =
		take_list(d, &d->to->figures.trace.directories, DESCRIBE_TOP, sizeof(*dirs));

	for (size_t i = 0; i < d->top_count; i++) {
		const char *path = describe_name(d, d->top[i]);

		filebook_describe(&d->files, d->top[i], &to[i]);
		to[i].path = *path ? path : NULL;
	}
	size_t n = filebook_directories(&d->files, dirs, DESCRIBE_TOP);
	for (size_t i = 0; i < n; i++)
		dirs[i].path = json_store_text(&d->to->store, dirs[i].path);
	d->to->figures.trace.directories.count = n;
}

static void fill_tasks(struct describe *d, struct metric_list *l, const struct task_account *all,
		       uint32_t count)
{
	uint32_t numbers[DESCRIBE_TASKS];
	size_t n = taskbook_top(all, count, numbers, DESCRIBE_TASKS);
	struct described_task *to = take_list(d, l, n, sizeof(*to));

	for (size_t i = 0; i < n; i++) {
		taskbook_describe(&d->tasks, &all[numbers[i]], &to[i]);
		if (to[i].text)
			to[i].text = json_store_text(&d->to->store, to[i].text);
	}
}

/* ---- what was marked ---- */

/* One whose end was not seen ends with the trace. */
static double length_of(const struct describe *d, const struct mark_account *m)
{
	uint64_t end = u64_min(m->end_ns, d->end_ns);

	return end > m->start_ns ? (double)(end - m->start_ns) / NS_PER_S : 0;
}

static double mark_rate(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / seconds : (double)NAN;
}

static void fill_epochs(struct describe *d)
{
	const struct mark_list *l = &d->marks.epochs;
	struct described_trace *t = &d->to->figures.trace;
	struct described_epoch *to = take_list(d, &t->epochs, l->count, sizeof(*to));
	bool counts_samples = d->marks.has_samples && !d->marks.is_inferred;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct mark_account *m = mark_at(l, i);
		double seconds = length_of(d, m);

		to[i] = (struct described_epoch){
			.number = m->number,
			.ranks = d->marks.is_inferred ? TRACE_UNKNOWN : m->ranks,
			.files = m->files,
			.samples = counts_samples ? m->samples : TRACE_UNKNOWN,
			.reads = m->reads,
			.read_bytes = m->read_bytes,
			.start_seconds = describe_seconds(d, m->start_ns),
			.seconds = seconds,
			.bytes_per_sec = mark_rate(m->read_bytes, seconds),
			.order_correlation = order_correlation(&m->order),
		};
	}
}

/* How the order of one epoch is like the next's, and how it is known. */
static void fill_order(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	const struct described_epoch *e = t->epochs.items;
	struct described_order *o = &t->order;
	const struct markbook *m = &d->marks;
	double sum = 0, n = 0;

	for (size_t i = 0; i < t->epochs.count; i++) {
		if (isnan(e[i].order_correlation))
			continue;
		sum += e[i].order_correlation;
		n++;
	}
	o->correlation = n > 0 ? sum / n : (double)NAN;
	o->sure = !t->epochs.count                     ? SURE_GUESS
		  : !m->is_inferred                    ? SURE_SAID
		  : m->agree_percent >= LIKELY_PERCENT ? SURE_LIKELY
						       : SURE_GUESS;
	o->of = m->has_samples && !m->is_inferred ? "samples" : "files";
	if (t->epochs.count)
		o->source = m->is_inferred ? "files that are read again" : "markers";
	if (n > 0)
		return;
	if (!t->epochs.count)
		o->unknown =
			m->passes > 1
				? "no marker says what an epoch is, and files are read different "
				  "numbers of times"
				: "no marker says what an epoch is, and files are not read again";
	else
		o->unknown = t->epochs.count < 2 ? "there is one epoch"
						 : "no two epochs have two of them alike";
}

static void fill_stages(struct describe *d)
{
	const struct mark_list *l = &d->marks.stages;
	struct described_stage *to =
		take_list(d, &d->to->figures.trace.stages, l->count, sizeof(*to));

	for (uint32_t i = 0; i < l->count; i++) {
		const struct mark_account *m = mark_at(l, i);

		to[i] = (struct described_stage){
			.name = describe_name(d, m->name),
			.ranks = m->ranks,
			.start_seconds = describe_seconds(d, m->start_ns),
			.seconds = length_of(d, m),
		};
	}
}

static void fill_checkpoints(struct describe *d)
{
	const struct mark_list *l = &d->marks.checkpoints;
	struct described_checkpoint *to =
		take_list(d, &d->to->figures.trace.checkpoints, l->count, sizeof(*to));

	for (uint32_t i = 0; i < l->count; i++) {
		const struct mark_account *m = mark_at(l, i);
		double seconds = length_of(d, m);

		to[i] = (struct described_checkpoint){
			.name = describe_name(d, m->name),
			.number = m->number,
			.ranks = m->ranks,
			.bytes = m->bytes,
			.start_seconds = describe_seconds(d, m->start_ns),
			.seconds = seconds,
			.bytes_per_sec = mark_rate(m->bytes, seconds),
		};
	}
}

static void fill_phases(struct describe *d)
{
	const struct intervals *log = &d->to->log;
	struct described_trace *t = &d->to->figures.trace;
	double length = (double)log->length_ns / NS_PER_S;
	struct phase *found = mem_array(DESCRIBE_TASKS, sizeof(*found));
	size_t n = phases_find(log, found, DESCRIBE_TASKS), idle = 0;

	t->phases_count = n;
	n = n < DESCRIBE_TASKS ? n : DESCRIBE_TASKS;
	struct described_phase *to = take_list(d, &t->phases, n, sizeof(*to));
	for (size_t i = 0; i < n; i++)
		to[i] = (struct described_phase){
			.kind = (int)found[i].kind,
			.bytes = found[i].bytes,
			.start_seconds = (double)found[i].first * length,
			.seconds = (double)found[i].count * length,
		};
	for (size_t i = 0; i < log->count; i++)
		idle += !log->at[i].read_bytes && !log->at[i].written_bytes;
	t->idle_percent = 100 * (double)idle / (double)log->count;
	mem_free(found);
}

void describe_fill_lists(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;

	fill_sizes(d);
	fill_files(d);
	fill_tasks(d, &t->processes, d->tasks.processes.at, d->tasks.process_keys.count);
	fill_tasks(d, &t->threads, d->tasks.threads.at, d->tasks.thread_keys.count);
	fill_epochs(d);
	fill_order(d);
	fill_stages(d);
	fill_checkpoints(d);
	fill_phases(d);
}
