/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - --compare: figures of two or more results, and the differences that matter. */
#include "ask/results/results_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "stat/hist.h"

#define COMPARISON_POINTS_LEAST 1.0

/* Least noise that is assumed, in percent or points of AU: two runs differ by more than the epochs
 * of one run. */
#define COMPARISON_NOISE_LEAST 2.0

/* Noise that is assumed for a result that does not show its own, in percent. */
#define COMPARISON_NOISE 5.0

/* ---- noise of figures within one result ---- */

/* The range of two values is about half the range of several values: on average 1.13 standard
 * deviations for two values and 2.06 for four. */
#define RANGE_FACTOR_OF_TWO 2
/* The variation between seconds is meaningless with fewer seconds than this. */
#define SECONDS_LEAST 3

/* Samples of an epoch, including failed reads. */
static uint64_t epoch_samples(const struct epoch_result *e)
{
	return e->samples + e->failed_samples;
}

/* The range over all whole epochs, in points or percent. If there are three or more, the first
 * epoch is left out, because it fills caches. */
static double epochs_spread(const struct record *r, bool is_points)
{
	const struct epoch_result *epochs = r->ml ? r->ml->ml.epochs.items : NULL;
	size_t n = r->ml ? r->ml->ml.epochs.count : 0, from;
	double least = (double)INFINITY, most = -least;

	if (n >= 2 && epoch_samples(&epochs[n - 1]) < epoch_samples(&epochs[0]))
		n--;
	from = n >= 3;
	if (n < 2)
		return (double)NAN;
	for (size_t i = from; i < n; i++) {
		double v = is_points ? epochs[i].au_percent : epochs[i].sample_bytes_per_sec;

		if (isnan(v))
			return (double)NAN;
		least = fmin(least, v);
		most = fmax(most, v);
	}
	double times = n - from == 2 ? RANGE_FACTOR_OF_TWO : 1;
	if (is_points)
		return (most - least) * times;
	return least > 0 ? (most - least) / least * 100 * times : (double)NAN;
}

/* The standard deviation of the bandwidth per second, in percent of the mean. */
static double seconds_spread(const struct interval_stat *bw)
{
	if (bw->samples < SECONDS_LEAST || !(bw->mean > 0))
		return (double)NAN;
	return bw->dev / bw->mean * 100;
}

static double checkpoints_spread(const struct checkpoints_result *c)
{
	double least = c->seconds_min;

	if (c->completed < 2 || !(least > 0))
		return (double)NAN;
	double times = c->completed == 2 ? RANGE_FACTOR_OF_TWO : 1;
	return (c->seconds_max - least) / least * 100 * times;
}

static double run_spread(enum comparison_noise kind, const struct record *r)
{
	switch (kind) {
	case SPREAD_AU:
		return epochs_spread(r, true);
	case SPREAD_EPOCHS:
		return epochs_spread(r, false);
	case SPREAD_READ:
		return seconds_spread(&r->job->read.bw_kib);
	case SPREAD_WRITE:
		return seconds_spread(&r->job->write.bw_kib);
	case SPREAD_SAVES:
		return r->ml ? checkpoints_spread(&r->ml->ml.saves) : (double)NAN;
	case SPREAD_RESTORES:
		return r->ml ? checkpoints_spread(&r->ml->ml.restores) : (double)NAN;
	case SPREAD_NONE:
		break;
	}
	return (double)NAN;
}

static double percentile(const struct hist *h, double percent)
{
	/* Round to the digits of a key, so that rounding errors exclude no rank. */
	return (double)hist_percentile(h, rint(percent * 1e9) / 1e9);
}

/* The 95 % confidence interval of a percentile by its rank: two standard deviations of a binomial
 * distribution to each side. */
static double percentile_spread(const struct comparison_row *row, const struct record *r)
{
	const struct hist *h = figure_latency(&row->figure, r);
	const char *part = strstr(row->figure.path, ".p");
	double p;

	if (!h || h->count == 0 || units_f64(part + 2, &p, NULL) < 0)
		return (double)NAN;
	double rank_percent = 200 * sqrt(p / 100 * (1 - p / 100) / (double)h->count);
	double low = percentile(h, fmax(p - rank_percent, 0));
	double at = percentile(h, p);
	double high = percentile(h, fmin(p + rank_percent, 100));
	return at > 0 ? fmax(at - low, high - at) / at * 100 : (double)NAN;
}

/* The noise of a figure within one result, in percent or points of AU; NaN = unknown. */
static double comparison_noise(const struct comparison_row *row, const struct record *r)
{
	double noise = run_spread(row->noise_of, r), spread = (double)NAN;

	if (figure_is_ns(&row->figure))
		spread = percentile_spread(row, r);
	if (isnan(noise))
		return noise;
	return fmax(fmax(noise, spread),
		    row->is_points ? COMPARISON_POINTS_LEAST : COMPARISON_NOISE_LEAST);
}

/* ---- figures ---- */

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

const char *comparison_next_option(const struct comparison *c, struct record_options *at)
{
	const char *option;

	while ((option = record_next_option(at, c->of, c->count))) {
		const char *first = record_option(c->of[0], option);

		for (size_t i = 1; i < c->count; i++) {
			const char *other = record_option(c->of[i], option);

			if (first && other ? strcmp(first, other) != 0 : first != other)
				return option;
		}
	}
	return NULL;
}

const char *comparison_mark_word(enum comparison_mark m)
{
	static const char *const words[] = { NULL, "within noise", "better", "worse" };

	return words[m];
}

static bool is_known(const struct figure_value *v)
{
	return figure_shown_kind(v) != VALUE_NONE;
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

/* The larger noise of the two results decides which differences are marked. */
static void compare_value(struct comparison_row *row, size_t i, const struct comparison *c)
{
	const struct figure_value *a = &row->values[0], *b = &row->values[i];

	row->difference[i] = (double)NAN;
	if (is_known(a) && is_known(b) && row->is_points)
		row->difference[i] = b->real - a->real;
	else if (is_known(a) && is_known(b) && a->real > 0)
		row->difference[i] = (b->real - a->real) / a->real * 100;
	if (row->noise_of == SPREAD_NONE) {
		row->noise[i] = 0;
		/* More errors are worse if they exceed max_errors; fewer errors are better if there
		 * were too many before. */
		size_t larger = row->difference[i] > 0 ? i : 0;
		row->limit[i] =
			record_has_too_many_errors(c->of[larger]) ? 0 : fabs(row->difference[i]);
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
		if (figure_init(&row->figure, all_figures[k].key, NULL) == 0) {
			for (size_t i = 0; i < c->count; i++)
				figure_value(&row->figure, c->of[i], &row->values[i]);
			for (size_t i = 1; i < c->count; i++)
				compare_value(row, i, c);
		}
		bool has_value = false;
		for (size_t i = 0; i < c->count; i++)
			has_value |= row->values[i].kind != VALUE_NONE &&
				     !row->values[i].is_unsure && row->values[i].real > 0;
		if (!has_value) {
			row_fini(row);
			rows->count--;
		}
	}
}

/* ---- question ---- */

/* A result with this many times as many reads in flight is a different experiment. */
#define MORE_IN_FLIGHT 1.5
#define EQUAL_PERCENT 1.0
/* Reads faster than this are assumed to come from this host's memory. */
#define SLOW_READ_NS 10e3

static const char *kind_word(enum record_kind kind)
{
	switch (kind) {
	case RECORD_TRAIN:
		return "a training";
	case RECORD_IO:
		return "a plain job";
	case RECORD_CHECKPOINT:
		return "a job of checkpoints";
	case RECORD_NOTHING:
		break;
	}
	return "no measurement";
}

static const char *job_name(const struct results_file *doc, size_t job)
{
	return doc->records[job].job->doc.jobname;
}

/* Index of the record among the records of its job: a plain job has a record for each worker. */
static size_t record_index(const struct results_file *doc, size_t job)
{
	const char *name = job_name(doc, job);
	size_t n = 0;

	for (size_t i = 0; i < job; i++)
		n += strcmp(job_name(doc, i), name) == 0;
	return n;
}

static const struct record *find_record(const struct results_file *doc, const char *name,
					size_t record)
{
	for (size_t i = 0; i < doc->count; i++)
		if (strcmp(job_name(doc, i), name) == 0 && record_index(doc, i) == record)
			return &doc->records[i];
	return NULL;
}

/* Find the record in `doc` with the name of job `j` of the first document, or its only record if
 * both documents have just one. */
static int find_job(const struct results_file *first, size_t j, const struct results_file *doc,
		    const struct record **out, struct mlgen_err *err)
{
	const char *name = job_name(first, j);

	*out = find_record(doc, name, record_index(first, j));
	if (!*out && first->count == 1 && doc->count == 1)
		*out = &doc->records[0];
	if (*out)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: has no record %zu of job '%s', but %s has; jobs are "
			  "compared by name",
			  doc->path, record_index(first, j) + 1, name, first->path);
}

static int check_kind(const struct results_file *doc, const struct record *r, struct mlgen_err *err)
{
	if (r->plan)
		return mlgen_fail(err, -EINVAL, "%s: is from a dry run: nothing was measured",
				  doc->path);
	if (record_kind(r) == RECORD_NOTHING)
		return mlgen_fail(err, -EINVAL,
				  "%s: job '%s' measured nothing: it only prepared, or did not run",
				  doc->path, r->job->doc.jobname);
	return 0;
}

/* Jobs with the same name may differ in any option. Jobs with different names must do the same kind
 * of work. */
static int check_alike(const struct comparison *c, size_t i, struct mlgen_err *err)
{
	static const char *const decisive[] = { "phase", "format", "rw" };
	const struct results_file *a = &c->docs[0], *b = &c->docs[i];
	const struct record *one = c->of[0], *other = c->of[i];
	const char *name = one->job->doc.jobname;
	const char *other_name = other->job->doc.jobname;
	bool same_name = strcmp(name, other_name) == 0;
	int rc = check_kind(b, other, err);

	if (rc < 0)
		return rc;
	if (record_kind(one) != record_kind(other))
		return mlgen_fail(
			err, -EINVAL,
			"%s: '%s' is %s, '%s' of %s is %s: they have no figures in common", b->path,
			other_name, kind_word(record_kind(other)), name, a->path,
			kind_word(record_kind(one)));
	for (size_t k = 0; !same_name && k < 3; k++) {
		const char *x = record_option(one, decisive[k]);
		const char *y = record_option(other, decisive[k]);

		if (strcmp(x ? x : "", y ? y : "") != 0)
			return mlgen_fail(
				err, -EINVAL,
				"%s: job '%s' has %s=%s, '%s' of %s has %s: different jobs "
				"can be compared only if they have the same name",
				b->path, other_name, decisive[k], y ? y : "", name, a->path,
				x ? x : "");
	}
	return 0;
}

/* ---- conclusion ---- */

/* Without read threads an accelerator reads its own samples. */
static double readers_of(const struct comparison *c, size_t i)
{
	double n = figure_number("read_threads", c->of[i]);
	const char *loader = record_option(c->of[i], "loader");
	const char *in_order = record_option(c->of[i], "deterministic");

	/* Like job_interleaves(). */
	if (loader && strcmp(loader, "tfdata") == 0 && in_order && strcmp(in_order, "1") == 0)
		n *= JOB_INTERLEAVE_THREADS;
	return n > 0 || isnan(n) ? n : 1;
}

/* Number of requests that the job has in flight. */
static double in_flight(const struct comparison *c, size_t i)
{
	bool is_io = record_kind(c->of[i]) == RECORD_IO;
	double workers = is_io ? figure_number("numjobs", c->of[i])
			       : figure_number("accelerators", c->of[i]) * readers_of(c, i);

	return workers * figure_number("iodepth_used", c->of[i]);
}

static enum comparison_mark mark_of(const struct comparison_rows *rows, size_t last,
				    const char *key)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->of[i].figure.path, key) == 0)
			return rows->of[i].marks[last];
	return MARK_NONE;
}

/* If only the number of reads in flight differs, the comparison shows whether bandwidth or latency
 * is the limit. */
static void explain(FILE *to, const struct comparison *c, const struct comparison_rows *rows)
{
	size_t last = c->count - 1;
	bool is_io = record_kind(c->of[0]) == RECORD_IO;
	const char *rate = is_io ? "read.bw_bytes" : "sample_bytes_per_sec";
	const char *latency = is_io ? "read.lat_ns.p50" : "ops.read.lat_ns.p50";
	double times = in_flight(c, last) / in_flight(c, 0);
	enum comparison_mark of_rate = mark_of(rows, last, rate);
	double first_demand = figure_number("demand_bytes_per_sec", c->of[0]);
	double demand = figure_number("demand_bytes_per_sec", c->of[last]);

	/* Rates leave out failed samples, so they are not comparable if samples failed. */
	for (size_t i = 0; i < c->count; i++)
		if (record_has_too_many_errors(c->of[i]))
			return;
	if (c->count > 2 || !(times >= MORE_IN_FLIGHT) ||
	    fabs(demand - first_demand) > first_demand * EQUAL_PERCENT / 100)
		return;
	if (of_rate == MARK_SAME && mark_of(rows, last, latency) == MARK_WORSE &&
	    figure_number(latency, c->of[last]) >= SLOW_READ_NS)
		fprintf(to,
			"=> %.3g x the reads in flight, same throughput, higher latency: bandwidth "
			"is the limit\n",
			times);
	else if (of_rate == MARK_BETTER)
		fprintf(to,
			"=> %.3g x the reads in flight, more throughput: too few were in flight "
			"before\n",
			times);
}

/* Compare one job and print the result. Returns the number of deciding figures that are worse than
 * in the first document, or -errno with err. */
static int compare_job(const struct ask *a, struct comparison *c, size_t job, struct mlgen_err *err)
{
	unsigned worse = 0;

	c->of[0] = &c->docs[0].records[job];
	c->is_one_of_many = c->docs[0].count > 1;
	int rc = check_kind(&c->docs[0], c->of[0], err);
	for (size_t i = 1; i < c->count && rc == 0; i++) {
		rc = find_job(&c->docs[0], job, &c->docs[i], &c->of[i], err);
		if (rc == 0)
			rc = check_alike(c, i, err);
	}
	if (rc < 0)
		return rc;
	struct comparison_rows *rows = mem_zalloc(sizeof(*rows));
	comparison_rows(rows, c);
	if (a->json)
		comparison_print_json(a->json, c, rows);
	if (a->set->settings.output_format == OUTPUT_JSON) {
		comparison_print_json(a->to, c, rows);
	} else {
		if (job > 0)
			fputc('\n', a->to);
		comparison_print(a->to, c, rows);
		explain(a->to, c, rows);
	}
	for (size_t k = 0; k < rows->count; k++) {
		for (size_t i = 1; rows->of[k].decides && i < c->count; i++)
			worse += rows->of[k].marks[i] == MARK_WORSE;
		row_fini(&rows->of[k]);
	}
	mem_free(rows);
	return (int)worse;
}

static int compare_all(const struct ask *a, const struct results_file *docs, struct mlgen_err *err)
{
	struct comparison c = { .docs = docs,
				.count = a->set->file_count,
				.tolerance = a->set->settings.tolerance };
	int worse = 0;

	for (size_t i = 1; i < c.count; i++)
		if (docs[i].count != docs[0].count)
			return mlgen_fail(err, -EINVAL,
					  "%s: number of job records: %zu, in %s: %zu; only runs "
					  "of the same jobs can be compared",
					  docs[i].path, docs[i].count, docs[0].path, docs[0].count);
	for (size_t j = 0; j < docs[0].count; j++) {
		int rc = compare_job(a, &c, j, err);

		if (rc < 0)
			return rc;
		worse += rc;
	}
	return worse;
}

int ask_compare(const struct ask *a)
{
	struct results_file docs[COMPARISON_FILES] = { 0 };
	struct mlgen_err err = { 0 };
	int format = a->set->settings.output_format, rc = 0;

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON)
		rc = mlgen_fail(&err, -EINVAL, "output-format: --compare prints text or json");
	else if (a->set->file_count > COMPARISON_FILES)
		rc = mlgen_fail(&err, -EINVAL,
				"compare: more than %d files; --table=KEYS prints a row for "
				"each of any number of files",
				COMPARISON_FILES);
	for (size_t i = 0; rc == 0 && i < a->set->file_count; i++)
		rc = results_open(&docs[i], a->set->files[i], &err);
	for (size_t i = 0; rc == 0 && i < a->set->file_count; i++)
		results_note_incomplete(&docs[i]);
	if (rc == 0)
		rc = compare_all(a, docs, &err);
	if (rc < 0)
		log_error("%s", err.text);
	for (size_t i = 0; i < COMPARISON_FILES; i++)
		results_close(&docs[i]);
	return rc < 0 ? EXIT_USAGE : rc > 0 ? EXIT_MISSED : EXIT_RAN;
}
