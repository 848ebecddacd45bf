/* SPDX-License-Identifier: Apache-2.0 */
/* train_text.c - the text report of a training, and of a preparation. */
#include "work/train/train_text.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/util.h"
#include "base/wrap.h"
#include "report/show.h"
#include "report/text_block.h"
#include "report/text_tables.h"
#include "report/verdict.h"
#include "report/verdict_errors.h"
#include "work/checkpoint/text_checkpoint.h"
#include "work/checkpoint/text_checkpoint_parts.h"
#include "work/train/train_text_parts.h"

#define LINES 52

/* Parts that a first line drops while it is too long, in this order. A known AU always stays. */
enum { NO_BRACKETS = 1, NO_SAMPLES, NO_COUNT, FEWER_WORDS, FEWEST_WORDS, LENGTHS };

/* "33.3% busy (99.9% AU means nothing at 3 steps), ". */
static void put_misleading_au(struct buf *out, const struct text_block *b, unsigned length)
{
	const struct ml_result *ml = b->ml;
	uint64_t ranks = ml->accelerators ? ml->accelerators : 1;
	uint64_t counted = ml->counted_steps / ranks;

	buf_addf(out, "%.1f%% busy", job_result_busy_percent(b->result));
	if (length < NO_BRACKETS)
		buf_addf(out, " (%.1f%% AU means nothing at %" PRIu64 " step%s)", ml->au_percent,
			 counted, counted == 1 ? "" : "s");
	else if (length < FEWEST_WORDS)
		buf_addf(out, " (%.1f%% AU)", ml->au_percent);
	buf_add(out, ", ");
}

/* "63.1% AU (target 90%: missed), "; without
 * NO_BRACKETS. */
static void put_au(struct buf *out, const struct text_block *b, unsigned length)
{
	bool brief = length >= NO_BRACKETS;
	const struct ml_result *ml = b->ml;
	uint64_t ranks = ml->accelerators ? ml->accelerators : 1;
	uint64_t counted = ml->counted_steps / ranks;

	if (isnan(ml->demand_bytes_per_sec) && isnan(ml->au_percent))
		return;
	if (isnan(ml->au_percent) && b->result->failed.is_too_many) {
		buf_add(out, "no AU, ");
		return;
	}
	/* An AU below its target would be below it with first steps, too. */
	if (job_result_au_misleads(b->result) && (isnan(ml->target_au_percent) || ml->target_met)) {
		put_misleading_au(out, b, length);
		return;
	}
	if (isnan(ml->au_percent))
		buf_add(out, "AU unknown");
	else
		buf_addf(out, "%.1f%% AU", ml->au_percent);
	if (ml->too_short && brief)
		buf_add(out, length < FEWEST_WORDS ? " (too short)" : "");
	else if (ml->too_short)
		buf_addf(out, " (too short: %" PRIu64 " counted step%s)", counted,
			 counted == 1 ? "" : "s");
	else if (!brief && !isnan(ml->au_percent) && !isnan(ml->target_au_percent) &&
		 !text_early_end(b) && !text_is_memory(b))
		buf_addf(out, " (target %g%%: %s)", ml->target_au_percent,
			 ml->target_met ? "met" : "missed");
	buf_add(out, ", ");
}

/* Checkpoints without fsync are no result of storage, the rest may be one. */
static void put_reserve(struct buf *out, const struct text_block *b, unsigned length)
{
	unsigned fewest = text_is_memory(b) ? 3 : 2;
	unsigned brevity = length >= FEWEST_WORDS ? fewest : length >= FEWER_WORDS ? 1 : 0;
	struct buf text = { 0 };

	if (text_not_durable(&text, b->job, &b->ml->saves, brevity))
		buf_addf(out, "; %s", buf_str(&text));
	buf_fini(&text);
	if (text_is_memory(b))
		buf_add(out, "      MEMORY, NOT STORAGE");
}

/* What goes into the mail; the first of these lengths that fits. */
static void put_answer(struct buf *out, const struct text_block *b, unsigned length)
{
	const struct ml_result *ml = b->ml;
	const char *end = text_early_end(b);
	char rate[UNITS_TEXT_BYTES], samples[UNITS_TEXT_BYTES];

	buf_addf(out, "%s: ", b->job->name);
	text_errors(out, b);
	if (ml->steps == 0) {
		buf_addf(out, "no step was finished%s%s%s\n", end ? " (" : "", end ? end : "",
			 end ? ")" : "");
		return;
	}
	bool is_short = length >= NO_SAMPLES;
	if (!is_short || !isnan(ml->au_percent))
		put_au(out, b, length);
	buf_add(out, show_rate(rate, &b->unit, ml->sample_bytes_per_sec));
	if (!is_short || isnan(ml->au_percent))
		buf_addf(out, ", %s samples/s", units_sig4(samples, ml->samples_per_sec));
	if (end && length < NO_COUNT)
		buf_addf(out, " (%s after %" PRIu64 " step%s)", end, ml->steps,
			 ml->steps == 1 ? "" : "s");
	else if (end)
		buf_addf(out, " (%s)", end);
	text_allowed_errors(out, b);
	put_reserve(out, b, length);
	buf_addc(out, '\n');
}

static void train_answer(struct buf *out, const struct text_block *b)
{
	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		put_answer(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

enum { ANSWER, SETTINGS, EPOCHS, LATENCY, SAVES, EVIDENCE, PARTS };

/* A report of a training in the making. */
struct parts {
	struct buf of[PARTS];
	bool is_tight; /* both tables of latencies follow each other */
};

/* Is there a blank line before it? */
static bool is_apart(const struct parts *p, unsigned part)
{
	return part > 0 && p->of[part].len > 0 && !(p->is_tight && part == SAVES);
}

/* Also the blank line of the epochs, which are not there yet. */
static unsigned count_lines(const struct parts *p)
{
	unsigned lines = 1;

	for (unsigned i = 0; i < PARTS; i++)
		lines += text_lines(&p->of[i]) + is_apart(p, i);
	return lines;
}

/* The epoch table comes last: it takes the lines that are left. */
static void fill_parts(struct parts *p, const struct text_block *b)
{
	const struct ml_result *ml = b->ml;

	text_verdict(&p->of[ANSWER], b);
	text_put_list(&p->of[SETTINGS], train_settings, TEXT_SETTING_INDENT, b);
	if (ml->steps > 0)
		text_put_list(&p->of[EVIDENCE], train_evidence, TEXT_EVIDENCE_INDENT, b);
	text_latency(&p->of[LATENCY], b->result, &b->job->percentile_list);
	text_saves_latency(&p->of[SAVES], b, false);
	if (p->of[SAVES].len > 0 && count_lines(p) + TEXT_EPOCHS_LEAST > LINES) {
		p->is_tight = true;
		buf_reset(&p->of[SAVES]);
		text_saves_latency(&p->of[SAVES], b, true);
	}
	unsigned lines = count_lines(p);
	text_epochs(&p->of[EPOCHS], b->result, &b->unit, lines < LINES ? LINES - lines : 0);
}

void train_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		enum detail detail)
{
	struct text_block all;
	const struct text_block *b = &all;
	struct parts p = { .is_tight = false };

	(void)n;
	text_block_init(&all, run, r, detail);
	all.unit = show_report_unit(&r->ml);
	show_accelerator_time(&r->ml.time_percent, &all.time);
	show_loader_time(&r->ml.loader_percent, &all.loader);
	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&p.of[i]);
	train_answer(&p.of[ANSWER], b);
	if (detail > DETAIL_FIRST)
		text_fio_lines(&p.of[ANSWER], b);
	if (detail == DETAIL_BRIEF)
		text_verdict(&p.of[ANSWER], b);
	else if (detail > DETAIL_BRIEF)
		fill_parts(&p, b);
	for (unsigned i = 0; i < PARTS; i++) {
		if (is_apart(&p, i))
			fputc('\n', to);
		text_print(to, &p.of[i]);
		buf_fini(&p.of[i]);
	}
}

static void put_prepare_answer(struct buf *out, const struct text_block *b)
{
	const struct prepare_result *p = &b->result->prepare;
	double seconds = (double)p->wall_ns / NS_PER_S;
	double rate = seconds > 0 ? (double)p->bytes_written / seconds : (double)NAN;
	struct rate_unit unit = show_rate_unit(rate);
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%s: ", b->job->name);
	if (p->files_written == 0)
		text_say(out, b, "nothing written, {prepare.files_kept} files are there");
	else
		text_say(out, b,
			 "{prepare.files_written} file{s}, {prepare.bytes_written} written in "
			 "{prepare.wall_ns}");
	if (p->files_written > 0 && seconds > 0) {
		buf_addf(out, ", %s", show_rate(text, &unit, rate));
		buf_addf(out, ", %s files/s", units_sig4(text, (double)p->files_written / seconds));
	}
	if (b->result->err.code != 0)
		buf_add(out, " (stopped by an error)");
	else if (p->interrupted)
		buf_add(out, " (interrupted)");
	buf_addc(out, '\n');
}

void prepare_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		  enum detail detail)
{
	struct text_block all;
	const struct text_block *b = &all;
	const struct prepare_result *p = &r->prepare;
	struct buf out, text;

	(void)n;
	text_block_init(&all, run, r, detail);
	buf_init(&out);
	buf_init(&text);
	put_prepare_answer(&out, b);
	if (detail > DETAIL_BRIEF) {
		text_say(&text, b, "{prepare.resident_percent}");
		if (b->storage->is_memory)
			buf_add(&text, ": this filesystem keeps files in memory");
		else if (p->files_written > 0 && p->resident_percent <= 1)
			buf_add(&text, ": each file was synced and dropped from the page cache");
		text_put(&out, "  in memory now", TEXT_ANSWER_INDENT, buf_str(&text));
	}
	if (detail > DETAIL_BRIEF && p->files_kept > 0 && p->files_written > 0)
		text_say(&out, b,
			 "  {prepare.files_kept} files were there already, complete, and were "
			 "kept\n");
	if (detail > DETAIL_FIRST && (p->interrupted || b->result->err.code != 0))
		buf_add(&out,
			"  the dataset is incomplete; the next run goes on where this one ended\n");
	text_print(to, &out);
	buf_fini(&text);
	buf_fini(&out);
}
