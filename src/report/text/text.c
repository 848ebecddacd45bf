/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - the report of a run, the parts that all blocks share, and --version. */
#include "report/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "config.h"
#include "io/engines.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"

#define WIDTH 80
#define INDENT 11

static const struct {
	const char *name, *version;
} libraries[] = {
#define X(name, version) { #name, version },
	CONFIG_LIBRARIES(X)
#undef X
		{ NULL, NULL },
};

/* "engines    fault io_uring ..." */
static void print_line(FILE *to, const char *label, const char *words)
{
	struct buf line = { 0 };

	buf_addf(&line, "%-*s", INDENT, label);
	wrap_words(&line, INDENT, WIDTH, words);
	fprintf(to, "%s\n", buf_str(&line));
	buf_fini(&line);
}

void version_print(FILE *to, const char *commit)
{
	struct buf names = { 0 };

	fprintf(to, "mlgen %s", MLGEN_VERSION);
	if (*commit)
		fprintf(to, " (commit %s)", commit);
	fputc('\n', to);
	for (size_t i = 0; engines_built[i]; i++)
		buf_addf(&names, "%s%s", i ? " " : "", engines_built[i]->name);
	for (size_t i = 0; engines_absent[i].name; i++)
		buf_addf(&names, "%s%s", i ? " " : "; not built: ", engines_absent[i].name);
	print_line(to, "engines", buf_str(&names));
	buf_reset(&names);
	for (size_t i = 0; libraries[i].name; i++)
		buf_addf(&names, "%s%s%s%s", i ? ", " : "", libraries[i].name,
			 *libraries[i].version ? " " : "", libraries[i].version);
	print_line(to, "libraries", buf_str(&names));
	buf_fini(&names);
}

/* The column of "= 100%" in lines of shares. */
#define SUM_COLUMN (WRAP_COLUMNS - 6)

/* Append the line "enough for": how many accelerators the storage can feed. */
static void append_enough(struct buf *out, const struct text_block *b)
{
	double au;
	uint64_t n = verdict_enough(b->result, &au);
	const char *name = b->ml->accelerator;
	char who[SHOW_ACCELERATORS_BYTES], text[160];

	if (n == UINT64_MAX)
		return;
	if (n == 0)
		snprintf(text, sizeof(text), "less than one %s at %g%% AU (estimate)",
			 name ? name : "accelerator", au);
	else
		snprintf(text, sizeof(text), "about %s at %g%% AU (estimate)",
			 show_accelerators(who, n, name), au);
	text_append(out, "  enough for", TEXT_ANSWER_INDENT, text);
}

/* True if `r` belongs to the first job of the run that was executed. */
static bool is_first(const struct run_result *run, const struct job_result *r)
{
	size_t i = 0;

	while (i < run->job_count && !run->jobs[i].work)
		i++;
	return i < run->job_count && run->jobs[i].job == r->job;
}

void text_block_init(struct text_block *b, const struct run_result *run,
		     const struct job_result *result, enum detail detail)
{
	const struct ml_result *ml = &result->ml;
	const struct io_result *io = &result->io;

	*b = (struct text_block){
		.run = run,
		.result = result,
		.job = result->job,
		.ml = ml,
		.io = io,
		.checkpoints = job_result_checkpoints(result),
		.cache = &result->ml.cache,
		.storage = &result->storage,
		.window = &result->window,
		.host = &result->host,
		.network = &result->network,
		.numa = &result->numa,
		.verdict = &result->verdict,
		.readers_each = job_read_threads(result->job),
		.readers = ml->accelerators * job_read_threads(result->job),
		.detail = detail,
		.is_first = !run->is_host_printed && is_first(run, result),
	};
}

const char *text_early_end(const struct text_block *b)
{
	const struct job_result *all = b->result;

	if (b->result->err.code != 0)
		return "stopped by an error";
	if (all->interrupted)
		return "interrupted";
	if (b->run->err.code != 0 && !all->complete)
		return "another job failed";
	return NULL;
}

bool text_is_memory(const struct text_block *b)
{
	return b->verdict->name && !strcmp(b->verdict->name, "memory");
}

void text_errors(struct buf *out, const struct text_block *b)
{
	if (!verdict_is_errors(b->result))
		return;
	buf_add(out, "ERRORS: ");
	verdict_append_failed(out, b->result);
	buf_add(out, "; ");
}

void text_allowed_errors(struct buf *out, const struct text_block *b)
{
	if (verdict_is_errors(b->result) || !b->result->failed.count)
		return;
	buf_add(out, "; ");
	verdict_append_failed(out, b->result);
}

void text_wrap_answer(struct buf *line)
{
	struct buf text = { 0 };

	buf_addn(&text, buf_str(line), strcspn(buf_str(line), "\n"));
	buf_reset(line);
	wrap_lists(line, 2, wrap_columns(), buf_str(&text));
	buf_addc(line, '\n');
	buf_fini(&text);
}

void text_append(struct buf *out, const char *label, size_t indent, const char *text)
{
	size_t start = strlen(label);
	/* A label wider than the indent moves only the first line to the right. */
	size_t first = start + 2 > indent ? start + 3 : indent;

	buf_addf(out, "%-*s", (int)first, label);
	wrap_lists(out, indent, wrap_columns(), text);
	buf_addc(out, '\n');
}

void text_append_buf(struct buf *out, const char *label, size_t indent, struct buf *text)
{
	if (text->len)
		text_append(out, label, indent, buf_str(text));
	buf_fini(text);
}

void text_append_list(struct buf *out, const struct text_line *lines, size_t indent,
		      const struct text_block *b)
{
	for (; lines->put; lines++) {
		struct buf text = { 0 };

		if (!lines->label) {
			lines->put(out, b);
			continue;
		}
		lines->put(&text, b);
		text_append_buf(out, lines->label, indent, &text);
	}
}

/* clang-format off */
static const struct mlgen_field text_block_fields[] = {
	{ "readers_each", MLGEN_F_U64(struct text_block, readers_each) },
	{ "readers", MLGEN_F_U64(struct text_block, readers) },
	{ 0 },
};

#define AT(m, t) TEMPLATE_AT(struct text_block, m, t)
const struct template_scope text_scopes[] = {
	{ "", text_block_fields, .off = 0 },
	{ "", job_fields, AT(job, struct job) },
	{ "bs", template_bs_fields, AT(job, struct job) },
	{ "", metrics_result_fields, AT(result, struct job_result) },
	{ "checkpoints", metrics_checkpoints_fields, AT(checkpoints, struct checkpoints_result) },
	{ "cache", metrics_cache_fields, .off = offsetof(struct text_block, cache), .is_pointer = true },
	{ "storage", metrics_storage_fields, AT(storage, struct storage_result) },
	{ 0 },
};
#undef AT
/* clang-format on */

void text_template(struct buf *out, const struct template *t, const struct text_block *b)
{
	template_append(out, t, b);
}

/* Append a line with the latencies of reads or, if there are more of them, of writes. */
static void append_main_latency(struct buf *out, const struct text_block *b)
{
	const struct direction_result *read = &b->result->read;
	const struct direction_result *write = &b->result->write;
	bool is_read = read->total_ios >= write->total_ios;
	const struct hist *h = is_read ? read->lat_ns : write->lat_ns;
	char n[UNITS_TEXT_BYTES];
	struct buf text = { 0 };

	if (!h || h->count == 0)
		return;
	buf_addf(&text, "%s, mean %s ms", is_read ? "read" : "write",
		 units_human_ms(n, hist_mean(h)));
	for (int p = 50; p < 100; p += 49)
		if (hist_beyond(h, p) >= 10)
			buf_addf(&text, ", p%d %s", p,
				 units_human_ms(n, (double)hist_percentile(h, p)));
	buf_addf(&text, ", max %s", units_human_ms(n, (double)h->max_ns));
	text_append_buf(out, "  latency", TEXT_ANSWER_INDENT, &text);
}

void text_verdict(struct buf *out, const struct text_block *b)
{
	const struct verdict_result *v = b->verdict;
	const char *name = verdict_label(v->name);
	char label[64];

	if (!name && b->detail == DETAIL_BRIEF)
		append_main_latency(out, b);
	if (!name)
		return;
	snprintf(label, sizeof(label), "  %s", name);
	text_append(out, label, TEXT_ANSWER_INDENT, v->headline ? v->headline : "");
	if (v->because && b->detail > DETAIL_BRIEF)
		text_append(out, "  because", TEXT_ANSWER_INDENT, v->because);
	if (!strcmp(v->name, "storage") && b->detail > DETAIL_BRIEF)
		append_enough(out, b);
	if (b->detail == DETAIL_BRIEF)
		append_main_latency(out, b);
	if (v->try_next)
		text_append(out, "  try next", TEXT_ANSWER_INDENT, v->try_next);
}

static void append_fio_line(struct buf *out, const struct text_block *b,
			    const struct direction_result *d, const char *name)
{
	double seconds = page_of(b->result)->seconds(b->result);
	uint64_t ms = (uint64_t)fmax(fmin(seconds, 1e9) * 1e3, 1);
	char iops[UNITS_TEXT_BYTES], binary[UNITS_TEXT_BYTES], decimal[UNITS_TEXT_BYTES],
		bytes[UNITS_TEXT_BYTES];

	if (d->total_ios == 0 || !(seconds > 0))
		return;
	double rate = floor((double)d->io_bytes / seconds);
	buf_addf(out, "  %s: IOPS=%s, BW=%sB/s (%sB/s)(%sB/%" PRIu64 "msec)\n", name,
		 show_fio_number(iops, floor((double)d->total_ios / seconds), false),
		 show_fio_number(binary, rate, true), show_fio_number(decimal, rate, false),
		 show_fio_number(bytes, (double)d->io_bytes, true), ms);
}

void text_fio_lines(struct buf *out, const struct text_block *b)
{
	append_fio_line(out, b, &b->result->read, "read");
	append_fio_line(out, b, &b->result->write, "write");
}

/* Shares that do not fit continue on a second line. */
void text_shares(struct buf *out, const char *label, const struct show_shares *s)
{
	struct buf line;
	char entry[64];
	bool any = false;

	if (s->count == 0)
		return;
	buf_init(&line);
	buf_addf(&line, "%-*s", TEXT_EVIDENCE_INDENT, label);
	for (unsigned i = 0; i < s->count; i++) {
		unsigned t = s->of[i].tenths;

		if (t == 0)
			continue;
		int len =
			snprintf(entry, sizeof(entry), "%s %u.%u%%", s->of[i].name, t / 10, t % 10);
		if (line.len + 2 + (size_t)len > SUM_COLUMN - 2) {
			buf_addf(out, "%s\n", buf_str(&line));
			buf_reset(&line);
			buf_addf(&line, "%*s", TEXT_EVIDENCE_INDENT, "");
			any = false;
		}
		buf_addf(&line, "%s%s", any ? "  " : "", entry);
		any = true;
	}
	int pad = line.len + 2 < SUM_COLUMN ? SUM_COLUMN - (int)line.len : 2;
	buf_addf(out, "%s%*s= 100%%\n", buf_str(&line), pad, "");
	buf_fini(&line);
}

unsigned text_lines(const struct buf *b)
{
	unsigned n = 0;

	for (const char *s = buf_str(b); *s; s++)
		n += *s == '\n';
	return n;
}

void text_print(FILE *to, const struct buf *b)
{
	struct buf shown = { 0 };

	printable_add_lines(&shown, buf_str(b), b->len);
	fputs(buf_str(&shown), to);
	buf_fini(&shown);
}

/* Print what the disks did for all jobs of the run together. */
static void text_disks(FILE *to, const struct run_result *run)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < run->disk_count; i++) {
		const struct disk_util *d = &run->disks[i];
		char n[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
		struct buf text = { 0 };

		buf_addf(&text, "%s: %s busy, ", d->name, show_percent(n, d->util));
		if (!isnan(d->queue_depth))
			buf_addf(&text, "%s in its queue (mean), ", units_sig4(n, d->queue_depth));
		buf_addf(&text, "%s reads (%s), ", units_human_count(n, d->read_ios),
			 units_human_bytes(bytes, (double)d->read_sectors * 512));
		buf_addf(&text, "%s writes (%s)", units_human_count(n, d->write_ios),
			 units_human_bytes(bytes, (double)d->write_sectors * 512));
		if (i == 0)
			buf_add(&text, ", by all processes during the whole run");
		text_append(&out, i ? "" : "disk", TEXT_SETTING_INDENT, buf_str(&text));
		buf_fini(&text);
	}
	if (out.len)
		fputc('\n', to);
	text_print(to, &out);
	buf_fini(&out);
}

void text_report(FILE *to, const struct run_result *r, enum detail detail)
{
	bool has_measured = false;
	size_t n;

	for (size_t i = 0; i < r->job_count; i += n) {
		const struct job_result *j = &r->jobs[i];

		/* A job that only prepares ends before anything is measured. */
		has_measured |= job_result_ran(j);
		/* The records of a job's workers are consecutive. */
		n = 1;
		while (j->work && page_of(j)->has_records && i + n < r->job_count &&
		       r->jobs[i + n].work == j->work && r->jobs[i + n].job == j->job)
			n++;
		if (i > 0 && detail > DETAIL_FIRST)
			fputc('\n', to);
		if (j->work)
			page_of(j)->text(to, r, j, n, detail);
		else
			fprintf(to, "%s: did not run\n", j->job->name);
	}
	if (detail <= DETAIL_BRIEF)
		return;
	if (has_measured)
		text_disks(to, r);

	struct buf out = { 0 }, text = { 0 };
	char size[UNITS_TEXT_BYTES], count[UNITS_TEXT_BYTES];

	if (!r->trace.file)
		return;
	buf_addf(&text, "%s: %s records, %s", r->trace.file,
		 units_human_count(count, r->trace.records),
		 units_human_bytes(size, (double)r->trace.bytes));
	if (r->trace.lost)
		buf_addf(&text, "; INCOMPLETE, %s more were lost",
			 units_human_count(count, r->trace.lost));
	else if (!r->trace.complete)
		buf_add(&text, "; INCOMPLETE");
	buf_addf(&text, "; its writer used %s of CPU time",
		 units_human_time(count, r->trace.cpu_ns));
	buf_addc(&out, '\n');
	text_append_buf(&out, "trace", TEXT_SETTING_INDENT, &text);
	text_print(to, &out);
	buf_fini(&out);
}
