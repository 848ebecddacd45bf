/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - see comparison.h. */
#include "ask/comparison.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	unsigned kinds;
	const char *label, *key;
	enum comparison_noise noise_of;
	bool is_lower_better, decides;
} all_figures[] = {
	{ COMPARE_TRAIN | COMPARE_IO, "errors", "errors", SPREAD_NONE, true,
	  true },
	{ COMPARE_TRAIN, "AU", "au_percent", SPREAD_AU, false, true },
	{ COMPARE_TRAIN, "samples/s", "samples_per_sec", SPREAD_EPOCHS, false,
	  true },
	{ COMPARE_TRAIN, NULL, "sample_bytes_per_sec", SPREAD_EPOCHS, false,
	  true },
	{ COMPARE_TRAIN, "stall p50", "stall_ns.p50", SPREAD_EPOCHS, true,
	  false },
	{ COMPARE_TRAIN, "stall p99", "stall_ns.p99", SPREAD_EPOCHS, true,
	  false },
	{ COMPARE_TRAIN, "read p50", "ops.read.lat_ns.p50", SPREAD_EPOCHS, true,
	  false },
	{ COMPARE_TRAIN, "read p99", "ops.read.lat_ns.p99", SPREAD_EPOCHS, true,
	  false },
	{ COMPARE_TRAIN, "extent p50", "sample_ns.p50", SPREAD_EPOCHS, true,
	  false },
	{ COMPARE_TRAIN, "extent p99", "sample_ns.p99", SPREAD_EPOCHS, true,
	  false },
	{ COMPARE_IO, "read IOPS", "read.iops", SPREAD_READ, false, true },
	{ COMPARE_IO, "read", "read.bw_bytes", SPREAD_READ, false, true },
	{ COMPARE_IO, "write IOPS", "write.iops", SPREAD_WRITE, false, true },
	{ COMPARE_IO, "write", "write.bw_bytes", SPREAD_WRITE, false, true },
	{ COMPARE_IO, "read p50", "read.lat_ns.p50", SPREAD_READ, true, false },
	{ COMPARE_IO, "read p99", "read.lat_ns.p99", SPREAD_READ, true, true },
	{ COMPARE_IO, "read p99.9", "read.lat_ns.p99.9", SPREAD_READ, true,
	  false },
	{ COMPARE_IO, "write p50", "write.lat_ns.p50", SPREAD_WRITE, true,
	  false },
	{ COMPARE_IO, "write p99", "write.lat_ns.p99", SPREAD_WRITE, true,
	  true },
	{ COMPARE_IO, "write p99.9", "write.lat_ns.p99.9", SPREAD_WRITE, true,
	  false },
	{ COMPARE_TRAIN | COMPARE_CHECKPOINT, "save, s", "saves.seconds_mean",
	  SPREAD_SAVES, true, true },
	{ COMPARE_TRAIN | COMPARE_CHECKPOINT, "save", "saves.bytes_per_sec",
	  SPREAD_SAVES, false, true },
	{ COMPARE_TRAIN | COMPARE_CHECKPOINT, "slowest rank",
	  "saves.slowest_rank_bytes_per_sec", SPREAD_SAVES, false, false },
	{ COMPARE_TRAIN, "stall for saves, s", "saves.stall_seconds",
	  SPREAD_SAVES, true, false },
	{ COMPARE_CHECKPOINT, "write p99", "saves.write_ns.p99", SPREAD_SAVES,
	  true, false },
	{ COMPARE_CHECKPOINT, "fsync p99", "saves.fsync_ns.p99", SPREAD_SAVES,
	  true, false },
	{ COMPARE_CHECKPOINT, "restore, s", "restores.seconds_mean",
	  SPREAD_RESTORES, true, true },
	{ COMPARE_CHECKPOINT, "restore", "restores.bytes_per_sec",
	  SPREAD_RESTORES, false, true },
	{ COMPARE_CHECKPOINT, "slowest rank",
	  "restores.slowest_rank_bytes_per_sec", SPREAD_RESTORES, false,
	  false },
	{ COMPARE_CHECKPOINT, "read p99", "restores.read_ns.p99",
	  SPREAD_RESTORES, true, false },
};

enum comparison_kind comparison_kind(json_t *job)
{
	json_t *ml = json_object_get(job, "ml");
	if (json_object_get(ml, "accelerators"))
		return COMPARE_TRAIN;
	if (json_is_object(ml))
		return COMPARE_CHECKPOINT;
	return results_figures(job) ? COMPARE_IO : COMPARE_NOTHING;
}

json_t *comparison_options(const struct comparison *c)
{
	json_t *jobs[COMPARISON_FILES], *all, *value, *out = json_object();
	const char *option;
	for (size_t i = 0; i < c->count; i++)
		jobs[i] = results_job(&c->docs[i], c->job[i]);
	all = results_options_of(jobs, c->count);
	json_object_foreach(all, option, value)
	{
		json_t *values = json_array();
		bool differs = false;
		for (size_t i = 0; i < c->count; i++) {
			const char *text = results_option(jobs[i], option);
			value = text ? json_string(text) : json_null();
			differs |= !json_equal(
				value, i ? json_array_get(values, 0) : value);
			json_array_append_new(values, value);
		}
		if (differs)
			json_object_set(out, option, values);
		json_decref(values);
	}
	json_decref(all);
	return out;
}

const char *comparison_mark_word(enum comparison_mark m)
{
	static const char *const words[] = { NULL, "within noise", "better",
					     "worse" };
	return words[m];
}

static bool is_shown(const struct comparison_row *row, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (row->values[i].kind != VALUE_NONE &&
		    !row->values[i].is_unsure && row->values[i].real > 0)
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

/* More of them are worse where they are more than allowed, fewer are better
 * where they were. */
static double errors_limit(const struct comparison_row *row, size_t i,
			   const struct comparison *c)
{
	size_t larger = row->difference[i] > 0 ? i : 0;
	json_t *job = results_job(&c->docs[larger], c->job[larger]);
	return results_has_too_many_errors(job) ? 0 : fabs(row->difference[i]);
}

/* The noise of both: whichever varies more says what can be told apart. */
static int weigh(struct comparison_row *row, size_t i,
		 const struct comparison *c, struct mlgen_err *err)
{
	const struct figure_value *a = &row->values[0], *b = &row->values[i];
	double first, own;
	row->difference[i] = (double)NAN;
	if (is_known(a) && is_known(b) && row->is_points)
		row->difference[i] = b->real - a->real;
	else if (is_known(a) && is_known(b) && a->real > 0)
		row->difference[i] = (b->real - a->real) / a->real * 100;
	if (row->noise_of == SPREAD_NONE) {
		row->noise[i] = 0;
		row->limit[i] = errors_limit(row, i, c);
		row->marks[i] = mark(row, i);
		return 0;
	}
	if (comparison_noise(row, &c->docs[0], c->job[0], &first, err) < 0 ||
	    comparison_noise(row, &c->docs[i], c->job[i], &own, err) < 0)
		return -EINVAL;
	bool both = !isnan(first) && !isnan(own);
	row->noise[i] = both ? fmax(first, own) : (double)NAN;
	row->limit[i] =
		both ? row->noise[i] : fmax(fmax(first, own), COMPARISON_NOISE);
	if (!isnan(c->tolerance))
		row->limit[i] = c->tolerance;
	row->marks[i] = mark(row, i);
	return 0;
}

static int fill_row(struct comparison_row *row, const struct comparison *c,
		    struct mlgen_err *err)
{
	for (size_t i = 0; i < c->count; i++)
		if (figure_value(&row->figure, &c->docs[i], c->job[i],
				 &row->values[i], err) < 0)
			return -EINVAL;
	for (size_t i = 1; i < c->count; i++)
		if (weigh(row, i, c, err) < 0)
			return -EINVAL;
	return 0;
}

static void row_fini(struct comparison_row *row)
{
	for (size_t i = 0; i < COMPARISON_FILES; i++)
		figure_value_fini(&row->values[i]);
}

int comparison_rows(struct comparison_rows *rows, const struct comparison *c,
		    struct mlgen_err *err)
{
	json_t *job = results_job(&c->docs[0], c->job[0]);
	unsigned kind = comparison_kind(job);
	memset(rows, 0, sizeof(*rows));
	for (size_t k = 0; k < ARRAY_LEN(all_figures); k++) {
		if (!(all_figures[k].kinds & kind) ||
		    rows->count == COMPARISON_ROWS)
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
		if (figure_init(&row->figure, all_figures[k].key, err) < 0 ||
		    fill_row(row, c, err) < 0)
			return -EINVAL;
		if (!is_shown(row, c->count)) {
			row_fini(row);
			rows->count--;
		}
	}
	return 0;
}

void comparison_rows_fini(struct comparison_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		row_fini(&rows->of[i]);
}
