/* SPDX-License-Identifier: Apache-2.0 */
/* text_block.c - one job's part of the text report, and how its lines are laid out. */
#include "report/text_block.h"

#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/wrap.h"
#include "report/metrics_tables.h"
#include "report/verdict.h"
#include "report/verdict_errors.h"
#include "run/failed.h"

/* Lines that sum to 100 % have their "= 100%" below each other here. */
#define SUM_COLUMN 78

static void put_enough(struct buf *out, const struct text_block *b)
{
	double au;
	uint64_t n = verdict_enough(b->result, &au);
	const char *name = b->ml->accelerator;
	char who[SHOW_ACCELERATORS_BYTES], text[160];

	if (n == UINT64_MAX)
		return;
	if (n == 0)
		snprintf(text, sizeof(text),
			 "less than one %s at %g%% AU (estimate)",
			 name ? name : "accelerator", au);
	else
		snprintf(text, sizeof(text), "about %s at %g%% AU (estimate)",
			 show_accelerators(who, n, name), au);
	text_put(out, "  enough for", TEXT_ANSWER_INDENT, text);
}

void text_block_init(struct text_block *b, const struct run_result *run,
		     const struct job_result *result)
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
	verdict_put_failed(out, b->result);
	buf_add(out, "; ");
}

void text_allowed_errors(struct buf *out, const struct text_block *b)
{
	if (verdict_is_errors(b->result) || !b->result->failed.count)
		return;
	buf_add(out, "; ");
	verdict_put_failed(out, b->result);
}

void text_put(struct buf *out, const char *label, size_t indent,
	      const char *text)
{
	size_t start = strlen(label);
	/* A long label pushes its first line to the right, not the others. */
	size_t first = start + 2 > indent ? start + 3 : indent;

	buf_addf(out, "%-*s", (int)first, label);
	wrap_lists(out, indent, TEXT_COLUMNS, text);
	buf_addc(out, '\n');
}

void text_end(struct buf *out, const char *label, size_t indent,
	      struct buf *text)
{
	if (text->len)
		text_put(out, label, indent, buf_str(text));
	buf_fini(text);
}

static void put_line(struct buf *out, const struct text_line *line,
		     size_t indent, const struct text_block *b)
{
	struct buf text = { 0 };

	line->put(&text, b);
	text_end(out, line->label, indent, &text);
}

void text_put_list(struct buf *out, const struct text_line *lines,
		   size_t indent, const struct text_block *b)
{
	for (; lines->put; lines++)
		if (lines->label)
			put_line(out, lines, indent, b);
		else
			lines->put(out, b);
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

void text_template(struct buf *out, const struct template *t,
		   const struct text_block *b)
{
	template_put(out, t, b);
}

void text_verdict(struct buf *out, const struct text_block *b)
{
	const struct verdict_result *v = b->verdict;
	const char *name = verdict_label(v->name);
	char label[64];

	if (!name)
		return;
	snprintf(label, sizeof(label), "  %s", name);
	text_put(out, label, TEXT_ANSWER_INDENT,
		 v->headline ? v->headline : "");
	if (v->because)
		text_put(out, "  because", TEXT_ANSWER_INDENT, v->because);
	if (!strcmp(v->name, "storage"))
		put_enough(out, b);
	if (v->try_next)
		text_put(out, "  try next", TEXT_ANSWER_INDENT, v->try_next);
}

/* The column after the last entry of a line of shares; too many entries go on
 * in a second line. */
void text_shares(struct buf *out, const char *label,
		 const struct show_shares *s)
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
		int len = snprintf(entry, sizeof(entry), "%s %u.%u%%",
				   s->of[i].name, t / 10, t % 10);
		if (line.len + 2 + (size_t)len > TEXT_COLUMNS - 8) {
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
