/* SPDX-License-Identifier: Apache-2.0 */
/* replay_text.c - see replay_text.h. */
#include "work/plain/replay_text.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "report/show.h"
#include "report/text_block.h"
#include "report/text_noise.h"
#include "report/text_settings.h"
#include "work/plain/text_io.h"
#include "work/plain/text_io_parts.h"

/* Lines of asked against done over time. */
#define ROWS 10

/* ---- words ---- */

static void put_speed(struct buf *text, double speed)
{
	char n[UNITS_TEXT_BYTES];

	if (speed == 2)
		buf_add(text, ", twice as fast");
	else if (speed == .5)
		buf_add(text, ", half as fast");
	else if (speed != 1)
		buf_addf(text, ", %s times as fast", units_put_f64(n, speed));
}

void replay_put_how(struct buf *text, const struct job *j)
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

	buf_add(text, times[j->replay_time]);
	if (j->replay_time != REPLAY_ASAP)
		put_speed(text, j->replay_speed);
	buf_add(text, orders[j->replay_order]);
}

const char *replay_touches_are(const struct job *j)
{
	return j->ioengine && strcmp(j->ioengine, "mmap") == 0 ? "touches of mapped pages"
							       : "reads";
}

/* ---- what ran ---- */

static void put_job(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "replay of {io.replay.trace}: {io.replay.threads} thread{s} in {io.numjobs} "
		 "worker{s}");
	replay_put_how(text, b->job);
	if (b->result->members > 1)
		buf_addf(text, "; %u jobs together", b->result->members);
}

/* Whether the cache is passed by the trace says, where the job does not. */
static void put_workers(struct buf *text, const struct text_block *b)
{
	if (job_is_given(b->job, "direct") || job_is_given(b->job, "buffered")) {
		text_io_put_workers(text, b);
		return;
	}
	text_io_put_engine(text, b);
	buf_add(text, ", direct as in the trace");
}

static void put_files(struct buf *text, const struct text_block *b)
{
	bool is_traced = b->job->replay_files == REPLAY_TRACED;

	text_io_put_files(text, b,
			  is_traced ? "those of the trace; what would change one is below"
				    : "below");
}

static const struct text_line settings[] = {
	{ NULL, text_title },        { "job", put_job },
	{ "workers", put_workers },  { "files", put_files },
	{ "storage", text_storage }, { "host", text_machine },
	{ NULL, text_command },      { 0 },
};

/* ---- asked against done ---- */

static void put_asked(struct buf *text, const struct text_block *b)
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
	{ "  replay", put_asked },
	{ 0 },
};

/* Up to which slice anything was asked or done. */
static size_t slices_used(const struct metric_list *slices)
{
	const struct replay_slice *s = slices->items;
	size_t n = slices->count;

	while (n > 0 && !s[n - 1].asked_ios && !s[n - 1].done_ios)
		n--;
	return n;
}

/* Digits that tell times from each other that are so far apart. */
static int digits_of(double seconds)
{
	double digits = ceil(1 - log10(seconds));

	return digits > 0 ? (int)fmin(digits, 6) : 0;
}

/* A line of the table: so many slices from the one on. */
struct row {
	double begin_seconds, asked, done; /* bytes per second */
};

static struct row row_of(const struct replay_result *r, size_t first, size_t n)
{
	const struct replay_slice *s = r->slices.items;
	double seconds = r->slice_seconds * (double)n;
	struct row row = { r->slice_seconds * (double)first, 0, 0 };

	for (size_t i = first; i < first + n && i < r->slices.count; i++) {
		row.asked += (double)s[i].asked_bytes / seconds;
		row.done += (double)s[i].done_bytes / seconds;
	}
	return row;
}

static size_t rows_of(struct row *rows, const struct replay_result *r)
{
	size_t used = slices_used(&r->slices);
	size_t each = divide_up(used, ROWS), n = 0;

	for (size_t i = 0; i < used; i += each)
		rows[n++] = row_of(r, i, each);
	return n;
}

static void put_over_time(struct buf *out, const struct text_block *b)
{
	const struct replay_result *r = &b->io->replay;
	struct row rows[ROWS];
	double most = 0;
	size_t n;

	if (!(r->slice_seconds > 0) || r->asked_bytes == 0)
		return;
	n = rows_of(rows, r);
	for (size_t i = 0; i < n; i++)
		most = fmax(most, fmax(rows[i].asked, rows[i].done));
	const struct rate_unit unit = show_rate_unit(most);
	int digits = show_rate_decimals(&unit, most / unit.bytes);
	buf_addf(out, "%-11s%8s, %s%9s, %s\n", "from, s", "asked", unit.name, "done", unit.name);
	double apart = n > 1 ? rows[1].begin_seconds : r->slice_seconds;
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%-11.*f%15.*f%16.*f\n", digits_of(apart), rows[i].begin_seconds,
			 digits, rows[i].asked / unit.bytes, digits, rows[i].done / unit.bytes);
}

/* ---- how it went ---- */

static void add_late(struct buf *text, const struct hist *late, const char *name)
{
	char half[UNITS_TEXT_BYTES], p99[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];

	if (!late || late->count == 0)
		return;
	buf_addf(text, "%s%s p50 %s ms, p99 %s ms, at most %s ms", text->len ? "; " : "", name,
		 units_human_ms(half, (double)hist_percentile(late, 50)),
		 units_human_ms(p99, (double)hist_percentile(late, 99)),
		 units_human_ms(most, (double)late->max_ns));
}

static void put_lateness(struct buf *text, const struct text_block *b)
{
	add_late(text, b->result->read.slat_ns, "reads");
	add_late(text, b->result->write.slat_ns, "writes");
	if (text->len)
		buf_add(text, " behind their times in the trace");
}

static void put_waits(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "[{io.replay.waits} wait{s} for threads more than a second of the trace behind, "
		 "{io.replay.wait_seconds} s in all]");
}

static void put_touches(struct buf *text, const struct text_block *b)
{
	text_say(text, b, "[{io.replay.touches} page{s} of mappings touched in the trace]");
	if (text->len)
		buf_addf(text, ", replayed as %s", replay_touches_are(b->job));
}

static void put_blocks(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "[{io.replay.blocks} request{s} of block devices in the trace, replayed on a file "
		 "for each]");
	text_say(text, b, "[; {io.replay.folded} beyond {replay_span} folded]");
}

static void put_redirected(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "[{io.replay.redirected} operation{s} would change files that the trace names, "
		 "and had those below the directory]");
}

static void put_left_out(struct buf *text, const struct text_block *b)
{
	text_say(text, b, "[{io.replay.left_out}]");
}

static const struct text_line evidence[] = {
	{ "late", put_lateness },
	{ "waits", put_waits },
	{ "mapped", put_touches },
	{ "devices", put_blocks },
	{ "redirected", put_redirected },
	{ "left out", put_left_out },
	{ 0 },
};

void replay_text(FILE *to, const struct run_result *run, const struct job_result *records, size_t n,
		 enum detail detail)
{
	static const struct text_io_kind kind = {
		.answer = below_answer,
		.settings = settings,
		.table = put_over_time,
		.evidence = evidence,
	};

	text_io_print(to, run, records, n, detail, &kind);
}
