/* SPDX-License-Identifier: Apache-2.0 */
/* describe_text.c - a description for people: the answer first, the evidence under it. */
#include "tracing/describe/describe.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "tracing/describe/describe_tables.h"
#include "report/text/text.h"

#define NAME_INDENT 10

const struct template_scope describe_scopes[] = {
	{ "", described_trace_fields, offsetof(struct description, figures.trace), false },
	{ 0 },
};

#define say(out, d, text) template_put(out, TEMPLATE(describe_scopes, text), d)

static const char *fact(const struct description *d, const char *key)
{
	const struct metric_pair *pairs = d->figures.trace.facts.items;

	for (size_t i = 0; i < d->figures.trace.facts.count; i++)
		if (!strcmp(pairs[i].key, key))
			return pairs[i].value;
	return NULL;
}

/* ---- the answer, and whether it is whole ---- */

static void put_losses(struct buf *out, const struct description *d)
{
	const struct described_lost *l = &d->figures.trace.lost;
	const struct described_loss *parts = l->parts.items;

	if (!l->events)
		return;
	say(out, d, "{lost.events} event{s} lost");
	for (size_t i = 0; i < l->parts.count && i < 3; i++)
		buf_addf(out, "%s%s%s%s", i ? ", " : " (",
			 parts[i].operation ? parts[i].operation : "several",
			 parts[i].why ? ": " : "", parts[i].why ? parts[i].why : "");
	buf_addf(out, "%s; ", l->parts.count > 3 ? ", ...)" : ")");
}

static void put_incomplete(struct buf *out, const struct description *d)
{
	struct buf text = { 0 };

	if (d->figures.trace.is_complete)
		return;
	put_losses(&text, d);
	say(&text, d,
	    "[{truncated} file{s} of the trace without an end; ][{damaged_chunks} damaged chunk{s} "
	    "left out; ][{damaged_bytes} left out; ]all figures are of what there is");
	text_end(out, "  INCOMPLETE", TEXT_ANSWER_INDENT, &text);
}

static void put_answer(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;

	if (!t->records) {
		buf_add(out, "trace: no records\n");
	} else {
		say(out, d,
		    "trace: {read_bytes} read at {read_bytes_per_sec}, {written_bytes} written");
		if (t->written_bytes)
			say(out, d, " at {write_bytes_per_sec}");
		say(out, d, ", {unique.files} file{s}, {seconds} s\n");
	}
	put_incomplete(out, d);
	if (t->clock_steps) {
		struct buf text = { 0 };

		say(&text, d,
		    "{clock_steps} record{s} ended before the one before of the same thread: times "
		    "and rates are not to be trusted");
		text_end(out, "  CLOCK", TEXT_ANSWER_INDENT, &text);
	}
	buf_addc(out, '\n');
}

/* ---- where it is from, and of whom ---- */

static void put_origin(struct buf *out, const struct description *d)
{
	static const struct {
		const char *key, *before;
	} parts[] = {
		{ "program", "by " }, { "version", "" }, { "job", "job " },
		{ "host", "on " },    { "kernel", "" },
	};
	struct buf text = { 0 };

	say(&text, d, "{records} record{s} in {trace_files} file{s}");
	say(&text, d, " of {bytes}[, {time}]");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (has_text(fact(d, parts[i].key)))
			buf_addf(&text, "%s%s%s", i == 1 ? " " : ", ", parts[i].before,
				 fact(d, parts[i].key));
	text_end(out, "trace", NAME_INDENT, &text);
}

static const char *role_word(const struct mlgen_choice *choices, int value)
{
	while (choices->name && choices->value != value)
		choices++;
	return choices->name ? choices->name : "";
}

/* "1 trainer, 8 loaders (likely)": how sure is that of the least sure. */
static void put_roles(struct buf *out, const struct metric_list *tasks)
{
	const struct described_task *t = tasks->items;

	for (int role = ROLE_TRAINER; role < ROLES; role++) {
		uint64_t n = 0;
		int sure = SURE_SAID;

		for (size_t i = 0; i < tasks->count; i++) {
			if (t[i].role != role)
				continue;
			n++;
			sure = t[i].sure > sure ? t[i].sure : sure;
		}
		if (!n)
			continue;
		buf_addf(out, ", %" PRIu64 " %s%s%s (%s)", n, role_word(described_roles, role),
			 role == ROLE_CHECKPOINT ? " writer" : "", plural(n),
			 role_word(described_sures, sure));
	}
}

static bool says_anything(const struct metric_list *threads)
{
	const struct described_task *t = threads->items;

	for (size_t i = 0; i < threads->count; i++)
		if (t[i].role != ROLE_OTHER && t[i].sure == SURE_SAID)
			return true;
	return false;
}

static void put_who(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	struct buf text = { 0 };

	say(&text, d, "{processes_count} process");
	buf_add(&text, t->processes_count == 1 ? "" : "es");
	say(&text, d, ", {threads_count} thread{s}");
	put_roles(&text, says_anything(&t->threads) ? &t->threads : &t->processes);
	text_end(out, "who", NAME_INDENT, &text);
	if (t->unknown_durations) {
		say(&text, d, "unknown: {unknown_durations} record{s} have no duration");
		text_end(out, "time", NAME_INDENT, &text);
	}
	if (isnan(t->io_percent))
		return;
	say(&text, d,
	    "of the threads' time {io_percent} in calls on files[, {fault_percent} in page "
	    "faults][, {cpu.on_percent} on a CPU][; {in_flight_mean} reads and writes in flight on "
	    "the average]");
	text_end(out, "time", NAME_INDENT, &text);
}

/* ---- evidence ---- */

/* A line of a figure that may be unknown. */
static void put_line(struct buf *out, const char *label, const char *unknown, struct buf *text)
{
	if (unknown) {
		buf_reset(text);
		buf_addf(text, "unknown: %s", unknown);
	}
	text_end(out, label, TEXT_EVIDENCE_INDENT, text);
}

static void put_access(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	struct buf text = { 0 };

	if (!t->operations.of[TRACE_READ].count)
		return;
	say(&text, d,
	    "{access.sequential_percent} of reads behind another are sequential, "
	    "{access.ahead_percent} leave bytes out, {access.back_percent} go back");
	put_line(out, "order in files", t->access.unknown, &text);
	say(&text, d,
	    "correlation from one epoch to the next {order.correlation}, of {order.of}; epochs "
	    "from {order.source} ({order.sure})");
	put_line(out, "order of epochs", t->order.unknown, &text);
	say(&text, d, "{unique.bytes} of {unique.read_files} file{s}");
	buf_add(&text, t->unique.is_exact ? "" : " (by blocks of 4 KiB)");
	say(&text, d, ", {unique.reread_percent} of the bytes read were read again");
	put_line(out, "unique", t->unique.unknown, &text);
}

/* Where it does several things in turn; the log has when. */
static void put_phases(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	const struct described_phase *p = t->phases.items;
	char bytes[UNITS_TEXT_BYTES], seconds[UNITS_TEXT_BYTES];
	struct buf text = { 0 };

	if (t->phases_count < 2)
		return;
	for (size_t i = 0; i < t->phases.count && i < 4; i++)
		buf_addf(&text, "%s%s for %s s%s%s", i ? ", " : "",
			 role_word(described_phases, p[i].kind),
			 show_seconds(seconds, p[i].seconds), p[i].bytes ? ": " : "",
			 p[i].bytes ? units_human_bytes(bytes, (double)p[i].bytes) : "");
	if (t->phases_count > 4)
		say(&text, d, ", ... {phases_count} in all");
	say(&text, d, "; idle {idle_percent} of the time");
	text_end(out, "phases", TEXT_EVIDENCE_INDENT, &text);
}

static void put_metadata(struct buf *out, const struct description *d)
{
	struct buf text = { 0 };

	say(&text, d,
	    "{metadata.operations} operation{s}[, {metadata.per_mib} for each MiB]; opens per "
	    "sample {metadata.opens_per_sample}");
	if (d->figures.trace.metadata.opens_unknown)
		buf_addf(&text, ": %s", d->figures.trace.metadata.opens_unknown);
	text_end(out, "metadata", TEXT_EVIDENCE_INDENT, &text);
}

static void put_skew(struct buf *out, const struct description *d)
{
	const struct described_skew *s = &d->figures.trace.skew;
	struct buf text = { 0 };

	if (s->processes.count > 1)
		say(&text, d,
		    "between {skew.processes.count} processes: most / mean "
		    "{skew.processes.bytes_most_over_mean}, Gini {skew.processes.bytes_gini} of "
		    "bytes");
	else if (s->threads.count > 1)
		say(&text, d,
		    "between {skew.threads.count} threads: most / mean "
		    "{skew.threads.bytes_most_over_mean}, Gini {skew.threads.bytes_gini} of bytes");
	if (text.len)
		text_end(out, "skew", TEXT_EVIDENCE_INDENT, &text);
}

static void put_cpu(struct buf *out, const struct description *d)
{
	const struct described_cpu *c = &d->figures.trace.cpu;
	struct buf text = { 0 };

	if (c->unknown && c->switches_unknown) {
		buf_addf(&text, "unknown: %s; %s", c->unknown, c->switches_unknown);
	} else {
		say(&text, d,
		    "{cpu.on_percent} of the threads' time; context switches {cpu.switches}[, "
		    "{cpu.switches_per_sec} per second]");
		if (c->unknown || c->switches_unknown)
			buf_addf(&text, ": %s", c->unknown ? c->unknown : c->switches_unknown);
	}
	text_end(out, "CPU", TEXT_EVIDENCE_INDENT, &text);
}

static void put_kernel(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	struct buf text = { 0 };

	say(&text, d,
	    "{cache.hit_percent} of the bytes read did not have to come, by {cache.source}[; "
	    "{cache.read_ahead_percent} of what came was read ahead]");
	put_line(out, "page cache", t->cache.unknown, &text);
	say(&text, d,
	    "{block.reads} read{s}, {block.read_bytes}; {block.writes} write{s}, "
	    "{block.written_bytes}; depth {block.depth_mean} mean, {block.depth_most} at most[; "
	    "{block.read_ahead_percent} read ahead]");
	put_line(out, "block requests", t->block.unknown, &text);
	if (t->mmap.maps || t->mmap.faults) {
		say(&text, d,
		    "{mmap.faults} fault{s} on {mmap.pages} page{s}[, {mmap.faults_per_sec} per "
		    "second][, {mmap.ascending_percent} ascending]");
		put_line(out, "mapped files", t->mmap.unknown, &text);
	}
	if (t->async.submitted) {
		say(&text, d,
		    "{async.submitted} submitted, {async.completed} completed, {async.depth_most} "
		    "under way at most");
		text_end(out, "asynchronous", TEXT_EVIDENCE_INDENT, &text);
	}
	put_cpu(out, d);
}

static void put_largest(struct buf *out, const struct description *d)
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
		text_end(out, "top directories", TEXT_EVIDENCE_INDENT, &text);
	for (size_t i = 0; i < t->top_files.count && i < 3; i++)
		buf_addf(&text, "%s%s (%s)", i ? ", " : "", files[i].path ? files[i].path : "?",
			 units_human_bytes(bytes,
					   (double)(files[i].read_bytes + files[i].written_bytes)));
	if (text.len)
		text_end(out, "top files", TEXT_EVIDENCE_INDENT, &text);
}

void describe_text(FILE *to, const struct description *d, const struct f64_list *percentiles)
{
	struct buf out = { 0 };

	put_answer(&out, d);
	put_origin(&out, d);
	if (d->figures.trace.records) {
		put_who(&out, d);
		buf_addc(&out, '\n');
		describe_tables(&out, d, percentiles);
		put_access(&out, d);
		put_phases(&out, d);
		put_metadata(&out, d);
		put_skew(&out, d);
		put_kernel(&out, d);
		put_largest(&out, d);
	}
	text_print(to, &out);
	buf_fini(&out);
}

/* "opens 1,280, reads 2,560": those that there are. */
static void put_calls(struct buf *out, const struct description *d)
{
	const struct described_op *of = d->figures.trace.operations.of;
	char count[UNITS_TEXT_BYTES];
	struct buf text = { 0 };

	for (unsigned op = TRACE_OPEN; op <= TRACE_ADVISE; op++)
		if (of[op].count + of[op].errors)
			buf_addf(&text, "%s%s %s", text.len ? ", " : "", trace_op_name(op),
				 units_human_count(count, of[op].count + of[op].errors));
	if (text.len)
		text_end(out, "calls", TEXT_EVIDENCE_INDENT, &text);
}

void describe_brief(FILE *to, const struct description *d, bool is_one_line)
{
	struct buf out = { 0 };

	put_answer(&out, d);
	if (is_one_line) {
		buf_cut(&out, out.len - 1); /* the empty line behind it */
	} else if (d->figures.trace.records) {
		put_who(&out, d);
		put_calls(&out, d);
		put_access(&out, d);
		put_metadata(&out, d);
		put_largest(&out, d);
	}
	text_print(to, &out);
	buf_fini(&out);
}
