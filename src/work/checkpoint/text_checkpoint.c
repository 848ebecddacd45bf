/* SPDX-License-Identifier: Apache-2.0 */
/* text_checkpoint.c - the text report of a checkpoint job: its answer, and the parts in order. */
#include "work/checkpoint/text_checkpoint.h"

#include <inttypes.h>
#include <math.h>

#include "base/util.h"
#include "base/wrap.h"
#include "job/job.h"
#include "report/verdict.h"
#include "work/checkpoint/text_checkpoint_parts.h"

#define LINES 52

/* Most of the bytes were flushed by fsync, not by write. */
#define MOSTLY_FSYNC 50.0

/* What a first line that is too long goes without, one after the other. */
enum { NO_RANKS = 1, NO_COUNT, NO_PLACE, NO_SECONDS, FEWER_WORDS, FEWEST_WORDS, LENGTHS };

static bool is_restore(const struct text_block *b)
{
	return job_work(b->job)->restores;
}

/* ---- the answer ---- */

/* "interrupted in checkpoint 4 of 10" */
static void put_end(struct buf *out, const struct text_block *b, bool brief)
{
	const struct checkpoints_result *c = b->checkpoints;
	uint64_t at = c->completed + 1;

	buf_add(out, text_early_end(b));
	if (!brief && at <= b->job->checkpoints)
		buf_addf(out, " in checkpoint %" PRIu64 " of %" PRIu64, at, b->job->checkpoints);
}

static void put_ranks(struct buf *out, const struct checkpoints_result *c)
{
	if (c->ranks < c->job_ranks)
		buf_addf(out, "%" PRIu64 " of ", c->ranks);
	buf_addf(out, "%" PRIu64 " rank%s", c->job_ranks, c->job_ranks == 1 ? "" : "s");
}

/* " (10 of 104.7 GiB, 8 ranks)" */
static void put_count(struct buf *out, const struct text_block *b, unsigned length)
{
	if (length >= NO_COUNT)
		return;
	text_say(out, b, " ({checkpoints.completed} of {checkpoints.bytes_per_checkpoint}");
	if (length < NO_RANKS) {
		text_say(out, b, "[, {scale=}], ");
		put_ranks(out, b->checkpoints);
	}
	buf_addc(out, ')');
}

static void put_reserve(struct buf *out, const struct text_block *b, unsigned length)
{
	unsigned brevity = length >= FEWEST_WORDS ? 2 : length >= FEWER_WORDS ? 1 : 0;
	struct buf text = { 0 };
	bool is_marked = false;

	if (!is_restore(b))
		is_marked = text_not_durable(&text, b->job, b->checkpoints, brevity);
	if (text.len)
		buf_addf(out, "; %s", buf_str(&text));
	if (!is_marked && text_is_memory(b))
		buf_add(out, "      MEMORY, NOT STORAGE");
	buf_fini(&text);
}

static void put_answer(struct buf *out, const struct text_block *b, unsigned length)
{
	buf_addf(out, "%s: ", b->job->name);
	text_say(out, b, "{checkpoints.bytes_per_sec}");
	if (length < NO_SECONDS)
		text_say(out, b, ", {checkpoints.seconds_mean} s per checkpoint");
	put_count(out, b, length);
	if (text_early_end(b)) {
		buf_add(out, "; ");
		put_end(out, b, length >= NO_PLACE);
	}
	put_reserve(out, b, length);
	buf_addc(out, '\n');
}

static void text_checkpoint_answer(struct buf *out, const struct text_block *b)
{
	if (b->checkpoints->completed == 0) {
		buf_addf(out, "%s: no checkpoint was %s", b->job->name,
			 is_restore(b) ? "restored" : "saved");
		if (text_early_end(b)) {
			buf_add(out, " (");
			put_end(out, b, false);
			buf_addc(out, ')');
		}
		buf_addc(out, '\n');
		return;
	}
	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		put_answer(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

/* ---- the lines below it ---- */

/* What this host did of the whole: not the figures of the model. */
static void put_part(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;

	if (c->ranks < c->job_ranks) {
		put_ranks(text, c);
		buf_add(text, " are played by this host");
	}
	if (b->job->scale < 100)
		buf_addf(text, "%sscale=%g%%: each tensor has that part of its bytes",
			 text->len ? "; " : "", b->job->scale);
}

static void put_slowest(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;
	double rate = c->slowest_rank_bytes_per_sec;
	char number[UNITS_TEXT_BYTES];

	if (isnan(rate))
		return;
	buf_addf(text, "%s %s (rank %" PRIu64 ", checkpoint %" PRIu64 "); ",
		 units_sig4(number, rate / b->unit.bytes), b->unit.name, c->slowest_rank,
		 c->slowest_checkpoint);
	buf_add(text, c->ranks < c->job_ranks ? "MLPerf scores the slowest of all hosts"
					      : "MLPerf scores this one");
}

static void put_spread(struct buf *text, const struct text_block *b)
{

	if (b->checkpoints->completed < 2)
		return;
	text_say(text, b,
		 "checkpoints {checkpoints.seconds_min} to {checkpoints.seconds_max} s[; first "
		 "{checkpoints.first_seconds}, later {checkpoints.later_seconds}]");
}

/* What stands in the first line as well, if not in so many words. */
static void put_unflushed(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;
	char part[SHOW_PART_BYTES];

	buf_add(text, "none (checkpoint_fsync=none): ");
	if (b->job->direct)
		buf_add(text, "what the device's own cache holds is not durable");
	else if (c->in_memory_bytes == UINT64_MAX)
		buf_add(text, "nothing tells how much storage had at the end");
	else
		buf_addf(text, "%s were still in this host's memory at the end",
			 show_part_of(part, (double)c->in_memory_bytes, (double)c->bytes));
}

static void put_fsync(struct buf *text, const struct text_block *b)
{
	struct show_shares shares;

	show_rank_time(&b->checkpoints->rank_percent, &shares);
	double percent = show_share(&shares, "fsync");
	if (verdict_without_storage(b->job))
		return;
	if (b->job->checkpoint_fsync == CHECKPOINT_FSYNC_NONE)
		put_unflushed(text, b);
	else if (percent >= MOSTLY_FSYNC && !b->job->direct)
		buf_addf(
			text,
			"%.1f%% of the time: most bytes were still in memory when write() returned",
			percent);
	else
		buf_addf(text, "%.1f%% of the time, %s", percent,
			 b->job->checkpoint_fsync == CHECKPOINT_FSYNC_END
				 ? "of all files at the end"
				 : "of each file before it was closed");
}

/* Without that a restore can be answered by what the save left behind. */
static void put_caches(struct buf *text, const struct text_block *b)
{
	static const char *const dropped[] = {
		[INVALIDATE_NONE] = "nothing was dropped",
		[INVALIDATE_RUN] = "only the files left this host's page cache (invalidate=run)",
		[INVALIDATE_EPOCH] =
			"only the files left this host's page cache (invalidate=epoch)",
	};

	if (verdict_without_storage(b->job))
		return;
	if (b->checkpoints->caches_dropped)
		buf_add(text, "its files left this host's before the first one (drop_caches=run)");
	else if (b->job->direct)
		buf_add(text,
			"NOT EMPTIED (drop_caches=no); direct=1 passes by this host's page cache");
	else
		buf_addf(text, "NOT EMPTIED (drop_caches=no): %s", dropped[b->job->invalidate]);
}

static void put_verified(struct buf *text, const struct text_block *b)
{
	buf_add(text, b->checkpoints->verified ? "every byte is what was saved (verify=crc32c)"
					       : "no: what was read was dropped (verify=none)");
}

/* What went wrong, as the last checkpoint that failed has it. */
static void put_error(struct buf *text, const struct text_block *b)
{
	const struct metric_list *l = &b->checkpoints->items;
	const struct checkpoint_result *k = l->items;
	const char *error = b->result->err.text;

	if (b->result->err.code == 0)
		return;
	for (size_t i = l->count; i-- > 0;)
		if (k[i].error[0]) {
			error = k[i].error;
			break;
		}
	buf_add(text, error);
}

static const struct text_line of_all[] = {
	{ "  error", put_error },
	{ "  part of it", put_part },
	{ 0 },
};

static const struct text_line of_saves[] = {
	{ "  slowest rank", put_slowest },
	{ "  spread", put_spread },
	{ "  fsync", put_fsync },
	{ NULL, text_verdict },
	{ 0 },
};

static const struct text_line of_restores[] = {
	{ "  slowest rank", put_slowest }, { "  spread", put_spread }, { "  caches", put_caches },
	{ "  verified", put_verified },    { NULL, text_verdict },     { 0 },
};

static void below_answer(struct buf *out, const struct text_block *b)
{
	text_put_list(out, of_all, TEXT_ANSWER_INDENT, b);
	if (b->checkpoints->completed > 0)
		text_put_list(out, is_restore(b) ? of_restores : of_saves, TEXT_ANSWER_INDENT, b);
}

/* ---- public ---- */

bool text_not_durable(struct buf *out, const struct job *job, const struct checkpoints_result *c,
		      unsigned brevity)
{
	static const char *const ends[] = {
		"were still in this host's memory at the end",
		"were still in memory at the end",
		"in memory",
	};
	char part[SHOW_PART_BYTES], bytes[UNITS_TEXT_BYTES];

	if (c->completed == 0 || c->durable || verdict_without_storage(job))
		return false;
	if (brevity >= ARRAY_LEN(ends)) {
		buf_add(out, "NOT DURABLE");
		return true;
	}
	if (c->in_memory_bytes == UINT64_MAX)
		snprintf(part, sizeof(part), "an unknown part of %s",
			 units_human_bytes(bytes, (double)c->bytes));
	else
		show_part_of(part, (double)c->in_memory_bytes, (double)c->bytes);
	buf_addf(out, "NOT DURABLE: %s %s", part, ends[brevity]);
	return true;
}

/* The table of checkpoints comes last: it takes the lines that are left. */
void text_checkpoint_report(FILE *to, struct text_block *b)
{
	const enum detail detail = b->detail;
	enum { ANSWER, SETTINGS, TABLE, LATENCY, EVIDENCE, PARTS };
	struct buf parts[PARTS];
	struct buf below = { 0 };
	unsigned lines = 0;

	b->unit = show_rate_unit(b->checkpoints->bytes_per_sec);
	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&parts[i]);
	text_checkpoint_answer(&parts[ANSWER], b);
	if (detail > DETAIL_FIRST)
		text_fio_lines(&parts[ANSWER], b);
	if (detail == DETAIL_BRIEF)
		text_verdict(&parts[ANSWER], b);
	if (detail > DETAIL_BRIEF) {
		below_answer(&below, b);
		buf_add(&parts[ANSWER], buf_str(&below));
		text_put_list(&parts[SETTINGS],
			      is_restore(b) ? text_restore_settings : text_save_settings,
			      TEXT_SETTING_INDENT, b);
		text_checkpoint_latency(&parts[LATENCY], b);
		if (b->checkpoints->count > 0)
			text_put_list(&parts[EVIDENCE], text_checkpoint_evidence,
				      TEXT_EVIDENCE_INDENT, b);
	}
	for (unsigned i = 0; i < PARTS; i++)
		lines += text_lines(&parts[i]) + (i > 0);
	if (detail > DETAIL_BRIEF)
		text_checkpoint_table(&parts[TABLE], b, lines < LINES ? LINES - lines : 0);
	for (unsigned i = 0; i < PARTS; i++) {
		if (i > 0 && parts[i].len > 0)
			fputc('\n', to);
		text_print(to, &parts[i]);
		buf_fini(&parts[i]);
	}
	buf_fini(&below);
}
