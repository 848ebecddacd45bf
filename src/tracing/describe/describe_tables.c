/* SPDX-License-Identifier: Apache-2.0 */
/* describe_tables.c - the tables of a description's text: latencies, sizes, tasks, epochs. */
#include "tracing/describe/describe_tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "tracing/describe/opkind.h"
#include "report/text/text.h"

/* Lines of each, below the header. */
#define TASKS_SHOWN 6
#define EPOCHS_SHOWN 6
#define SIZES_SHOWN 5
#define CHECKPOINTS_SHOWN 4

static void put_number(struct buf *out, int width, double v)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, isnan(v) ? "-" : units_sig4(text, v));
}

static void put_count(struct buf *out, int width, uint64_t n)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, n == UINT64_MAX ? "-" : units_human_count(text, n));
}

static void put_bytes(struct buf *out, int width, uint64_t n)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, units_human_bytes(text, (double)n));
}

static void put_percent(struct buf *out, int width, double v)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, isnan(v) ? "-" : show_percent(text, v));
}

static void put_seconds(struct buf *out, int width, double v)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, "%*s", width, isnan(v) ? "-" : show_seconds(text, v));
}

static void put_rate(struct buf *out, int width, double v)
{
	put_number(out, width, v / BYTES_PER_MIB);
}

/* ---- latencies ---- */

static void put_ops(struct buf *out, const struct description *d,
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

/* Those of one operation that are most of its requests, in order of size. */
static void put_sizes_of(struct buf *out, const struct metric_list *l, const char *operation)
{
	const struct described_size *s = l->items;
	double least = 0;
	size_t n;

	/* Raise what a line has to have until few enough are left. */
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
		put_bytes(out, 10, s[i].at_most_bytes);
		put_count(out, 14, s[i].count);
		put_percent(out, 9, s[i].percent);
		put_bytes(out, 11, s[i].bytes);
		put_rate(out, 10, s[i].bytes_per_sec);
		buf_addc(out, '\n');
	}
}

static void put_sizes(struct buf *out, const struct description *d)
{
	static const char *const operations[] = { "read", "write", "block_read", "block_write" };
	const struct metric_list *l = &d->figures.trace.request_sizes;

	if (!l->count)
		return;
	buf_add(out, "requests of     up to         count    share      bytes   MiB/s*\n");
	for (size_t i = 0; i < ARRAY_LEN(operations); i++)
		put_sizes_of(out, l, operations[i]);
	buf_add(out, "* of one request while it is under way\n\n");
}

/* ---- who ---- */

static const char *word_of(const struct mlgen_choice *c, int value)
{
	while (c->name && c->value != value)
		c++;
	return c->name ? c->name : "";
}

static void put_task(struct buf *out, const struct described_task *t, bool is_thread)
{
	struct buf name = { 0 };

	if (is_thread && t->text)
		printable_add(&name, t->text);
	else
		buf_addf(&name, "%" PRIu64, is_thread ? t->tid : t->pid);
	if (!is_thread || !t->text)
		buf_addf(&name, " %s", word_of(described_roles, t->role));
	buf_addf(out, "%-20.20s", buf_str(&name));
	buf_fini(&name);
	put_count(out, 8, t->opens);
	put_count(out, 10, t->reads);
	put_bytes(out, 10, t->read_bytes);
	put_rate(out, 8, t->read_bytes_per_sec);
	put_bytes(out, 10, t->written_bytes);
	put_percent(out, 7, t->io_percent);
	put_percent(out, 7, t->on_cpu_percent);
	buf_addc(out, '\n');
}

static void put_tasks(struct buf *out, const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;
	bool is_thread = t->processes_count == 1;
	const struct metric_list *l = is_thread ? &t->threads : &t->processes;
	const struct described_task *tasks = l->items;

	if (l->count < 2)
		return;
	buf_addf(out, "%-20s   opens     reads      read   MiB/s   written in I/O on CPU\n",
		 is_thread ? "thread" : "process");
	for (size_t i = 0; i < l->count && i < TASKS_SHOWN; i++)
		put_task(out, &tasks[i], is_thread);
	if (l->count > TASKS_SHOWN)
		buf_addf(out, "  ... %zu more\n", l->count - TASKS_SHOWN);
	buf_addc(out, '\n');
}

/* ---- epochs and checkpoints ---- */

static void put_epoch(struct buf *out, const struct described_epoch *e)
{
	put_count(out, 5, e->number);
	put_seconds(out, 10, e->start_seconds);
	put_seconds(out, 10, e->seconds);
	put_count(out, 11, e->files);
	put_count(out, 13, e->samples);
	put_bytes(out, 11, e->read_bytes);
	put_rate(out, 9, e->bytes_per_sec);
	if (isnan(e->order_correlation))
		buf_addf(out, "%11s\n", "-");
	else
		buf_addf(out, "%11.3f\n", e->order_correlation);
}

static void put_epochs(struct buf *out, const struct description *d)
{
	const struct metric_list *l = &d->figures.trace.epochs;
	const struct described_epoch *e = l->items;

	if (!l->count)
		return;
	buf_add(out, "epoch   from, s   seconds      files      samples       read    MiB/s  order "
		     "rho\n");
	for (size_t i = 0; i < l->count; i++) {
		bool is_shown =
			l->count <= EPOCHS_SHOWN || i < EPOCHS_SHOWN - 2 || i + 1 == l->count;

		if (is_shown)
			put_epoch(out, &e[i]);
		else if (i == EPOCHS_SHOWN - 2)
			buf_add(out, "  ...\n");
	}
	buf_addc(out, '\n');
}

static void put_checkpoints(struct buf *out, const struct description *d)
{
	const struct metric_list *l = &d->figures.trace.checkpoints;
	const struct described_checkpoint *c = l->items;

	if (!l->count)
		return;
	buf_add(out, "checkpoint     from, s   seconds  ranks       bytes    MiB/s\n");
	for (size_t i = 0; i < l->count && i < CHECKPOINTS_SHOWN; i++) {
		buf_addf(out, "%-7.7s%3" PRIu64, c[i].name, c[i].number);
		put_seconds(out, 12, c[i].start_seconds);
		put_seconds(out, 10, c[i].seconds);
		put_count(out, 7, c[i].ranks);
		put_bytes(out, 12, c[i].bytes);
		put_rate(out, 9, c[i].bytes_per_sec);
		buf_addc(out, '\n');
	}
	if (l->count > CHECKPOINTS_SHOWN)
		buf_addf(out, "  ... %zu more\n", l->count - CHECKPOINTS_SHOWN);
	buf_addc(out, '\n');
}

void describe_tables(struct buf *out, const struct description *d,
		     const struct f64_list *percentiles)
{
	put_ops(out, d, percentiles);
	put_sizes(out, d);
	put_tasks(out, d);
	put_epochs(out, d);
	put_checkpoints(out, d);
}
