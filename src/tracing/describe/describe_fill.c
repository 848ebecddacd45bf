/* SPDX-License-Identifier: Apache-2.0 */
/* describe_fill.c - the figures of a description, from the accounts of its trace. */
#include "tracing/describe/describe_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/util.h"
#include "report/metrics/metrics.h"

#define PAGE_BYTES 4096
/* Inferred epochs are likely if this part of all bytes agrees with them. */
#define LIKELY_PERCENT 90.0

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

/* NaN if the time is 0. */
static double rate(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : (double)NAN;
}

/* Seconds since the start of the trace; NaN = unknown. */
static double seconds_at(const struct describe *d, uint64_t ns)
{
	if (ns == TRACE_UNKNOWN)
		return (double)NAN;
	return ns >= d->start_ns ? (double)(ns - d->start_ns) / NS_PER_S
				 : -(double)(d->start_ns - ns) / NS_PER_S;
}

/* ---- the largest ---- */

/* Does element a of `of` come before element b? */
typedef bool is_above(const void *of, uint32_t a, uint32_t b);

/* Insert an element into a list of the first `most`. Returns the new length of the list. */
static size_t insert_top(uint32_t *list, size_t n, size_t most, uint32_t element, is_above *above,
			 const void *of)
{
	if (n == most && !above(of, element, list[n - 1]))
		return n;
	size_t i = n == most ? n - 1 : n++;
	for (; i > 0 && above(of, element, list[i - 1]); i--)
		list[i] = list[i - 1];
	list[i] = element;
	return n;
}

/* Files with more bytes come first, then those with more calls. */
static bool file_is_above(const void *of, uint32_t id, uint32_t other)
{
	const struct file_account *f = trace_files_at(of, id), *o = trace_files_at(of, other);
	uint64_t a = f->read_bytes + f->written_bytes, b = o->read_bytes + o->written_bytes;

	if (a != b)
		return a > b;
	return f->metadata != o->metadata ? f->metadata > o->metadata : id < other;
}

void describe_find_top(struct describe *d)
{
	for (uint32_t id = 1; id < d->files.count; id++)
		if (file_account_is_used(trace_files_at(&d->files, id)))
			d->top_count = insert_top(d->top, d->top_count, DESCRIBE_TOP, id,
						  file_is_above, &d->files);
}

/* Tasks with more bytes come first, then those with more operations. */
static bool task_is_above(const void *of, uint32_t i, uint32_t other)
{
	const struct task_account *t = (const struct task_account *)of + i;
	const struct task_account *o = (const struct task_account *)of + other;
	uint64_t a = t->read_bytes + t->written_bytes, b = o->read_bytes + o->written_bytes;

	return a != b ? a > b : t->operations > o->operations;
}

/* Directories with more bytes come first, then those with more files. */
static bool directory_is_above(const void *of, uint32_t id, uint32_t other)
{
	const struct described_directory *d = (const struct described_directory *)of + id;
	const struct described_directory *o = (const struct described_directory *)of + other;
	uint64_t a = d->read_bytes + d->written_bytes, b = o->read_bytes + o->written_bytes;

	return a != b ? a > b : d->files > o->files;
}

/* ---- the trace itself ---- */

static void fill_trace(struct describe *d)
{
	const struct trace_read *r = trace_reader_totals(d->reader);
	struct described_trace *t = &d->to->figures.trace;
	struct described_loss *parts = t->lost.parts.items;

	t->files = r->files;
	t->chunks = r->chunks;
	t->records = r->records;
	t->entries = r->entries;
	t->bytes = r->bytes;
	t->damaged_chunks = r->damaged_chunks;
	t->damaged_bytes = r->damaged_bytes;
	t->truncated = r->truncated;
	t->unknown_ops = r->unknown_ops;
	t->is_complete =
		!r->damaged_chunks && !r->damaged_bytes && !r->truncated && !t->lost.events;
	for (size_t i = 0; i < t->lost.parts.count; i++) {
		/* A double holds a century in nanoseconds with an error far below a millisecond. */
		double first = parts[i].first_seconds;
		double last = parts[i].last_seconds;

		parts[i].first_seconds =
			first < 1.8e19 ? (first - (double)d->start_ns) / 1e9 : (double)NAN;
		parts[i].last_seconds =
			last < 1.8e19 ? (last - (double)d->start_ns) / 1e9 : (double)NAN;
	}

	const struct described_op *read = &t->operations.of[TRACE_READ];
	const struct described_op *write = &t->operations.of[TRACE_WRITE];
	t->seconds = (double)(d->end_ns - d->start_ns) / NS_PER_S;
	t->read_bytes = read->bytes;
	t->written_bytes = write->bytes;
	t->samples = d->marks.has_samples ? t->operations.of[TRACE_SAMPLE].count : TRACE_UNKNOWN;
	t->read_bytes_per_sec = rate(read->bytes, t->seconds);
	t->write_bytes_per_sec = rate(write->bytes, t->seconds);
	t->reads_per_sec = rate(read->count, t->seconds);
	t->writes_per_sec = rate(write->count, t->seconds);
	/* Little's law: the sum of durations divided by the time of the trace. */
	t->in_flight_mean = d->moved_ns ? rate(d->moved_ns, t->seconds) / NS_PER_S : (double)NAN;
	t->steps.count = t->operations.of[TRACE_STEP].count;
	t->steps.step_ns = t->operations.of[TRACE_STEP].lat_ns;
	t->steps.compute_ns = t->operations.of[TRACE_COMPUTE].lat_ns;
	t->async.submitted = t->operations.of[TRACE_ASYNC_SUBMIT].count;
	t->async.completed = t->operations.of[TRACE_ASYNC_COMPLETE].count;
	t->async.depth_most = d->async.depth_most;

	/* The time of day at which the trace began: "2026-11-21 14:02:11 UTC". */
	const struct trace_head *h = trace_reader_head(d->reader);
	uint64_t wall = h->wall_ns + (d->start_ns - h->clock_ns);
	time_t began = (time_t)(wall / NS_PER_S);
	struct tm utc;
	char text[64];
	if (!h->wall_ns || h->wall_ns == TRACE_UNKNOWN || !gmtime_r(&began, &utc) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc))
		return;
	t->time = json_store_text(&d->to->store, text);
}

/* ---- files ---- */

/* Add a file to the sums. *placed_bytes counts the bytes that were read from files with known
 * offsets. */
static void sum_file(const struct trace_files *b, const struct file_account *f,
		     struct described_trace *t, uint64_t *placed_bytes)
{
	uint64_t unique = extent_set_bytes(&b->pool, &f->read);

	t->unique.files++;
	t->unique.read_files += f->reads > 0;
	t->unique.written_files += f->writes > 0;
	t->unique.bytes += unique;
	t->unique.is_exact &= extent_set_is_exact(&b->pool, &f->read);
	if (unique)
		*placed_bytes += f->read_bytes;
	if (!f->faulted)
		return;
	t->mmap.pages += divide_up(extent_set_bytes(&b->pool, f->faulted), PAGE_BYTES);
	t->mmap.pages_is_exact &= extent_set_is_exact(&b->pool, f->faulted);
}

static void fill_sums(const struct trace_files *b, struct described_trace *t)
{
	struct described_unique *u = &t->unique;
	struct described_access *a = &t->access;
	const uint64_t *n = b->accesses, *faults = b->faults;
	double ascending = (double)(faults[ACCESS_SEQUENTIAL] + faults[ACCESS_AHEAD]);
	uint64_t placed_bytes = 0;

	a->followed = n[ACCESS_SEQUENTIAL] + n[ACCESS_AHEAD] + n[ACCESS_BACK];
	double all = (double)a->followed;
	a->sequential_percent = percent_of((double)n[ACCESS_SEQUENTIAL], all);
	a->ahead_percent = percent_of((double)n[ACCESS_AHEAD], all);
	a->back_percent = percent_of((double)n[ACCESS_BACK], all);
	a->unknown_offsets = b->unknown_offsets;
	if (!a->followed)
		a->unknown = b->unknown_offsets ? "the offsets of reads were not recorded"
						: "no thread read twice from the same open file";

	t->mmap.ascending_percent = percent_of(ascending, ascending + (double)faults[ACCESS_BACK]);
	t->mmap.pages_is_exact = true;
	u->is_exact = true;
	for (uint32_t i = 0; i < b->count; i++)
		if (file_account_is_used(trace_files_at(b, i)))
			sum_file(b, trace_files_at(b, i), t, &placed_bytes);
	u->reread_percent =
		u->bytes && placed_bytes >= u->bytes
			? percent_of((double)(placed_bytes - u->bytes), (double)placed_bytes)
		: u->bytes ? 0
			   : (double)NAN;
	if (u->bytes)
		return;
	u->unknown = b->unknown_offsets ? "the offsets of reads were not recorded"
					: "nothing was read from known files";
	u->bytes = b->unknown_offsets ? TRACE_UNKNOWN : 0;
}

/* Make a list in the store. */
static void *new_list(struct describe *d, struct metric_list *l, size_t count, size_t element_bytes)
{
	*l = (struct metric_list){ json_store_alloc(&d->to->store, count * element_bytes), count };
	return l->items;
}

static void fill_files(struct describe *d)
{
	const struct trace_files *b = &d->files;
	struct described_file *to =
		new_list(d, &d->to->figures.trace.top_files, d->top_count, sizeof(*to));

	for (size_t i = 0; i < d->top_count; i++) {
		const struct file_account *f = trace_files_at(b, d->top[i]);
		const char *path = describe_name(d, d->top[i]);
		uint64_t unique = extent_set_bytes(&b->pool, &f->read);

		to[i] = (struct described_file){
			.path = *path ? path : NULL,
			.size_bytes = f->size_bytes ? f->size_bytes - 1 : TRACE_UNKNOWN,
			.opens = f->opens,
			.reads = f->reads,
			.read_bytes = f->read_bytes,
			.writes = f->writes,
			.written_bytes = f->written_bytes,
			.unique_bytes = trace_files_unique_bytes(b, f),
			.unique_is_exact = extent_set_is_exact(&b->pool, &f->read),
			.reread_percent = (double)NAN,
			.sequential_percent =
				percent_of((double)f->sequential, (double)f->followed),
		};
		if (unique)
			to[i].reread_percent =
				fmax(0, percent_of((double)f->read_bytes - (double)unique,
						   (double)f->read_bytes));
		if (f->faulted)
			to[i].pages = divide_up(extent_set_bytes(&b->pool, f->faulted), PAGE_BYTES);
	}
}

/* Sum the files of each directory by the id of its name. */
static void fill_directories(struct describe *d)
{
	uint32_t count = trace_names_count(d->names), top[DESCRIBE_TOP];
	struct spill sums = { 0 };
	size_t n = 0;

	spill_reserve(&sums, ((size_t)count + 1) * sizeof(struct described_directory));
	struct described_directory *all = sums.at, *to;
	for (uint32_t i = 0; i < d->files.count; i++) {
		const struct file_account *f = trace_files_at(&d->files, i);

		if (!file_account_is_used(f) || !f->directory)
			continue;
		all[f->directory].files++;
		all[f->directory].opens += f->opens;
		all[f->directory].reads += f->reads;
		all[f->directory].read_bytes += f->read_bytes;
		all[f->directory].written_bytes += f->written_bytes;
	}
	for (uint32_t id = 1; id <= count; id++)
		if (all[id].files)
			n = insert_top(top, n, DESCRIBE_TOP, id, directory_is_above, all);
	to = new_list(d, &d->to->figures.trace.directories, n, sizeof(*to));
	for (size_t i = 0; i < n; i++) {
		to[i] = all[top[i]];
		to[i].path =
			json_store_text(&d->to->store, trace_names_text(d->names, top[i], NULL));
	}
	spill_free(&sums);
}

/* ---- request sizes ---- */

static void fill_sizes(struct describe *d)
{
	static const char *const names[SIZED] = { "read", "write", "block_read", "block_write" };
	struct described_size *to = new_list(d, &d->to->figures.trace.request_sizes,
					     SIZED * SIZES_CLASSES, sizeof(*to));
	size_t n = 0;

	for (unsigned k = 0; k < SIZED; k++) {
		const struct size_account *s = &d->sizes[k];
		uint64_t all = 0;

		for (unsigned i = 0; i < SIZES_CLASSES; i++)
			all += s->count[i];
		for (unsigned i = 0; i < SIZES_CLASSES; i++) {
			/* The duration in a record of a block request covers only its issue. */
			bool is_timed = k < SIZED_BLOCK_READ && s->ns[i];

			if (!s->count[i])
				continue;
			to[n++] = (struct described_size){
				.operation = names[k],
				.at_most_bytes = i < 64 ? UINT64_C(1) << i : UINT64_MAX,
				.count = s->count[i],
				.bytes = s->bytes[i],
				.percent = percent_of((double)s->count[i], (double)all),
				.bytes_per_sec = rate(s->bytes[i],
						      is_timed ? (double)s->ns[i] / NS_PER_S : 0),
				.lat_mean_ns = is_timed ? (double)s->ns[i] / (double)s->count[i]
							: (double)NAN,
			};
		}
	}
	d->to->figures.trace.request_sizes.count = n;
}

/* ---- processes and threads ---- */

/* NaN if some calls have no duration. */
static double io_percent(const struct task_account *a)
{
	return a->timeless ? (double)NAN : percent_of((double)a->call_ns, (double)a->span_ns);
}

/* NaN if CPU time was not recorded. */
static double cpu_percent(const struct task_account *a)
{
	uint64_t ns = a->on_cpu_ns      ? a->on_cpu_ns
		      : a->has_cpu      ? a->cpu_ns
		      : a->has_exit_cpu ? a->exit_cpu_ns
					: TRACE_UNKNOWN;

	return ns == TRACE_UNKNOWN ? (double)NAN
				   : fmin(100, percent_of((double)ns, (double)a->cpu_span_ns));
}

/* Tasks without records are only listed if they state a role. */
static void fill_tasks(struct describe *d, struct metric_list *l, const struct keyed *tasks)
{
	const struct task_account *all = tasks->items.at;
	uint32_t top[DESCRIBE_TASKS];
	struct described_task *to;
	size_t n = 0;

	for (uint32_t i = 0; i < tasks->keys.count; i++)
		if (task_account_is_used(&all[i]) || all[i].role != ROLE_OTHER)
			n = insert_top(top, n, DESCRIBE_TASKS, i, task_is_above, all);
	to = new_list(d, l, n, sizeof(*to));
	for (size_t i = 0; i < n; i++) {
		const struct task_account *a = &all[top[i]];
		struct described_task *task = &to[i];
		uint64_t ns = a->last_ns > a->first_ns ? a->last_ns - a->first_ns : 0;
		double seconds = (double)ns / NS_PER_S;

		*task = (struct described_task){
			.pid = a->pid,
			.tid = a->tid,
			.parent = a->parent ? a->parent : TRACE_UNKNOWN,
			.role = a->role,
			.sure = a->sure,
			.threads = a->threads,
			.operations = a->operations,
			.opens = a->opens,
			.metadata = a->metadata,
			.reads = a->reads,
			.read_bytes = a->read_bytes,
			.writes = a->writes,
			.written_bytes = a->written_bytes,
			.faults = a->faults,
			.switches = a->on_cpu_ns ? a->switches : TRACE_UNKNOWN,
			.seconds = seconds,
			.read_bytes_per_sec = rate(a->read_bytes, seconds),
			.io_percent = io_percent(a),
			.fault_percent = percent_of((double)a->fault_ns, (double)a->span_ns),
			.on_cpu_percent = cpu_percent(a),
		};
		if (a->text)
			task->text = json_store_text(&d->to->store,
						     trace_names_text(d->names, a->text, NULL));
		task->off_cpu_percent = 100 - task->on_cpu_percent;
	}
}

static void fill_share(const struct keyed *tasks, struct described_share *to)
{
	const struct task_account *all = tasks->items.at;
	uint32_t count = tasks->keys.count;
	double *bytes = mem_array(count, sizeof(*bytes));
	double *times = mem_array(count, sizeof(*times));
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!all[i].read_bytes && !all[i].written_bytes)
			continue;
		bytes[n] = (double)(all[i].read_bytes + all[i].written_bytes);
		times[n++] = (double)all[i].call_ns;
	}
	struct fairness of_bytes = fairness_of(bytes, n);
	struct fairness of_time = fairness_of(times, n);
	*to = (struct described_share){ n, of_bytes.most_over_mean, of_bytes.gini,
					of_time.most_over_mean, of_time.gini };
	mem_free(bytes);
	mem_free(times);
}

static void fill_totals(const struct trace_tasks *b, struct described_trace *t)
{
	struct task_account all = { .first_ns = UINT64_MAX };

	fill_share(&b->processes, &t->skew.processes);
	fill_share(&b->threads, &t->skew.threads);
	for (uint32_t i = 0; i < b->processes.keys.count; i++) {
		const struct task_account *a = trace_tasks_process(b, i);

		if (!task_account_is_used(a))
			continue;
		t->processes_count++;
		t->threads_count += a->threads;
		task_account_add(&all, a);
	}
	t->clock_steps = b->clock_steps;
	t->io_percent = io_percent(&all);
	t->fault_percent = percent_of((double)all.fault_ns, (double)all.span_ns);
	t->cpu.on_percent = cpu_percent(&all);
	t->cpu.off_percent = 100 - t->cpu.on_percent;
	t->cpu.switches = all.on_cpu_ns ? all.switches : TRACE_UNKNOWN;
	t->cpu.switches_per_sec = (double)NAN;
	if (all.on_cpu_ns)
		t->cpu.switches_per_sec = rate(all.switches, t->seconds);
	if (isnan(t->cpu.on_percent))
		t->cpu.unknown = "the CPU time of threads was not recorded";
	if (!all.on_cpu_ns)
		t->cpu.switches_unknown = "context switches were not recorded";
}

/* ---- epochs, stages, checkpoints and phases ---- */

/* A mark whose end was not seen ends with the trace. */
static double length_of(const struct describe *d, const struct mark_account *m)
{
	uint64_t end = u64_min(m->end_ns, d->end_ns);

	return end > m->start_ns ? (double)(end - m->start_ns) / NS_PER_S : 0;
}

static void fill_marks(struct describe *d)
{
	const struct mark_list *l = &d->marks.epochs;
	struct described_trace *t = &d->to->figures.trace;
	struct described_epoch *to = new_list(d, &t->epochs, l->count, sizeof(*to));
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
			.start_seconds = seconds_at(d, m->start_ns),
			.seconds = seconds,
			.bytes_per_sec = rate(m->read_bytes, seconds),
			.order_correlation = order_correlation(&m->order),
		};
	}

	const struct mark_list *stages = &d->marks.stages;
	struct described_stage *stage = new_list(d, &t->stages, stages->count, sizeof(*stage));
	for (uint32_t i = 0; i < stages->count; i++) {
		const struct mark_account *m = mark_at(stages, i);

		stage[i] = (struct described_stage){
			.name = describe_name(d, m->name),
			.ranks = m->ranks,
			.start_seconds = seconds_at(d, m->start_ns),
			.seconds = length_of(d, m),
		};
	}

	const struct mark_list *checkpoints = &d->marks.checkpoints;
	struct described_checkpoint *checkpoint =
		new_list(d, &t->checkpoints, checkpoints->count, sizeof(*checkpoint));
	for (uint32_t i = 0; i < checkpoints->count; i++) {
		const struct mark_account *m = mark_at(checkpoints, i);
		double seconds = length_of(d, m);

		checkpoint[i] = (struct described_checkpoint){
			.name = describe_name(d, m->name),
			.number = m->number,
			.ranks = m->ranks,
			.bytes = m->bytes,
			.start_seconds = seconds_at(d, m->start_ns),
			.seconds = seconds,
			.bytes_per_sec = rate(m->bytes, seconds),
		};
	}
}

/* The correlation between the orders of successive epochs, and its source. */
static void fill_order(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	const struct described_epoch *e = t->epochs.items;
	struct described_order *o = &t->order;
	const struct trace_marks *m = &d->marks;
	double sum = 0, n = 0;

	for (size_t i = 0; i < t->epochs.count; i++) {
		if (isnan(e[i].order_correlation))
			continue;
		sum += e[i].order_correlation;
		n++;
	}
	o->correlation = n > 0 ? sum / n : (double)NAN;
	o->sure = !t->epochs.count                     ? SURE_GUESS
		  : !m->is_inferred                    ? SURE_STATED
		  : m->agree_percent >= LIKELY_PERCENT ? SURE_LIKELY
						       : SURE_GUESS;
	o->of = m->has_samples && !m->is_inferred ? "samples" : "files";
	if (t->epochs.count)
		o->source = m->is_inferred ? "files that are read again" : "markers";
	if (n > 0)
		return;
	if (!t->epochs.count)
		o->unknown = m->passes > 1 ? "no epoch is marked, and files are read different "
					     "numbers of times"
					   : "no epoch is marked, and files are read only once";
	else
		o->unknown =
			t->epochs.count < 2
				? "there is only one epoch"
				: "no two successive epochs share at least two samples or files";
}

static void fill_phases(struct describe *d)
{
	const struct intervals *log = &d->to->log;
	struct described_trace *t = &d->to->figures.trace;
	double length = (double)log->length_ns / NS_PER_S;
	struct phase *phases = mem_array(DESCRIBE_TASKS, sizeof(*phases));
	size_t n = phases_find(log, phases, DESCRIBE_TASKS), idle = 0;

	t->phases_count = n;
	n = n < DESCRIBE_TASKS ? n : DESCRIBE_TASKS;
	struct described_phase *to = new_list(d, &t->phases, n, sizeof(*to));
	for (size_t i = 0; i < n; i++)
		to[i] = (struct described_phase){
			.kind = (int)phases[i].kind,
			.bytes = phases[i].bytes,
			.start_seconds = (double)phases[i].first * length,
			.seconds = (double)phases[i].count * length,
		};
	for (size_t i = 0; i < log->count; i++)
		idle += !log->at[i].read_bytes && !log->at[i].written_bytes;
	t->idle_percent = 100 * (double)idle / (double)log->count;
	mem_free(phases);
}

/* ---- the kernel ---- */

static void fill_cache(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_cache *c = &t->cache;
	uint64_t from = TRACE_UNKNOWN, ahead = 0;

	c->added_bytes = TRACE_UNKNOWN;
	c->hit_percent = c->read_ahead_percent = (double)NAN;
	if (d->seen[TRACE_CACHE_ADD]) {
		c->source = "pages added to the cache";
		from = t->operations.of[TRACE_CACHE_ADD].bytes;
		ahead = d->cache_ahead_bytes;
		c->added_bytes = from;
	} else if (d->seen[TRACE_BLOCK_ISSUE]) {
		c->source = "block requests";
		from = t->block.read_bytes;
		ahead = d->block_ahead_bytes;
	} else {
		c->unknown = "neither pages added to the cache nor block requests were recorded";
		return;
	}
	c->read_ahead_percent = percent_of((double)ahead, (double)from);
	if (t->read_bytes)
		c->hit_percent = fmax(0, 100 - percent_of((double)from, (double)t->read_bytes));
	else
		c->unknown = "no call read a byte";
}

static void fill_block(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_block *b = &t->block;

	b->depth_most = d->block.depth_most;
	b->depth_mean = rate(d->block_ns, t->seconds) / NS_PER_S;
	b->read_ahead_percent = percent_of((double)d->block_ahead_bytes, (double)b->read_bytes);
	if (d->seen[TRACE_BLOCK_ISSUE] || d->seen[TRACE_BLOCK_COMPLETE])
		return;
	b->unknown = "block requests were not recorded";
	b->reads = b->writes = b->read_bytes = b->written_bytes = b->depth_most = TRACE_UNKNOWN;
	b->depth_mean = (double)NAN;
}

static void fill_mmap(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_mmap *m = &t->mmap;
	uint64_t ns =
		d->fault_last_ns > d->fault_first_ns ? d->fault_last_ns - d->fault_first_ns : 0;

	m->maps = t->operations.of[TRACE_MMAP].count;
	m->faults = d->seen[TRACE_FAULT];
	m->faults_per_sec = ns ? (double)m->faults / ((double)ns / NS_PER_S) : (double)NAN;
	if (m->faults)
		return;
	m->unknown = m->maps ? "page faults were not recorded" : "no file was mapped";
	if (m->maps)
		m->faults = m->pages = TRACE_UNKNOWN;
}

static void fill_metadata(struct describe *d)
{
	struct described_trace *t = &d->to->figures.trace;
	struct described_metadata *m = &t->metadata;
	double mib = (double)(t->read_bytes + t->written_bytes) / BYTES_PER_MIB;

	for (unsigned op = 0; op < TRACE_OPS; op++)
		if (opkind_of(op) & OPKIND_METADATA)
			m->operations += t->operations.of[op].count;
	m->per_mib = mib > 0 ? (double)m->operations / mib : (double)NAN;
	m->opens_per_sample = (double)NAN;
	if (t->samples != TRACE_UNKNOWN && t->samples)
		m->opens_per_sample =
			(double)t->operations.of[TRACE_OPEN].count / (double)t->samples;
	else
		m->opens_unknown = "no samples are marked";
}

/* ---- everything ---- */

void describe_fill(struct describe *d)
{
	struct described *f = &d->to->figures;
	struct described_trace *t = &f->trace;

	f->version = metrics_version();
	f->schema_version = METRICS_SCHEMA_VERSION;
	fill_trace(d);
	fill_sums(&d->files, t);
	fill_totals(&d->tasks, t);
	fill_block(d);
	fill_cache(d);
	fill_mmap(d);
	fill_metadata(d);

	intervals_coarsen(&d->to->series, &d->to->log, DESCRIBE_SERIES);
	intervals_finish(&d->to->log, d->seen);
	intervals_finish(&d->to->series, d->seen);
	t->interval_seconds = (double)d->to->series.length_ns / NS_PER_S;
	t->series = (struct metric_list){ d->to->series.at, d->to->series.count };

	fill_sizes(d);
	fill_files(d);
	fill_directories(d);
	fill_tasks(d, &t->processes, &d->tasks.processes);
	fill_tasks(d, &t->threads, &d->tasks.threads);
	fill_marks(d);
	fill_order(d);
	fill_phases(d);
}
