/* SPDX-License-Identifier: Apache-2.0 */
/* text_checkpoint.c - the text report of checkpoints: its answer, then its parts in order. */
#include "work/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "job/job.h"
#include "report/text/text.h"

/* ---- parts ---- */

#define TABLE_LEAST 5 /* minimum number of lines with checkpoints */
#define FIRST_LINES 2 /* checkpoints before the ellipsis */

static bool is_restore(const struct text_block *b)
{
	return job_work(b->job)->restores;
}

/* ---- settings ---- */

static void append_job(struct buf *text, const struct text_block *b)
{
	static const char *const fsyncs[] = {
		[CHECKPOINT_FSYNC_NONE] = "no fsync",
		[CHECKPOINT_FSYNC_FILE] = "fsync of each file",
		[CHECKPOINT_FSYNC_END] = "fsync of all files at the end",
	};
	const struct job *j = b->job;

	text_say(text, b, "[{model}, ]");
	if (is_restore(b))
		buf_add(text, "the newest ");
	text_say(text, b, "{checkpoints} checkpoint{s}");
	if (j->checkpoints > 1)
		text_say(text, b, "[, {pause} between them]");
	text_say(text, b, ", layout {checkpoint_layout}");
	if (is_restore(b)) {
		text_say(text, b,
			 "[, each rank reads the files of another rank of this host "
			 "(restore_shift={restore_shift})]");
	} else {
		buf_addf(text, ", %s", fsyncs[j->checkpoint_fsync]);
		text_say(text, b, "[, the newest {checkpoint_keep} kept]");
		if (j->rename_commit)
			buf_add(text, ", renamed when complete");
	}
}

static void append_threads(struct buf *text, const struct text_block *b)
{
	text_say(text, b,
		 "{checkpoints.threads} thread{s} ({checkpoint_threads} per rank), "
		 "ioengine={ioengine}[ ({ml.in_use})]");
	if (job_depth(b->job) > 1)
		buf_addf(text, ", iodepth=%u", job_depth(b->job));
	text_say(text, b, ", {direct=}");
	if (b->job->direct)
		text_say(text, b, "[ (aligned to {read_align_bytes})]");
	if (b->job->access == ACCESS_FRAMEWORK)
		buf_addf(text, ", %s as its framework does", is_restore(b) ? "reads" : "writes");
	else if (is_restore(b))
		text_say(text, b, ", {bs.read} requests");
	else
		text_say(text, b, ", {bs.write} requests");
}

static void append_state(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;
	const struct checkpoint_result *k = c->items.items;
	char n[UNITS_TEXT_BYTES];

	if (c->bytes_per_checkpoint == 0)
		return;
	text_say(text, b, "{checkpoints.bytes_per_checkpoint} per checkpoint");
	text_memory_ratio(text, b, (double)c->bytes_per_checkpoint);
	if (c->items.count > 0 && k[0].files > 0)
		buf_addf(text, ", in %s file%s", units_human_count(n, k[0].files),
			 plural(k[0].files));
	if (!verdict_without_storage(b->job))
		text_say(text, b, "[, in {checkpoints.directory}]");
}

/* ---- the table ---- */

static void append_cell(struct buf *out, int width, int decimals, double v)
{
	if (isnan(v))
		buf_addf(out, "%*s", width, "-");
	else
		buf_addf(out, "%*.*f", width, decimals, v);
}

/* Decimals of a column of seconds. */
static int seconds_decimals(double largest)
{
	return largest >= 99.5 ? 1 : largest >= 9.95 ? 2 : 3;
}

struct table {
	const struct rate_unit *unit;
	int seconds, rate, slowest, after;
	bool has_commit, has_delete;
};

static void append_checkpoint(struct buf *out, const struct table *t,
			      const struct checkpoint_result *k)
{
	char rank[32], number[UNITS_TEXT_BYTES];

	if (!k->complete) {
		/* Append the part of the error that fits into the line. */
		static const char what[] = "not complete";
		size_t room = wrap_columns() - 13 - sizeof(what) - 4;
		bool is_long = strlen(k->error) > room;

		buf_addf(out, "%10" PRIu64 "   %s", k->number, what);
		if (k->error[0])
			buf_addf(out, ": %.*s%s", (int)room, k->error, is_long ? "..." : "");
		buf_addc(out, '\n');
		return;
	}
	buf_addf(out, "%10" PRIu64, k->number);
	append_cell(out, 10, t->seconds, k->seconds);
	buf_addf(out, "%8s", units_sig4(number, (double)k->bytes / t->unit->bytes));
	append_cell(out, 8, t->rate, k->bytes_per_sec / t->unit->bytes);
	append_cell(out, 9, t->slowest, k->slowest_rank_bytes_per_sec / t->unit->bytes);
	snprintf(rank, sizeof(rank), " (rank %" PRIu64 ")", k->slowest_rank);
	if (t->has_commit || t->has_delete)
		buf_addf(out, "%-12s", rank);
	else
		buf_add(out, rank);
	if (t->has_commit)
		append_cell(out, 11, t->after, k->commit_seconds);
	if (t->has_delete)
		append_cell(out, 11, t->after, k->delete_seconds);
	buf_addc(out, '\n');
}

/* ---- latencies ---- */

static uint64_t count_of(const struct hist *h)
{
	return h ? h->count : 0;
}

static void append_latencies(struct buf *out, const char *title, const struct checkpoints_result *c,
			     const struct f64_list *percentiles)
{
	const struct text_latency_row rows[] = {
		{ "open", count_of(c->open_ns), c->open_ns },
		{ "write", count_of(c->write_ns), c->write_ns },
		{ "read", count_of(c->read_ns), c->read_ns },
		{ "fsync", count_of(c->fsync_ns), c->fsync_ns },
		{ "close", count_of(c->close_ns), c->close_ns },
		{ "rename", count_of(c->rename_ns), c->rename_ns },
		{ "unlink", count_of(c->unlink_ns), c->unlink_ns },
	};

	text_rows_latency(out, title, rows, ARRAY_LEN(rows), percentiles);
}

/* ---- evidence ---- */

static void append_shares(struct buf *out, const char *label, const struct checkpoints_result *c)
{
	struct show_shares shares;

	show_rank_time(&c->rank_percent, &shares);
	text_shares(out, label, &shares);
}

static void append_rank_time(struct buf *out, const struct text_block *b)
{
	append_shares(out, "rank time", b->checkpoints);
}

static void append_deleted(struct buf *text, const struct text_block *b)
{
	if (b->checkpoints->deleted_checkpoints > 0)
		text_say(text, b,
			 "{checkpoints.deleted_checkpoints} older checkpoint{s}, "
			 "{checkpoints.deleted_files} file{s}[, in {checkpoints.delete_seconds} s] "
			 "(checkpoint_keep={checkpoint_keep})");
}

/* Append how many of the bytes storage did not deliver. */
static void append_from_memory(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	double read = (double)b->result->read.io_bytes;
	bool has_others = text_has_other_jobs(b);
	char percent[UNITS_TEXT_BYTES], part[SHOW_PART_BYTES];

	if (has_others)
		read = (double)s->jobs_read_bytes;
	if (verdict_without_storage(b->job) || !(read > 0))
		return;
	if (s->is_memory)
		buf_addf(text, "all of it: %s is memory", s->filesystem ? s->filesystem : "this");
	else if (isnan(s->memory_percent))
		buf_add(text, "unknown: no counter of this host shows what storage delivered");
	else
		buf_addf(text, "%s of the bytes%s read%s, %s (%s)",
			 show_percent(percent, s->memory_percent), has_others ? " that mlgen" : "",
			 has_others ? " there" : "",
			 show_part_of(part, read * s->memory_percent / 100, read),
			 s->source ? s->source : "unknown");
	if (!s->is_memory)
		text_unseen_caches(text, s);
}

static void append_errors(struct buf *text, const struct text_block *b)
{
	const struct job_result *r = b->result;
	uint64_t short_ios = r->read.short_ios + r->write.short_ios;
	char n[UNITS_TEXT_BYTES];

	text_say(text, b, "[{ml.errors} counted, the run went on]");
	if (short_ios > 0)
		buf_addf(text, "%s%s short transfer%s resumed", text->len ? "; " : "",
			 units_human_count(n, short_ios), plural(short_ios));
}

/* ---- lines in the report of a training ---- */

static void append_saves(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;

	text_say(text, b, "{checkpoints.completed} of {checkpoints.bytes_per_checkpoint}");
	if (c->completed > 0)
		text_say(text, b, ", {checkpoints.seconds_mean} s each");
	if (c->completed > 1)
		text_say(text, b,
			 "[ (first {checkpoints.first_seconds}, later "
			 "{checkpoints.later_seconds})]");
	if (c->completed > 0)
		text_say(text, b, ", {checkpoints.bytes_per_sec}");
	if (c->count > c->completed)
		buf_addf(text, "; %" PRIu64 " not completed", c->count - c->completed);
	text_say(text, b, "[; in {checkpoint_directory}]");
}

static void append_save_time(struct buf *out, const struct text_block *b)
{
	append_shares(out, "checkpoint time", b->checkpoints);
}

/* Append the time that training lost. */
static void append_stall(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;
	bool is_async = b->job->checkpoint_mode == CHECKPOINT_ASYNC;

	if (isnan(c->stall_seconds))
		return;
	text_say(text, b, "{checkpoints.stall_seconds} s of training, {checkpoint_mode}");
	if (is_async && c->snapshot_seconds > 0)
		text_say(text, b, ": {checkpoints.snapshot_seconds} for snapshots");
	if (is_async && c->wait_seconds > 0) {
		buf_addc(text, c->snapshot_seconds > 0 ? ',' : ':');
		text_say(text, b, " {checkpoints.wait_seconds} for the previous one");
	}
}

static const struct text_line save_settings[] = {
	{ NULL, text_title },        { "job", append_job },
	{ "state", append_state },   { "writers", append_threads },
	{ "storage", text_storage }, { "host", text_machine },
	{ NULL, text_command },      { 0 },
};

static const struct text_line restore_settings[] = {
	{ NULL, text_title },        { "job", append_job },
	{ "state", append_state },   { "readers", append_threads },
	{ "storage", text_storage }, { "host", text_machine },
	{ NULL, text_command },      { 0 },
};

/* Print a header and one line per checkpoint, in at most `most_lines` lines. */
static void text_checkpoint_table(struct buf *out, const struct text_block *b, unsigned most_lines)
{
	const struct checkpoints_result *c = b->checkpoints;
	const struct checkpoint_result *k = c->items.items;
	size_t kept = c->items.count, head = kept, tail = kept;
	size_t room = most_lines > 2 ? most_lines - 2 : 0;
	double rate = 0, slowest = 0, after = 0;
	struct table t;

	if (c->count < 2 || kept == 0)
		return;
	room = room < TABLE_LEAST ? TABLE_LEAST : room;
	if (c->count > kept) {
		/* The last checkpoints were not kept: print the kept ones, then `...`. */
		head = kept < room ? kept : room - 1;
	} else if (kept > room) {
		head = FIRST_LINES;
		tail = kept - (room - 1 - head);
	}

	t = (struct table){ .unit = &b->unit };
	for (size_t i = 0; i < c->items.count; i++) {
		rate = fmax(rate, k[i].bytes_per_sec);
		slowest = fmax(slowest, k[i].slowest_rank_bytes_per_sec);
		after = fmax(after, k[i].commit_seconds);
		after = fmax(after, k[i].delete_seconds);
		t.has_commit |= k[i].commit_seconds > 0;
		t.has_delete |= k[i].deleted_checkpoints > 0;
	}
	t.seconds = seconds_decimals(c->seconds_max);
	t.after = seconds_decimals(after);
	t.rate = show_rate_decimals(t.unit, rate / t.unit->bytes);
	slowest /= t.unit->bytes;
	t.slowest = slowest < 9.9995 ? 3 : slowest < 99.995 ? 2 : 1;

	buf_addf(out, "checkpoint   seconds%8.3s   %s  slowest rank, %s", t.unit->name,
		 t.unit->name, t.unit->name);
	if (t.has_commit)
		buf_add(out, "  commit, s");
	if (t.has_delete)
		buf_add(out, "  delete, s");
	buf_addc(out, '\n');
	for (size_t i = 0; i < head; i++)
		append_checkpoint(out, &t, &k[i]);
	if (head < kept || c->count > kept)
		buf_add(out, "       ...\n");
	for (size_t i = tail; i < kept; i++)
		append_checkpoint(out, &t, &k[i]);
}

static const struct text_line evidence_lines[] = {
	{ NULL, append_rank_time },  { "deleted", append_deleted },
	{ "window", text_window },   { "from memory", append_from_memory },
	{ "host", text_host },       { "energy", text_energy },
	{ "noise", text_noise },     { "numa", text_numa },
	{ "errors", append_errors }, { 0 },
};

void text_saves_latency(struct buf *out, const struct text_block *b, bool brief)
{
	struct checkpoints_result c = b->ml->saves;

	if (brief)
		c.open_ns = c.close_ns = c.rename_ns = c.unlink_ns = NULL;
	append_latencies(out, "saves", &c, &b->job->percentile_list);
}

static const struct text_line saves[] = {
	{ "checkpoints", append_saves },
	{ "checkpoint stall", append_stall },
	{ NULL, append_save_time },
	{ "deleted", append_deleted },
	{ 0 },
};

void text_saves_evidence(struct buf *out, const struct text_block *b)
{
	if (!b->job->checkpoint_every)
		return;
	if (b->ml->saves.count > 0)
		text_append_list(out, saves, TEXT_EVIDENCE_INDENT, b);
	else
		text_append(out, "checkpoints", TEXT_EVIDENCE_INDENT,
			    "none: the run ended before the first was due");
}

/* ---- the report ---- */

#define LINES 52

/* If fsync takes at least this percentage of the ranks' time, fsync and not write moved most of the
 * bytes. */
#define MOSTLY_FSYNC 50.0

/* Parts that the first line drops, one after the other, until it fits. */
enum { NO_RANKS = 1, NO_COUNT, NO_PLACE, NO_SECONDS, FEWER_WORDS, FEWEST_WORDS, LENGTHS };

/* ---- the answer ---- */

/* "interrupted in checkpoint 4 of 10" */
static void append_end(struct buf *out, const struct text_block *b, bool brief)
{
	uint64_t at = b->checkpoints->completed + 1;

	buf_add(out, text_early_end(b));
	if (!brief && at <= b->job->checkpoints)
		buf_addf(out, " in checkpoint %" PRIu64 " of %" PRIu64, at, b->job->checkpoints);
}

static void append_ranks(struct buf *out, const struct checkpoints_result *c)
{
	if (c->ranks < c->job_ranks)
		buf_addf(out, "%" PRIu64 " of ", c->ranks);
	buf_addf(out, "%" PRIu64 " rank%s", c->job_ranks, c->job_ranks == 1 ? "" : "s");
}

static void append_answer(struct buf *out, const struct text_block *b, unsigned length)
{
	unsigned brevity = length >= FEWEST_WORDS ? 2 : length >= FEWER_WORDS ? 1 : 0;
	struct buf warning = { 0 };
	bool is_marked = false;

	buf_addf(out, "%s: ", b->job->name);
	text_say(out, b, "{checkpoints.bytes_per_sec}");
	if (length < NO_SECONDS)
		text_say(out, b, ", {checkpoints.seconds_mean} s per checkpoint");
	/* " (10 of 104.7 GiB, 8 ranks)" */
	if (length < NO_COUNT)
		text_say(out, b, " ({checkpoints.completed} of {checkpoints.bytes_per_checkpoint}");
	if (length < NO_RANKS) {
		text_say(out, b, "[, {scale=}], ");
		append_ranks(out, b->checkpoints);
	}
	if (length < NO_COUNT)
		buf_addc(out, ')');
	if (text_early_end(b)) {
		buf_add(out, "; ");
		append_end(out, b, length >= NO_PLACE);
	}
	if (!is_restore(b))
		is_marked = text_not_durable(&warning, b->job, b->checkpoints, brevity);
	if (warning.len)
		buf_addf(out, "; %s", buf_str(&warning));
	if (!is_marked && text_is_memory(b))
		buf_add(out, "      MEMORY, NOT STORAGE");
	buf_fini(&warning);
	buf_addc(out, '\n');
}

static void text_checkpoint_answer(struct buf *out, const struct text_block *b)
{
	if (b->checkpoints->completed == 0) {
		buf_addf(out, "%s: no checkpoint was %s", b->job->name,
			 is_restore(b) ? "restored" : "saved");
		if (text_early_end(b)) {
			buf_add(out, " (");
			append_end(out, b, false);
			buf_addc(out, ')');
		}
		buf_addc(out, '\n');
		return;
	}
	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		append_answer(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

/* ---- the lines below it ---- */

/* Append the part of the whole model that this host simulated. */
static void append_part(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;

	if (c->ranks < c->job_ranks) {
		append_ranks(text, c);
		buf_add(text, " are simulated by this host");
	}
	if (b->job->scale < 100)
		buf_addf(text, "%sscale=%g%%: each tensor has this part of its bytes",
			 text->len ? "; " : "", b->job->scale);
}

static void append_slowest(struct buf *text, const struct text_block *b)
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
					      : "MLPerf scores this rank");
}

static void append_spread(struct buf *text, const struct text_block *b)
{
	if (b->checkpoints->completed < 2)
		return;
	text_say(text, b,
		 "checkpoints {checkpoints.seconds_min} to {checkpoints.seconds_max} s[; first "
		 "{checkpoints.first_seconds}, later {checkpoints.later_seconds}]");
}

static void append_fsync(struct buf *text, const struct text_block *b)
{
	const struct checkpoints_result *c = b->checkpoints;
	struct show_shares shares;
	char part[SHOW_PART_BYTES];

	show_rank_time(&c->rank_percent, &shares);
	double percent = show_share(&shares, "fsync");
	if (verdict_without_storage(b->job))
		return;
	if (b->job->checkpoint_fsync == CHECKPOINT_FSYNC_NONE) {
		/* The first line says the same in fewer words. */
		buf_add(text, "none (checkpoint_fsync=none): ");
		if (b->job->direct)
			buf_add(text, "bytes in the device's own cache are not durable");
		else if (c->in_memory_bytes == UINT64_MAX)
			buf_add(text, "it is unknown how much was on storage at the end");
		else
			buf_addf(text, "%s were still in this host's memory at the end",
				 show_part_of(part, (double)c->in_memory_bytes, (double)c->bytes));
	} else if (percent >= MOSTLY_FSYNC && !b->job->direct) {
		buf_addf(
			text,
			"%.1f%% of the time: most bytes were still in memory when write() returned",
			percent);
	} else {
		buf_addf(text, "%.1f%% of the time, %s", percent,
			 b->job->checkpoint_fsync == CHECKPOINT_FSYNC_END
				 ? "of all files at the end"
				 : "of each file before it was closed");
	}
}

/* Unless the caches are dropped, a restore may read pages that the save left in memory. */
static void append_caches(struct buf *text, const struct text_block *b)
{
	static const char *const dropped[] = {
		[INVALIDATE_NONE] = "nothing was dropped",
		[INVALIDATE_RUN] =
			"only the files were dropped from this host's page cache (invalidate=run)",
		[INVALIDATE_EPOCH] = ("only the files were dropped from this host's page cache "
				      "(invalidate=epoch)"),
	};

	if (verdict_without_storage(b->job))
		return;
	if (b->checkpoints->caches_dropped)
		buf_add(text, "its files were dropped on this host before the first one "
			      "(drop_caches=run)");
	else if (b->job->direct)
		buf_add(text,
			"NOT EMPTIED (drop_caches=no); direct=1 bypasses this host's page cache");
	else
		buf_addf(text, "NOT EMPTIED (drop_caches=no): %s", dropped[b->job->invalidate]);
}

static void append_verified(struct buf *text, const struct text_block *b)
{
	buf_add(text, b->checkpoints->verified
			      ? "every byte is what was saved (verify=crc32c)"
			      : "no: the bytes were read but not checked (verify=none)");
}

/* Append the error of the last checkpoint that failed. */
static void append_error(struct buf *text, const struct text_block *b)
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

static const struct text_line answer_lines[] = {
	{ "  error", append_error },
	{ "  part of it", append_part },
	{ 0 },
};

static const struct text_line save_lines[] = {
	{ "  slowest rank", append_slowest },
	{ "  spread", append_spread },
	{ "  fsync", append_fsync },
	{ NULL, text_verdict },
	{ 0 },
};

static const struct text_line restore_lines[] = {
	{ "  slowest rank", append_slowest },
	{ "  spread", append_spread },
	{ "  caches", append_caches },
	{ "  verified", append_verified },
	{ NULL, text_verdict },
	{ 0 },
};

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

/* The table of checkpoints is made last: it gets the lines that remain. */
void text_checkpoint_report(FILE *to, const struct run_result *run, const struct job_result *r,
			    size_t n, enum detail detail)
{
	struct text_block all, *b = &all;
	enum { ANSWER, SETTINGS, TABLE, LATENCY, EVIDENCE, PARTS };
	struct buf parts[PARTS];
	struct buf below = { 0 };
	unsigned lines = 0;

	(void)n;
	text_block_init(b, run, r, detail);
	b->unit = show_rate_unit(b->checkpoints->bytes_per_sec);
	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&parts[i]);
	text_checkpoint_answer(&parts[ANSWER], b);
	if (detail > DETAIL_FIRST)
		text_fio_lines(&parts[ANSWER], b);
	if (detail == DETAIL_BRIEF)
		text_verdict(&parts[ANSWER], b);
	if (detail > DETAIL_BRIEF) {
		text_append_list(&below, answer_lines, TEXT_ANSWER_INDENT, b);
		if (b->checkpoints->completed > 0)
			text_append_list(&below, is_restore(b) ? restore_lines : save_lines,
					 TEXT_ANSWER_INDENT, b);
		buf_add(&parts[ANSWER], buf_str(&below));
		text_append_list(&parts[SETTINGS], is_restore(b) ? restore_settings : save_settings,
				 TEXT_SETTING_INDENT, b);
		append_latencies(&parts[LATENCY], "latency", b->checkpoints,
				 &b->job->percentile_list);
		if (b->checkpoints->count > 0)
			text_append_list(&parts[EVIDENCE], evidence_lines, TEXT_EVIDENCE_INDENT, b);
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
