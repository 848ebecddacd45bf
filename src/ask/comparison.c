/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - see comparison.h. */
#include "ask/comparison.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

static const struct {
	unsigned kinds;
	const char *label, *key;
	enum comparison_noise noise_of;
	bool is_lower_better, decides;
} all_figures[] = {
	{ RECORD_TRAIN | RECORD_IO, "errors", "errors", SPREAD_NONE, true, true },
	{ RECORD_TRAIN, "AU", "au_percent", SPREAD_AU, false, true },
	{ RECORD_TRAIN, "samples/s", "samples_per_sec", SPREAD_EPOCHS, false, true },
	{ RECORD_TRAIN, NULL, "sample_bytes_per_sec", SPREAD_EPOCHS, false, true },
	{ RECORD_TRAIN, "stall p50", "stall_ns.p50", SPREAD_EPOCHS, true, false },
	{ RECORD_TRAIN, "stall p99", "stall_ns.p99", SPREAD_EPOCHS, true, false },
	{ RECORD_TRAIN, "read p50", "ops.read.lat_ns.p50", SPREAD_EPOCHS, true, false },
	{ RECORD_TRAIN, "read p99", "ops.read.lat_ns.p99", SPREAD_EPOCHS, true, false },
	{ RECORD_TRAIN, "sample p50", "sample_ns.p50", SPREAD_EPOCHS, true, false },
	{ RECORD_TRAIN, "sample p99", "sample_ns.p99", SPREAD_EPOCHS, true, false },
	{ RECORD_IO, "read IOPS", "read.iops", SPREAD_READ, false, true },
	{ RECORD_IO, "read", "read.bw_bytes", SPREAD_READ, false, true },
	{ RECORD_IO, "write IOPS", "write.iops", SPREAD_WRITE, false, true },
	{ RECORD_IO, "write", "write.bw_bytes", SPREAD_WRITE, false, true },
	{ RECORD_IO, "read p50", "read.lat_ns.p50", SPREAD_READ, true, false },
	{ RECORD_IO, "read p99", "read.lat_ns.p99", SPREAD_READ, true, true },
	{ RECORD_IO, "read p99.9", "read.lat_ns.p99.9", SPREAD_READ, true, false },
	{ RECORD_IO, "write p50", "write.lat_ns.p50", SPREAD_WRITE, true, false },
	{ RECORD_IO, "write p99", "write.lat_ns.p99", SPREAD_WRITE, true, true },
	{ RECORD_IO, "write p99.9", "write.lat_ns.p99.9", SPREAD_WRITE, true, false },
	{ RECORD_TRAIN | RECORD_CHECKPOINT, "save, s", "saves.seconds_mean", SPREAD_SAVES, true,
	  true },
	{ RECORD_TRAIN | RECORD_CHECKPOINT, "save", "saves.bytes_per_sec", SPREAD_SAVES, false,
	  true },
	{ RECORD_TRAIN | RECORD_CHECKPOINT, "slowest rank", "saves.slowest_rank_bytes_per_sec",
	  SPREAD_SAVES, false, false },
	{ RECORD_TRAIN, "stall for saves, s", "saves.stall_seconds", SPREAD_SAVES, true, false },
	{ RECORD_CHECKPOINT, "write p99", "saves.write_ns.p99", SPREAD_SAVES, true, false },
	{ RECORD_CHECKPOINT, "fsync p99", "saves.fsync_ns.p99", SPREAD_SAVES, true, false },
	{ RECORD_CHECKPOINT, "restore, s", "restores.seconds_mean", SPREAD_RESTORES, true, true },
	{ RECORD_CHECKPOINT, "restore", "restores.bytes_per_sec", SPREAD_RESTORES, false, true },
	{ RECORD_CHECKPOINT, "slowest rank", "restores.slowest_rank_bytes_per_sec", SPREAD_RESTORES,
	  false, false },
	{ RECORD_CHECKPOINT, "read p99", "restores.read_ns.p99", SPREAD_RESTORES, true, false },
};

static bool comparison_is_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

const char *comparison_next_option(const struct comparison *c, struct record_options *at)
{
	const char *option;

	while ((option = record_next_option(at, c->of, c->count))) {
		const char *first = record_option(c->of[0], option);

		for (size_t i = 1; i < c->count; i++)
			if (!comparison_is_equal(record_option(c->of[i], option), first))
				return option;
	}
	return NULL;
}

const char *comparison_mark_word(enum comparison_mark m)
{
	static const char *const words[] = { NULL, "within noise", "better", "worse" };

	return words[m];
}

static bool is_shown(const struct comparison_row *row, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (row->values[i].kind != VALUE_NONE && !row->values[i].is_unsure &&
		    row->values[i].real > 0)
			return true;
	return false;
}

static bool is_known(const struct figure_value *v)
{
	return figure_told(v) != VALUE_NONE;
}

static enum comparison_mark mark(const struct comparison_row *row, size_t i)
{
	double d = row->difference[i];

	if (isnan(d))
		return MARK_NONE;
	if (fabs(d) <= row->limit[i])
		return MARK_SAME;
	return (d > 0) == row->is_lower_better ? MARK_WORSE : MARK_BETTER;
}

/* More of them are worse where they are more than allowed, fewer are better where they were. */
static double errors_limit(const struct comparison_row *row, size_t i, const struct comparison *c)
{
	size_t larger = row->difference[i] > 0 ? i : 0;

	return record_has_too_many_errors(c->of[larger]) ? 0 : fabs(row->difference[i]);
}

/* The noise of both: whichever varies more says what can be told apart. */
static void weigh(struct comparison_row *row, size_t i, const struct comparison *c)
{
	const struct figure_value *a = &row->values[0], *b = &row->values[i];

	row->difference[i] = (double)NAN;
	if (is_known(a) && is_known(b) && row->is_points)
		row->difference[i] = b->real - a->real;
	else if (is_known(a) && is_known(b) && a->real > 0)
		row->difference[i] = (b->real - a->real) / a->real * 100;
	if (row->noise_of == SPREAD_NONE) {
		row->noise[i] = 0;
		row->limit[i] = errors_limit(row, i, c);
		row->marks[i] = mark(row, i);
		return;
	}
	double first = comparison_noise(row, c->of[0]);
	double own = comparison_noise(row, c->of[i]);
	bool both = !isnan(first) && !isnan(own);
	row->noise[i] = both ? fmax(first, own) : (double)NAN;
	row->limit[i] = both ? row->noise[i] : fmax(fmax(first, own), COMPARISON_NOISE);
	if (!isnan(c->tolerance))
		row->limit[i] = c->tolerance;
	row->marks[i] = mark(row, i);
}

static void fill_row(struct comparison_row *row, const struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++)
		figure_value(&row->figure, c->of[i], &row->values[i]);
	for (size_t i = 1; i < c->count; i++)
		weigh(row, i, c);
}

static void row_fini(struct comparison_row *row)
{
	for (size_t i = 0; i < COMPARISON_FILES; i++)
		figure_value_fini(&row->values[i]);
}

void comparison_rows(struct comparison_rows *rows, const struct comparison *c)
{
	unsigned kind = record_kind(c->of[0]);

	memset(rows, 0, sizeof(*rows));
	for (size_t k = 0; k < ARRAY_LEN(all_figures); k++) {
		if (!(all_figures[k].kinds & kind) || rows->count == COMPARISON_ROWS)
			continue;
		struct comparison_row *row = &rows->of[rows->count++];
		*row = (struct comparison_row){
			.label = all_figures[k].label,
			.noise_of = all_figures[k].noise_of,
			.is_lower_better = all_figures[k].is_lower_better,
			.is_points = all_figures[k].noise_of == SPREAD_AU ||
				     all_figures[k].noise_of == SPREAD_NONE,
			.decides = all_figures[k].decides,
		};
		if (figure_init(&row->figure, all_figures[k].key, NULL) == 0)
			fill_row(row, c);
		if (!is_shown(row, c->count)) {
			row_fini(row);
			rows->count--;
		}
	}
}

void comparison_rows_fini(struct comparison_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		row_fini(&rows->of[i]);
}
