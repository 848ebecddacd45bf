/* SPDX-License-Identifier: Apache-2.0 */
/* text_io.c - the text report of a plain job: its answer, and the parts in order. */
#include "work/plain/text_io.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/wrap.h"
#include "report/text_block.h"
#include "report/text_evidence.h"
#include "report/text_settings.h"
#include "report/text_tables.h"
#include "report/verdict.h"
#include "run/merge.h"
#include "work/plain/plain.h"
#include "work/plain/text_io_parts.h"
#include "work/plain/verdict_io.h"

static const char *const direction_names[2] = { "read", "write" };

static uint64_t ios_of(const struct job_result *r)
{
	return r->read.total_ios + r->write.total_ios;
}

/* ---- the sum of a job's workers ---- */

/* Histograms of its own, so that others can be added. */
static void own(struct hist **h)
{
	struct hist *copy = NULL;

	if (*h) {
		copy = hist_new();
		hist_merge(copy, *h);
	}
	*h = copy;
}

/* What the record shares with its own operations it goes on sharing. */
static void own_alias(struct hist **h, const struct hist *original, struct hist *copy)
{
	if (*h && *h == original)
		*h = copy;
	else
		own(h);
}

static void own_direction(struct direction_result *d, struct op_result *op)
{
	const struct hist *original = op->lat_ns;

	own(&op->lat_ns);
	own_alias(&d->lat_ns, original, op->lat_ns);
	own(&d->slat_ns);
	own(&d->total_ns);
}

static void free_direction(struct direction_result *d, const struct op_result *op)
{
	if (d->lat_ns != op->lat_ns)
		hist_free(d->lat_ns);
	hist_free(d->slat_ns);
	hist_free(d->total_ns);
	hist_free(op->lat_ns);
}

static void sum_init(struct job_result *sum, const struct job_result *records, size_t n)
{
	*sum = records[0];
	struct ops_result *ops = &sum->ops;
	const struct hist *fsync = ops->fsync.lat_ns;
	own_direction(&sum->read, &ops->read);
	own_direction(&sum->write, &ops->write);
	own(&ops->fsync.lat_ns);
	own_alias(&sum->sync.lat_ns, fsync, ops->fsync.lat_ns);
	/* Nothing of these is printed. */
	ops->open = ops->stat = ops->close = (struct op_result){ 0 };
	sum->host.oversleep_ns = NULL;
	sum->sums = NULL;
	const char *nodes = sum->numa.loader_nodes;
	sum->numa.loader_nodes = nodes ? mem_strdup(nodes) : NULL;
	sum->verdict = (struct verdict_result){ 0 };
	for (size_t i = 1; i < n; i++)
		merge_workers(sum, &records[i]);
}

static void sum_fini(struct job_result *sum)
{
	const struct ops_result *ops = &sum->ops;
	const struct verdict_result *v = &sum->verdict;
	char *texts[] = { sum->numa.loader_nodes, v->name, v->headline, v->because, v->try_next };

	mem_free(sum->sums);
	if (sum->sync.lat_ns != ops->fsync.lat_ns)
		hist_free(sum->sync.lat_ns);
	hist_free(ops->fsync.lat_ns);
	free_direction(&sum->read, &ops->read);
	free_direction(&sum->write, &ops->write);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		mem_free(texts[i]);
}

/* ---- the answer ---- */

/* What a first line that is too long goes without, one after the other. */
enum { NO_TIME = 1, NO_WORKERS, NO_GAP, LENGTHS };

/* Of a job that moved nothing; what it was for may be done all the same. */
static void put_nothing(struct buf *out, const struct text_block *b)
{
	const struct io_result *io = b->io;
	const char *end = text_early_end(b);
	char n[UNITS_TEXT_BYTES];

	if (b->job->create_only && !end && io->laid_out_files > 0)
		text_say(out, b, "{io.laid_out_files} file{s}, {io.laid_out_bytes} laid out");
	else if (b->job->create_only && !end)
		buf_addf(out, "nothing to lay out, %s file%s there",
			 units_human_count(n, io->files), io->files == 1 ? " is" : "s are");
	else
		buf_add(out, "no operation was finished");
	if (end)
		buf_addf(out, " (%s)", end);
	buf_addc(out, '\n');
}

static void put_direction(struct buf *out, const struct text_block *b,
			  const struct direction_result *d, const char *name)
{
	double seconds = b->result->wall_seconds;
	char iops[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];

	if (d->total_ios == 0)
		return;
	if (!(seconds > 0)) {
		buf_addf(out, "%s at an unknown rate", name);
		return;
	}
	buf_addf(out, "%s %s IOPS, %s", name,
		 show_fio_number(iops, floor((double)d->total_ios / seconds), false),
		 show_rate(rate, &b->unit, (double)d->io_bytes / seconds));
}

static void put_end(struct buf *out, const struct text_block *b, unsigned length)
{
	const char *end = text_early_end(b);
	char time[UNITS_TEXT_BYTES];
	double ns = b->result->wall_seconds * 1e9;

	if (b->io->numjobs > 1 && length < NO_WORKERS)
		buf_addf(out, " (%" PRIu64 " workers)", b->io->numjobs);
	text_allowed_errors(out, b);
	if (b->io->rate[0].is_missed || b->io->rate[1].is_missed)
		buf_add(out, "; rate NOT MET");
	if (end && length < NO_TIME && ns > 0)
		buf_addf(out, " (%s after %s)", end, units_human_time(time, (uint64_t)ns));
	else if (end)
		buf_addf(out, " (%s)", end);
	if (text_is_memory(b))
		buf_addf(out, "%sMEMORY, NOT STORAGE", length < NO_GAP ? "      " : "  ");
	buf_addc(out, '\n');
}

static void put_answer(struct buf *out, const struct text_block *b)
{
	const struct job_result *r = b->result;

	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		buf_addf(out, "%s: ", b->job->name);
		text_errors(out, b);
		if (ios_of(r) == 0) {
			put_nothing(out, b);
			return;
		}
		put_direction(out, b, &r->read, "read");
		if (r->read.total_ios && r->write.total_ios)
			buf_add(out, "; ");
		put_direction(out, b, &r->write, "write");
		put_end(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

/* "asked 100 MiB/s, had 83.1 MiB/s: NOT MET" */
static void put_rate(struct buf *text, const struct text_block *b, unsigned which, bool is_only)
{
	const struct rate_result *rate = &b->io->rate[which];
	const struct direction_result *d = which ? &b->result->write : &b->result->read;
	double seconds = b->result->wall_seconds;
	double had = seconds > 0 ? 1 / seconds : (double)NAN;
	bool is_done = which ? job_writes(b->job) : job_reads(b->job);
	bool has_bytes = !isnan(rate->asked_bytes_per_sec);
	bool has_iops = !isnan(rate->asked_iops);
	char n[UNITS_TEXT_BYTES];

	if (!is_done || (!has_bytes && !has_iops))
		return;
	buf_addf(text, "%s%s%sasked ", text->len ? "; " : "", is_only ? "" : direction_names[which],
		 is_only ? "" : " ");
	if (has_bytes)
		buf_add(text, show_rate(n, &b->unit, rate->asked_bytes_per_sec));
	if (has_iops)
		buf_addf(text, "%s%s IOPS", has_bytes ? " and " : "",
			 units_sig4(n, rate->asked_iops));
	buf_add(text, ", had ");
	if (has_bytes)
		buf_add(text, show_rate(n, &b->unit, (double)d->io_bytes * had));
	if (has_iops)
		buf_addf(text, "%s%s IOPS", has_bytes ? " and " : "",
			 units_sig4(n, (double)d->total_ios * had));
	bool is_reached =
		(!has_bytes ||
		 (double)d->io_bytes * had >= PLAIN_RATE_MET * rate->asked_bytes_per_sec) &&
		(!has_iops || (double)d->total_ios * had >= PLAIN_RATE_MET * rate->asked_iops);
	/* A mix has as much of the one as it has of the other. */
	buf_addf(text, ": %s",
		 rate->is_missed ? "NOT MET"
		 : is_reached    ? "met"
				 : "below, held back by the mix");
}

static void put_rates(struct buf *text, const struct text_block *b)
{
	bool is_only = !job_reads(b->job) || !job_writes(b->job);

	put_rate(text, b, 0, is_only);
	put_rate(text, b, 1, is_only);
}

static const struct text_line below_answer[] = {
	{ "  rate", put_rates },
	{ 0 },
};

static void put_below_answer(struct buf *out, const struct text_block *b,
			     const struct text_line *own)
{
	text_fio_lines(out, b);
	text_put_list(out, own, TEXT_ANSWER_INDENT, b);
	text_verdict(out, b);
}

/* ---- the tables ---- */

static const char *put_latencies(struct buf *out, const struct text_block *b)
{
	const struct job_result *r = b->result;
	const struct direction_result *d[2] = { &r->read, &r->write };
	static const char *const paced[2][3] = {
		{ "read slat", "read clat", "read lat" },
		{ "write slat", "write clat", "write lat" },
	};
	struct text_latency_row rows[7];
	size_t n = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t ios = d[i]->total_ios;

		if (!d[i]->total_ns) {
			rows[n++] =
				(struct text_latency_row){ direction_names[i], ios, d[i]->lat_ns };
			continue;
		}
		const struct hist *h[3] = { d[i]->slat_ns, d[i]->lat_ns, d[i]->total_ns };
		for (unsigned k = 0; k < 3; k++)
			rows[n++] =
				(struct text_latency_row){ paced[i][k],
							   ios ? h[k] ? h[k]->count : 0 : 0, h[k] };
	}
	rows[n++] = (struct text_latency_row){ "fsync", r->sync.total, r->sync.lat_ns };
	return text_io_latency(out, rows, n, &b->job->percentile_list);
}

/* ---- in order ---- */

static void print_parts(FILE *to, const struct buf *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && parts[i].len > 0)
			fputc('\n', to);
		text_print(to, &parts[i]);
	}
}

static void put_evidence(struct buf *out, const struct text_block *b, const struct text_line *own)
{
	if (own)
		text_put_list(out, own, TEXT_EVIDENCE_INDENT, b);
	if (ios_of(b->result) > 0)
		text_put_list(out, text_io_evidence, TEXT_EVIDENCE_INDENT, b);
}

static void report(FILE *to, const struct text_block *b, const struct job_result *records, size_t n,
		   const struct text_io_kind *kind)
{
	enum { ANSWER, SETTINGS, OWN, WORKERS, LATENCY, EVIDENCE, PARTS };
	struct buf parts[PARTS];
	const struct job_result *r = b->result;
	struct buf first;

	buf_init(&first);
	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&parts[i]);
	put_answer(&first, b);
	buf_add(&parts[ANSWER], buf_str(&first));
	if (b->detail == DETAIL_BRIEF) {
		text_fio_lines(&parts[ANSWER], b);
		text_verdict(&parts[ANSWER], b);
	} else if (b->detail > DETAIL_BRIEF) {
		put_below_answer(&parts[ANSWER], b, kind->answer);
		text_put_list(&parts[SETTINGS], kind->settings, TEXT_SETTING_INDENT, b);
		if (kind->table)
			kind->table(&parts[OWN], b);
		if (ios_of(r) > 0) {
			const char *unit = put_latencies(&parts[LATENCY], b);

			text_io_workers(&parts[WORKERS], b, records, n, unit);
		}
		put_evidence(&parts[EVIDENCE], b, kind->evidence);
	}
	print_parts(to, parts, PARTS);
	for (unsigned i = 0; i < PARTS; i++)
		buf_fini(&parts[i]);
	buf_fini(&first);
}

void text_io_print(FILE *to, const struct run_result *run, const struct job_result *records,
		   size_t n, enum detail detail, const struct text_io_kind *kind)
{
	struct job_result sum;
	struct text_block b;

	sum_init(&sum, records, n);
	verdict_fill_io(run, &sum);
	text_block_init(&b, run, &sum, detail);
	double seconds = sum.wall_seconds;
	double most = (double)(sum.read.io_bytes > sum.write.io_bytes ? sum.read.io_bytes
								      : sum.write.io_bytes);
	b.unit = show_rate_unit(seconds > 0 ? most / seconds : (double)NAN);
	show_loader_time(&sum.io.worker_percent, &b.loader);
	report(to, &b, records, n, kind);
	sum_fini(&sum);
}

void text_io_report(FILE *to, const struct run_result *run, const struct job_result *records,
		    size_t n, enum detail detail)
{
	static const struct text_io_kind kind = {
		.answer = below_answer,
		.settings = text_io_settings,
	};

	text_io_print(to, run, records, n, detail, &kind);
}

double text_io_seconds(const struct job_result *r)
{
	return r->wall_seconds;
}
