/* SPDX-License-Identifier: Apache-2.0 */
/* replay_text.c - the dry run and the report of a replay. */
#include "work/replay/replay_internal.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "work/plain/plain.h"

/* ---- the report ---- */

/* Rows of the table of bytes asked for and done over time. */
#define ROWS 10

/* ---- words ---- */

/* Append the times of operations, such as ", think times kept, twice as fast". */
static void append_timing(struct buf *text, const struct job *j)
{
	static const char *const times[] = {
		[REPLAY_THINK] = ", think times kept",
		[REPLAY_FIXED] = ", at its times",
		[REPLAY_ASAP] = ", as fast as possible",
	};
	static const char *const orders[] = {
		[REPLAY_BY_THREAD] = "",
		[REPLAY_BY_FILE] = ", in the order of each file",
		[REPLAY_GLOBAL] = ", in the order of all",
	};

	double speed = j->replay_time == REPLAY_ASAP ? 1 : j->replay_speed;
	char n[UNITS_TEXT_BYTES];

	buf_add(text, times[j->replay_time]);
	if (speed == 2)
		buf_add(text, ", twice as fast");
	else if (speed == .5)
		buf_add(text, ", half as fast");
	else if (speed != 1)
		buf_addf(text, ", %s times as fast", units_format_f64(n, speed));
	buf_add(text, orders[j->replay_order]);
}

/* Return "touches of mapped pages" for an engine that maps files, otherwise "reads". */
static const char *replay_touches_are(const struct job *j)
{
	return j->ioengine && strcmp(j->ioengine, "mmap") == 0 ? "touches of mapped pages"
							       : "reads";
}

/* ---- the job ---- */

static void append_job(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "replay of {io.replay.trace}: {io.replay.threads} thread{s} in {io.numjobs} "
		 "worker{s}");
	append_timing(text, b->job);
	if (b->result->members > 1)
		buf_addf(text, "; %u jobs together", b->result->members);
}

/* The trace determines whether the page cache is bypassed, unless the job has direct= or
 * buffered=. */
static void append_workers(struct buf *text, const struct text_block *b)
{
	if (job_is_given(b->job, "direct") || job_is_given(b->job, "buffered")) {
		text_io_append_workers(text, b);
		return;
	}
	text_io_append_engine(text, b);
	buf_add(text, ", direct as in the trace");
}

static void append_files(struct buf *text, const struct text_block *b)
{
	text_io_append_files(
		text, b,
		b->job->replay_files == REPLAY_TRACED
			? "those of the trace; operations that would change them use files below"
			: "below");
}

static const struct text_line settings[] = {
	{ NULL, text_title },          { "job", append_job },
	{ "workers", append_workers }, { "files", append_files },
	{ "storage", text_storage },   { "host", text_machine },
	{ NULL, text_command },        { 0 },
};

/* ---- operations of the trace and operations done ---- */

static void append_asked(struct buf *text, const struct text_block *b)
{
	const struct replay_result *r = &b->io->replay;

	text_say(text, b,
		 "asked {io.replay.asked_operations} operation{s}, {io.replay.asked_bytes} in "
		 "{io.replay.asked_seconds} s; done {io.replay.done_operations}");
	if (r->done_bytes != r->asked_bytes)
		text_say(text, b, ", {io.replay.done_bytes}");
	text_say(text, b, " in {io.wall_seconds} s");
}

static const struct text_line below_answer[] = {
	{ "  replay", append_asked },
	{ 0 },
};

/* A row of the table, which sums several slices. */
struct rate_row {
	double begin_seconds;
	double asked, done; /* bytes per second */
};

static void append_table(struct buf *out, const struct text_block *b)
{
	const struct replay_result *r = &b->io->replay;
	struct rate_row rows[ROWS];
	const struct replay_slice *s = r->slices.items;
	size_t used = r->slices.count, n = 0;
	double most = 0;

	if (!(r->slice_seconds > 0) || r->asked_bytes == 0)
		return;
	/* Slices after the last operation are left out. */
	while (used > 0 && !s[used - 1].asked_ios && !s[used - 1].done_ios)
		used--;
	size_t each = divide_up(used, ROWS);
	double seconds = r->slice_seconds * (double)each;
	for (size_t first = 0; first < used; first += each) {
		struct rate_row *row = &rows[n++];

		*row = (struct rate_row){ .begin_seconds = r->slice_seconds * (double)first };
		for (size_t i = first; i < first + each && i < r->slices.count; i++) {
			row->asked += (double)s[i].asked_bytes / seconds;
			row->done += (double)s[i].done_bytes / seconds;
		}
	}

	for (size_t i = 0; i < n; i++)
		most = fmax(most, fmax(rows[i].asked, rows[i].done));
	const struct rate_unit unit = show_rate_unit(most);
	int digits = show_rate_decimals(&unit, most / unit.bytes);
	buf_addf(out, "%-11s%8s, %s%9s, %s\n", "from, s", "asked", unit.name, "done", unit.name);
	/* Decimals that tell apart the times of two rows. */
	double apart = n > 1 ? rows[1].begin_seconds : r->slice_seconds;
	int decimals = (int)fmax(0, fmin(ceil(1 - log10(apart)), 6));
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%-11.*f%15.*f%16.*f\n", decimals, rows[i].begin_seconds, digits,
			 rows[i].asked / unit.bytes, digits, rows[i].done / unit.bytes);
}

/* ---- evidence ---- */

static void append_lateness(struct buf *text, const struct hist *late, const char *name)
{
	char half[UNITS_TEXT_BYTES], p99[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];

	if (!late || late->count == 0)
		return;
	buf_addf(text, "%s%s p50 %s ms, p99 %s ms, at most %s ms", text->len ? "; " : "", name,
		 units_human_ms(half, (double)hist_percentile(late, 50)),
		 units_human_ms(p99, (double)hist_percentile(late, 99)),
		 units_human_ms(most, (double)late->max_ns));
}

static void append_all_lateness(struct buf *text, const struct text_block *b)
{
	append_lateness(text, b->result->read.slat_ns, "reads");
	append_lateness(text, b->result->write.slat_ns, "writes");
	if (text->len)
		buf_add(text, " later than their times in the trace");
}

static void append_waits(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "[{io.replay.waits} wait{s} for threads more than a second of the trace late, "
		 "{io.replay.wait_seconds} s in all]");
}

static void append_touches(struct buf *text, const struct text_block *b)
{
	text_say(text, b, "[{io.replay.touches} page{s} of mappings touched in the trace]");
	if (text->len)
		buf_addf(text, ", replayed as %s", replay_touches_are(b->job));
}

static void append_blocks(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "[{io.replay.blocks} request{s} of block devices in the trace, replayed on a file "
		 "for each]");
	text_say(text, b, "[; {io.replay.folded} beyond {replay_span} folded]");
}

static void append_redirected(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "[{io.replay.redirected} operation{s} would change files that the trace names, "
		 "and used files below the directory instead]");
}

static void append_left_out(struct buf *text, const struct text_block *b)
{
	text_say(text, b, "[{io.replay.left_out}]");
}

static const struct text_line evidence[] = {
	{ "late", append_all_lateness },
	{ "waits", append_waits },
	{ "mapped", append_touches },
	{ "devices", append_blocks },
	{ "redirected", append_redirected },
	{ "left out", append_left_out },
	{ 0 },
};

void replay_text(FILE *to, const struct run_result *run, const struct job_result *records, size_t n,
		 enum detail detail)
{
	static const struct text_io_kind kind = {
		.answer = below_answer,
		.settings = settings,
		.table = append_table,
		.evidence = evidence,
	};

	text_io_print(to, run, records, n, detail, &kind);
}

/* ---- the dry run ---- */

/* ---- figures ---- */

int plan_replay(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused)
{
	struct replay_files files = { 0 };
	struct replay_ops ops = { 0 };

	(void)unused;
	replay_files_init(&files, in->job);
	/* A rule reports errors. */
	if (replay_ops_read(&ops, &files, in->job, NULL) == 0) {
		p->replay = (struct plan_replay){
			.asked = { .done_operations = UINT64_MAX,
				   .done_bytes = UINT64_MAX,
				   .waits = UINT64_MAX,
				   .wait_seconds = (double)NAN,
				   .slice_seconds = (double)NAN },
			.workers = ops.workers,
			.depth = p->job->engine && p->job->engine->reap ? ops.depth : 1,
			.read_bytes = ops.bytes[0],
			.write_bytes = ops.bytes[1],
		};
		replay_fill_asked(&p->replay.asked, &ops, p->job);
		p->replay.asked.asked_seconds = (double)ops.span_ns / 1e9 / p->job->replay_speed;
		p->io.move_bytes = ops.bytes[0] + ops.bytes[1];
		if (ops.was_incomplete)
			plan_add_check(p, "trace", PLAN_WARNING,
				       "the trace has lost some of its operations, or has no end: "
				       "the remaining operations are replayed");
		else
			plan_add_check(p, "trace", PLAN_OK, "%s", "");

		if (p->touches_files && !replay_files_look(&files, NULL)) {
			p->io.files = files.files;
			p->io.file_bytes = files.bytes;
			p->present_files = files.files - files.missing_files;
			p->present_bytes = files.bytes - files.missing_bytes;
			p->write_files = files.missing_files;
			p->write_bytes = files.missing_bytes;
			p->io.directory = mem_strdup(p->job->directory);
			plan_io_check_mount(p);
			plan_io_check_memory(p, false);
		}
		p->reads_in_flight = u64_product(ops.workers, p->replay.depth);
		p->open_files = u64_sum(PLAN_OWN_FILES, u64_product(ops.workers, ops.most_open));
		p->io.buffer_bytes = u64_product(ops.workers, replay_buffer_bytes(&ops));
		replay_need(&p->need, p->job, &ops, &files);
		p->program_bytes = u64_sum(MEMNEED_PROGRAM_BYTES, p->need.bytes);
	}
	replay_ops_fini(&ops);
	replay_files_fini(&files);
	return 0;
}

/* ---- the page ---- */

static void append_replay(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "{replay_trace}");
	if (!p->replay.asked.asked_operations)
		return;
	plan_say(text, p, ": {plan.threads} thread{s} in {plan.workers} worker{s}");
	append_timing(text, p->job);
}

static void print_data(FILE *to, const struct plan_report *p)
{
	plan_io_print_data(to, p, "below");
}

static void append_run(struct buf *text, const struct plan_report *p)
{
	static const char *const words[] = {
		[REPLAY_THINK] = " where storage is as fast as in the trace",
		[REPLAY_FIXED] = " and more where storage is slower than the trace's",
		[REPLAY_ASAP] = " in the trace",
	};

	if (!p->replay.asked.asked_operations)
		return;
	plan_say(text, p,
		 "{plan.operations} operation{s}[, {plan.replay_read_bytes} read][, "
		 "{plan.replay_write_bytes} written]");
	plan_say(text, p, "; {plan.seconds} s");
	buf_add(text, words[p->job->replay_time]);
	plan_say(text, p, "[, for at most {runtime}]");
}

static void append_planned_touches(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "[{plan.touches} page{s} touched, replayed as ]");
	if (text->len)
		buf_add(text, replay_touches_are(p->job));
}

static void append_planned_blocks(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p,
		 "[{plan.blocks} request{s} of block devices, replayed on a file for each]");
	plan_say(text, p, "[; {plan.folded} beyond {replay_span} folded]");
}

static void append_planned_redirected(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p,
		 "[{plan.redirected} operation{s} would change files that the trace names, and use "
		 "files below {directory} instead]");
}

static void append_planned_left_out(struct buf *text, const struct plan_report *p)
{
	plan_say(text, p, "[{plan.left_out}]");
}

static void append_in_flight(struct buf *text, const struct plan_report *p)
{
	if (!p->replay.asked.asked_operations)
		return;
	plan_say(text, p, "{plan.reads_in_flight} request{s} ({plan.workers} worker{s}");
	if (p->processes > 1)
		buf_add(text, " in each process");
	if (p->replay.depth == 1)
		buf_add(text, ", one each)");
	else
		plan_say(text, p, ", up to {plan.depth} each)");
}

/* Print the page after its first line. */
static void plan_replay_text(FILE *to, const struct plan_report *p)
{
	static const struct plan_line lines[] = {
		{ "replay", .put = append_replay, .check = "trace" },
		{ .lines = print_data },
		{ "run", .put = append_run, .wrapped_at = 10 },
		{ "mapped", .put = append_planned_touches, .wrapped_at = 10 },
		{ "devices", .put = append_planned_blocks, .wrapped_at = 10 },
		{ "changes", .put = append_planned_redirected, .wrapped_at = 10 },
		{ "left out", .put = append_planned_left_out, .wrapped_at = 10 },
		{ "in flight", .put = append_in_flight },
		{ "memory", .put = plan_io_append_memory, .check = "program" },
		{ "files", .put = plan_append_open_files, .check = "files" },
		{ 0 },
	};

	plan_print_list(to, lines, p);
}

/* The replay also reads the file of the trace, so no other job may write to it. */
static bool any_file(const struct job *j, bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	return j->replay_trace && is(arg, j->replay_trace);
}

const struct page replay_page = {
	PLAIN_PAGE,
	.plan = plan_replay,
	.plan_text = plan_replay_text,
	.any_file = any_file,
	.text = replay_text,
	.planned = metrics_replay_planned,
	.fill_planned = metrics_planned_replay,
};
