/* SPDX-License-Identifier: Apache-2.0 */
/* describe_text.c - a description for people: the answer first, then tables and evidence. */
#include "tracing/describe/describe_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "report/text/text.h"

/* Rows of each table. */
#define TASKS_SHOWN 6
#define EPOCHS_SHOWN 6
#define SIZES_SHOWN 5
#define CHECKPOINTS_SHOWN 4

#define NAME_INDENT 10

const struct template_scope describe_scopes[] = {
	{ "", described_trace_fields, offsetof(struct description, figures.trace), false },
	{ 0 },
};

#define append(out, d, text) template_append(out, TEMPLATE(describe_scopes, text), d)

static const char *fact(const struct description *d, const char *key)
{
	const struct metric_pair *pairs = d->figures.trace.facts.items;

	for (size_t i = 0; i < d->figures.trace.facts.count; i++)
		if (!strcmp(pairs[i].key, key))
			return pairs[i].value;
	return NULL;
}

static const char *choice_name(const struct mlgen_choice *choices, int value)
{
	while (choices->name && choices->value != value)
		choices++;
	return choices->name ? choices->name : "";
}

/* ---- the answer, and whether the trace is complete ---- */

static void append_incomplete(struct buf *out, const struct description *d)
{
	const struct described_lost *l = &d->figures.trace.lost;
	const struct described_loss *parts = l->parts.items;
	struct buf text = { 0 };

	if (d->figures.trace.is_complete)
		return;
	if (l->events) {
		append(&text, d, "{lost.events} event{s} lost");
		for (size_t i = 0; i < l->parts.count && i < 3; i++)
			buf_addf(&text, "%s%s%s%s", i ? ", " : " (",
				 parts[i].operation ? parts[i].operation : "several",
				 parts[i].why ? ": " : "", parts[i].why ? parts[i].why : "");
		buf_addf(&text, "%s; ", l->parts.count > 3 ? ", ...)" : ")");
	}
	append(&text, d,
	       "[{truncated} file{s} of the trace without an end; ][{damaged_chunks} damaged "
	       "chunk{s} left out; ][{damaged_bytes} left out; ]figures cover only the records "
	       "that exist");
	text_append_buf(out, "  INCOMPLETE", TEXT_ANSWER_INDENT, &text);
}

static void append_answer(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;

	if (!t->records) {
		buf_add(out, "trace: no records\n");
	} else {
		append(out, d,
		       "trace: {read_bytes} read at {read_bytes_per_sec}, {written_bytes} written");
		if (t->written_bytes)
			append(out, d, " at {write_bytes_per_sec}");
		append(out, d, ", {unique.files} file{s}, {seconds} s\n");
	}
	append_incomplete(out, d);
	if (t->clock_steps) {
		struct buf text = { 0 };

		append(&text, d,
		       "{clock_steps} record{s} ended before the previous record of the same "
		       "thread: do not trust times and rates");
		text_append_buf(out, "  CLOCK", TEXT_ANSWER_INDENT, &text);
	}
	buf_addc(out, '\n');
}

/* ---- origin, and who did it ---- */

static void append_origin(struct buf *out, const struct description *d)
{
	static const struct {
		const char *key, *before;
	} parts[] = {
		{ "program", "by " }, { "version", "" }, { "job", "job " },
		{ "host", "on " },    { "kernel", "" },
	};
	struct buf text = { 0 };

	append(&text, d, "{records} record{s} in {trace_files} file{s}");
	append(&text, d, " of {bytes}[, {time}]");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (has_text(fact(d, parts[i].key)))
			buf_addf(&text, "%s%s%s", i == 1 ? " " : ", ", parts[i].before,
				 fact(d, parts[i].key));
	text_append_buf(out, "trace", NAME_INDENT, &text);
}

static bool have_stated_role(const struct metric_list *threads)
{
	const struct described_task *t = threads->items;

	for (size_t i = 0; i < threads->count; i++)
		if (t[i].role != ROLE_OTHER && t[i].sure == SURE_STATED)
			return true;
	return false;
}

static void append_who(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	struct buf text = { 0 };

	append(&text, d, "{processes_count} process");
	buf_add(&text, t->processes_count == 1 ? "" : "es");
	append(&text, d, ", {threads_count} thread{s}");

	/* "1 trainer, 8 loaders (likely)", with the certainty of the least certain task. */
	const struct metric_list *tasks =
		have_stated_role(&t->threads) ? &t->threads : &t->processes;
	const struct described_task *task = tasks->items;
	for (int role = ROLE_TRAINER; role < ROLES; role++) {
		uint64_t n = 0;
		int sure = SURE_STATED;

		for (size_t i = 0; i < tasks->count; i++) {
			if (task[i].role != role)
				continue;
			n++;
			sure = task[i].sure > sure ? task[i].sure : sure;
		}
		if (!n)
			continue;
		buf_addf(&text, ", %" PRIu64 " %s%s%s (%s)", n, choice_name(described_roles, role),
			 role == ROLE_CHECKPOINT ? " writer" : "", plural(n),
			 choice_name(described_certainties, sure));
	}

	text_append_buf(out, "who", NAME_INDENT, &text);
	if (t->unknown_durations) {
		append(&text, d, "{unknown_durations} record{s} with unknown duration");
		text_append_buf(out, "time", NAME_INDENT, &text);
	}
	if (isnan(t->io_percent))
		return;
	append(&text, d,
	       "{io_percent} of the threads' time in calls on files[, {fault_percent} in page "
	       "faults][, {cpu.on_percent} on a CPU][; {in_flight_mean} reads and writes in flight "
	       "on average]");
	text_append_buf(out, "time", NAME_INDENT, &text);
}

static void append_count(struct buf *out, int width, uint64_t n)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, n == UINT64_MAX ? "-" : units_human_count(text, n));
}

static void append_bytes(struct buf *out, int width, uint64_t n)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, units_human_bytes(text, (double)n));
}

static void append_percent(struct buf *out, int width, double v)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, isnan(v) ? "-" : show_percent(text, v));
}

static void append_seconds(struct buf *out, int width, double v)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, isnan(v) ? "-" : show_seconds(text, v));
}

static void append_rate(struct buf *out, int width, double v)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, isnan(v) ? "-" : units_sig4(text, v / BYTES_PER_MIB));
}

/* ---- latencies ---- */

static void append_ops(struct buf *out, const struct description *d,
		       const struct f64_list *percentiles)
{
	const struct described_op *ops = d->figures.trace.operations.of;
	struct text_latency_row rows[TRACE_OPS + 1];
	size_t n = 0;

	for (unsigned op = 1; op < TRACE_OPS; op++) {
		bool is_timed = opkind_of(op) & OPKIND_CALL || op == TRACE_FAULT ||
				op == TRACE_SAMPLE || op == TRACE_STEP;

		if (is_timed && ops[op].count)
			rows[n++] = (struct text_latency_row){ trace_op_name(op), ops[op].count,
							       ops[op].lat_ns };
	}
	if (d->figures.trace.block.lat_ns)
		rows[n++] =
			(struct text_latency_row){ "block", d->figures.trace.block.lat_ns->count,
						   d->figures.trace.block.lat_ns };
	text_io_latency(out, rows, n, percentiles);
	if (n)
		buf_addc(out, '\n');
}

/* ---- sizes ---- */

/* Append the sizes that most requests of one operation have, in order of size. */
static void append_sizes_of(struct buf *out, const struct metric_list *l, const char *operation)
{
	const struct described_size *s = l->items;
	double least = 0;
	size_t n;

	/* Raise the share that a row needs until few enough rows are left. */
	do {
		n = 0;
		for (size_t i = 0; i < l->count; i++)
			n += !strcmp(s[i].operation, operation) && s[i].percent >= least;
		least = n > SIZES_SHOWN ? least + 0.5 : least;
	} while (n > SIZES_SHOWN);
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(s[i].operation, operation) != 0 || s[i].percent < least)
			continue;
		buf_addf(out, "%-12s", operation);
		append_bytes(out, 10, s[i].at_most_bytes);
		append_count(out, 14, s[i].count);
		append_percent(out, 9, s[i].percent);
		append_bytes(out, 11, s[i].bytes);
		append_rate(out, 10, s[i].bytes_per_sec);
		buf_addc(out, '\n');
	}
}

static void append_sizes(struct buf *out, const struct description *d)
{
	static const char *const operations[] = { "read", "write", "block_read", "block_write" };
	const struct metric_list *l = &d->figures.trace.request_sizes;

	if (!l->count)
		return;
	buf_add(out, "requests of     up to         count    share      bytes   MiB/s*\n");
	for (size_t i = 0; i < ARRAY_LEN(operations); i++)
		append_sizes_of(out, l, operations[i]);
	buf_add(out, "* rate of one request while it is in flight\n\n");
}

/* ---- processes or threads ---- */

static void append_tasks(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	bool is_thread = t->processes_count == 1;
	const struct metric_list *l = is_thread ? &t->threads : &t->processes;
	const struct described_task *tasks = l->items;

	if (l->count < 2)
		return;
	buf_addf(out, "%-20s   opens     reads      read   MiB/s   written in I/O on CPU\n",
		 is_thread ? "thread" : "process");
	for (size_t i = 0; i < l->count && i < TASKS_SHOWN; i++) {
		const struct described_task *task = &tasks[i];
		struct buf name = { 0 };

		if (is_thread && task->text)
			printable_add(&name, task->text);
		else
			buf_addf(&name, "%" PRIu64, is_thread ? task->tid : task->pid);
		if (!is_thread || !task->text)
			buf_addf(&name, " %s", choice_name(described_roles, task->role));
		buf_addf(out, "%-20.20s", buf_str(&name));
		buf_fini(&name);
		append_count(out, 8, task->opens);
		append_count(out, 10, task->reads);
		append_bytes(out, 10, task->read_bytes);
		append_rate(out, 8, task->read_bytes_per_sec);
		append_bytes(out, 10, task->written_bytes);
		append_percent(out, 7, task->io_percent);
		append_percent(out, 7, task->on_cpu_percent);
		buf_addc(out, '\n');
	}
	if (l->count > TASKS_SHOWN)
		buf_addf(out, "  ... %zu more\n", l->count - TASKS_SHOWN);
	buf_addc(out, '\n');
}

/* ---- epochs and checkpoints ---- */

static void append_epochs(struct buf *out, const struct description *d)
{
	const struct metric_list *l = &d->figures.trace.epochs;
	const struct described_epoch *e = l->items;

	if (!l->count)
		return;
	buf_add(out, "epoch   from, s   seconds      files      samples       read    MiB/s  order "
		     "rho\n");
	for (size_t i = 0; i < l->count; i++) {
		if (l->count > EPOCHS_SHOWN && i >= EPOCHS_SHOWN - 2 && i + 1 < l->count) {
			buf_add(out, i == EPOCHS_SHOWN - 2 ? "  ...\n" : "");
			continue;
		}
		append_count(out, 5, e[i].number);
		append_seconds(out, 10, e[i].start_seconds);
		append_seconds(out, 10, e[i].seconds);
		append_count(out, 11, e[i].files);
		append_count(out, 13, e[i].samples);
		append_bytes(out, 11, e[i].read_bytes);
		append_rate(out, 9, e[i].bytes_per_sec);
		if (isnan(e[i].order_correlation))
			buf_addf(out, "%11s\n", "-");
		else
			buf_addf(out, "%11.3f\n", e[i].order_correlation);
	}
	buf_addc(out, '\n');
}

static void append_checkpoints(struct buf *out, const struct description *d)
{
	const struct metric_list *l = &d->figures.trace.checkpoints;
	const struct described_checkpoint *c = l->items;

	if (!l->count)
		return;
	buf_add(out, "checkpoint     from, s   seconds  ranks       bytes    MiB/s\n");
	for (size_t i = 0; i < l->count && i < CHECKPOINTS_SHOWN; i++) {
		buf_addf(out, "%-7.7s%3" PRIu64, c[i].name, c[i].number);
		append_seconds(out, 12, c[i].start_seconds);
		append_seconds(out, 10, c[i].seconds);
		append_count(out, 7, c[i].ranks);
		append_bytes(out, 12, c[i].bytes);
		append_rate(out, 9, c[i].bytes_per_sec);
		buf_addc(out, '\n');
	}
	if (l->count > CHECKPOINTS_SHOWN)
		buf_addf(out, "  ... %zu more\n", l->count - CHECKPOINTS_SHOWN);
	buf_addc(out, '\n');
}

/* ---- evidence ---- */

/* Append a line that may say why its figure is unknown. */
static void append_line(struct buf *out, const char *label, const char *unknown, struct buf *text)
{
	if (unknown) {
		buf_reset(text);
		buf_addf(text, "unknown: %s", unknown);
	}
	text_append_buf(out, label, TEXT_EVIDENCE_INDENT, text);
}

static void append_access(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	struct buf text = { 0 };

	if (!t->operations.of[TRACE_READ].count)
		return;
	append(&text, d,
	       "of reads after another read, {access.sequential_percent} are sequential, "
	       "{access.ahead_percent} skip bytes, {access.back_percent} go back");
	append_line(out, "order in files", t->access.unknown, &text);
	append(&text, d,
	       "correlation between successive epochs {order.correlation}, of {order.of}; epochs "
	       "from {order.source} ({order.sure})");
	append_line(out, "order of epochs", t->order.unknown, &text);
	append(&text, d, "{unique.bytes} of {unique.read_files} file{s}");
	buf_add(&text, t->unique.is_exact ? "" : " (by blocks of 4 KiB)");
	append(&text, d, ", {unique.reread_percent} of the bytes read were read again");
	append_line(out, "unique", t->unique.unknown, &text);
}

/* Append the first phases if there are several. The log has all of them. */
static void append_phases(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	const struct described_phase *p = t->phases.items;
	char bytes[UNITS_TEXT_BYTES], seconds[UNITS_TEXT_BYTES];
	struct buf text = { 0 };

	if (t->phases_count < 2)
		return;
	for (size_t i = 0; i < t->phases.count && i < 4; i++)
		buf_addf(&text, "%s%s for %s s%s%s", i ? ", " : "",
			 choice_name(described_phases, p[i].kind),
			 show_seconds(seconds, p[i].seconds), p[i].bytes ? ": " : "",
			 p[i].bytes ? units_human_bytes(bytes, (double)p[i].bytes) : "");
	if (t->phases_count > 4)
		append(&text, d, ", ... {phases_count} in all");
	append(&text, d, "; {idle_percent} of the time idle");
	text_append_buf(out, "phases", TEXT_EVIDENCE_INDENT, &text);
}

static void append_metadata(struct buf *out, const struct description *d)
{
	struct buf text = { 0 };

	append(&text, d,
	       "{metadata.operations} operation{s}[, {metadata.per_mib} per MiB]; opens per sample "
	       "{metadata.opens_per_sample}");
	if (d->figures.trace.metadata.opens_unknown)
		buf_addf(&text, ": %s", d->figures.trace.metadata.opens_unknown);
	text_append_buf(out, "metadata", TEXT_EVIDENCE_INDENT, &text);
}

static void append_skew(struct buf *out, const struct description *d)
{
	const struct described_skew *s = &d->figures.trace.skew;
	struct buf text = { 0 };

	if (s->processes.count > 1)
		append(&text, d,
		       "between {skew.processes.count} processes: most / mean "
		       "{skew.processes.bytes_most_over_mean}, Gini {skew.processes.bytes_gini} of "
		       "bytes");
	else if (s->threads.count > 1)
		append(&text, d,
		       "between {skew.threads.count} threads: most / mean "
		       "{skew.threads.bytes_most_over_mean}, Gini {skew.threads.bytes_gini} of "
		       "bytes");
	if (text.len)
		text_append_buf(out, "skew", TEXT_EVIDENCE_INDENT, &text);
}

static void append_kernel(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	struct buf text = { 0 };

	append(&text, d,
	       "{cache.hit_percent} of the bytes read were cached, according to {cache.source}[; "
	       "{cache.read_ahead_percent} of the bytes added were read ahead]");
	append_line(out, "page cache", t->cache.unknown, &text);
	append(&text, d,
	       "{block.reads} read{s}, {block.read_bytes}; {block.writes} write{s}, "
	       "{block.written_bytes}; depth {block.depth_mean} mean, {block.depth_most} at most[; "
	       "{block.read_ahead_percent} read ahead]");
	append_line(out, "block requests", t->block.unknown, &text);
	if (t->mmap.maps || t->mmap.faults) {
		append(&text, d,
		       "{mmap.faults} fault{s} on {mmap.pages} page{s}[, {mmap.faults_per_sec} per "
		       "second][, {mmap.ascending_percent} ascending]");
		append_line(out, "mapped files", t->mmap.unknown, &text);
	}
	if (t->async.submitted) {
		append(&text, d,
		       "{async.submitted} submitted, {async.completed} completed, up to "
		       "{async.depth_most} in flight");
		text_append_buf(out, "asynchronous", TEXT_EVIDENCE_INDENT, &text);
	}

	const struct described_cpu *c = &d->figures.trace.cpu;
	if (c->unknown && c->switches_unknown) {
		buf_addf(&text, "unknown: %s; %s", c->unknown, c->switches_unknown);
	} else {
		append(&text, d,
		       "{cpu.on_percent} of the threads' time; context switches {cpu.switches}[, "
		       "{cpu.switches_per_sec} per second]");
		if (c->unknown || c->switches_unknown)
			buf_addf(&text, ": %s", c->unknown ? c->unknown : c->switches_unknown);
	}
	text_append_buf(out, "CPU", TEXT_EVIDENCE_INDENT, &text);
}

static void append_largest(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	const struct described_directory *dirs = t->directories.items;
	const struct described_file *files = t->top_files.items;
	char bytes[UNITS_TEXT_BYTES], count[UNITS_TEXT_BYTES];
	struct buf text = { 0 };

	for (size_t i = 0; i < t->directories.count && i < 3; i++)
		buf_addf(&text, "%s%s (%s file%s, %s)", i ? ", " : "", dirs[i].path,
			 units_human_count(count, dirs[i].files), plural(dirs[i].files),
			 units_human_bytes(bytes,
					   (double)(dirs[i].read_bytes + dirs[i].written_bytes)));
	if (text.len)
		text_append_buf(out, "top directories", TEXT_EVIDENCE_INDENT, &text);
	for (size_t i = 0; i < t->top_files.count && i < 3; i++)
		buf_addf(&text, "%s%s (%s)", i ? ", " : "", files[i].path ? files[i].path : "?",
			 units_human_bytes(bytes,
					   (double)(files[i].read_bytes + files[i].written_bytes)));
	if (text.len)
		text_append_buf(out, "top files", TEXT_EVIDENCE_INDENT, &text);
}

void describe_text(FILE *to, const struct description *d, const struct f64_list *percentiles)
{
	struct buf out = { 0 };

	append_answer(&out, d);
	append_origin(&out, d);
	if (d->figures.trace.records) {
		append_who(&out, d);
		buf_addc(&out, '\n');
		append_ops(&out, d, percentiles);
		append_sizes(&out, d);
		append_tasks(&out, d);
		append_epochs(&out, d);
		append_checkpoints(&out, d);
		append_access(&out, d);
		append_phases(&out, d);
		append_metadata(&out, d);
		append_skew(&out, d);
		append_kernel(&out, d);
		append_largest(&out, d);
	}
	text_print(to, &out);
	buf_fini(&out);
}

void describe_brief(FILE *to, const struct description *d, bool is_one_line)
{
	struct buf out = { 0 };

	append_answer(&out, d);
	if (is_one_line) {
		buf_cut(&out, out.len - 1); /* the empty line after the answer */
	} else if (d->figures.trace.records) {
		append_who(&out, d);

		/* "open 1,280, read 2,560": the calls in the trace. */
		const struct described_op *of = d->figures.trace.operations.of;
		char count[UNITS_TEXT_BYTES];
		struct buf text = { 0 };
		for (unsigned op = TRACE_OPEN; op <= TRACE_ADVISE; op++)
			if (of[op].count + of[op].errors)
				buf_addf(&text, "%s%s %s", text.len ? ", " : "", trace_op_name(op),
					 units_human_count(count, of[op].count + of[op].errors));
		if (text.len)
			text_append_buf(&out, "calls", TEXT_EVIDENCE_INDENT, &text);

		append_access(&out, d);
		append_metadata(&out, d);
		append_largest(&out, d);
	}
	text_print(to, &out);
	buf_fini(&out);
}
