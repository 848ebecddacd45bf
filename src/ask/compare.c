/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - two or more results side by side, and which differences count. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/comparison.h"
#include "base/log.h"
#include "base/mem.h"

/* More reads in flight than this many times as before are another experiment. */
#define MORE_IN_FLIGHT 1.5
#define ALIKE_PERCENT 1.0
/* Reads that are faster come from this host itself. */
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
	return doc->records[job].job->jobname;
}

/* Which of its job's records it is: a plain job has one of each worker. */
static size_t record_of(const struct results_file *doc, size_t job)
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
		if (strcmp(job_name(doc, i), name) == 0 && record_of(doc, i) == record)
			return &doc->records[i];
	return NULL;
}

/* Job `j` of the first document in another one: that of its name; where each has one job only, that
 * one. */
static int find_job(const struct results_file *first, size_t j, const struct results_file *doc,
		    const struct record **out, struct mlgen_err *err)
{
	const char *name = job_name(first, j);

	*out = find_record(doc, name, record_of(first, j));
	if (!*out && first->count == 1 && doc->count == 1)
		*out = &doc->records[0];
	if (*out)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: has no record %zu of a job '%s', as %s has; jobs are compared with "
			  "those of their name",
			  doc->path, record_of(first, j) + 1, name, first->path);
}

static int check_kind(const struct results_file *doc, const struct record *r, struct mlgen_err *err)
{
	if (r->plan)
		return mlgen_fail(err, -EINVAL, "%s: is a dry run's: nothing was measured",
				  doc->path);
	if (record_kind(r) == RECORD_NOTHING)
		return mlgen_fail(err, -EINVAL,
				  "%s: job '%s' measured nothing: it only prepared, or did not run",
				  doc->path, r->job->jobname);
	return 0;
}

/* Of one name they may differ in any option; of two, not in what they do. */
static int check_alike(const struct comparison *c, size_t i, struct mlgen_err *err)
{
	static const char *const decisive[] = { "phase", "format", "rw" };
	const struct results_file *a = &c->docs[0], *b = &c->docs[i];
	const struct record *one = c->of[0], *other = c->of[i];
	const char *name = one->job->jobname;
	const char *other_name = other->job->jobname;
	bool same_name = strcmp(name, other_name) == 0;
	int rc = check_kind(b, other, err);

	if (rc < 0)
		return rc;
	if (record_kind(one) != record_kind(other))
		return mlgen_fail(err, -EINVAL,
				  "%s: '%s' is %s, '%s' of %s is %s: they have no figures together",
				  b->path, other_name, kind_word(record_kind(other)), name, a->path,
				  kind_word(record_kind(one)));
	for (size_t k = 0; !same_name && k < 3; k++) {
		const char *x = record_option(one, decisive[k]);
		const char *y = record_option(other, decisive[k]);

		if (strcmp(x ? x : "", y ? y : "") != 0)
			return mlgen_fail(err, -EINVAL,
					  "%s: job '%s' has %s=%s, '%s' of %s has %s: unlike jobs "
					  "are compared where they have one name",
					  b->path, other_name, decisive[k], y ? y : "", name,
					  a->path, x ? x : "");
	}
	return 0;
}

static int match(struct comparison *c, size_t job, struct mlgen_err *err)
{
	c->of[0] = &c->docs[0].records[job];
	c->is_one_of_many = c->docs[0].count > 1;
	int rc = check_kind(&c->docs[0], c->of[0], err);
	for (size_t i = 1; i < c->count && rc == 0; i++) {
		rc = find_job(&c->docs[0], job, &c->docs[i], &c->of[i], err);
		if (rc == 0)
			rc = check_alike(c, i, err);
	}
	return rc;
}

/* ---- what it comes to ---- */

static double number_of(const struct comparison *c, size_t i, const char *key)
{
	return figure_number(key, c->of[i]);
}

/* As job_interleaves() of a job. */
static bool interleaves(const struct comparison *c, size_t i)
{
	const char *loader = record_option(c->of[i], "loader");
	const char *in_order = record_option(c->of[i], "deterministic");

	return loader && strcmp(loader, "tfdata") == 0 && in_order && strcmp(in_order, "1") == 0;
}

/* Without read_threads an accelerator reads itself. */
static double readers_of(const struct comparison *c, size_t i)
{
	double n = number_of(c, i, "read_threads");

	if (interleaves(c, i))
		n *= JOB_INTERLEAVE_THREADS;
	return n > 0 || isnan(n) ? n : 1;
}

/* Requests that the job has under way. */
static double in_flight(const struct comparison *c, size_t i)
{
	bool is_io = record_kind(c->of[i]) == RECORD_IO;
	double workers = is_io ? number_of(c, i, "numjobs")
			       : number_of(c, i, "accelerators") * readers_of(c, i);

	return workers * number_of(c, i, "iodepth_used");
}

static enum comparison_mark mark_of(const struct comparison_rows *rows, size_t last,
				    const char *key)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->of[i].figure.path, key) == 0)
			return rows->of[i].marks[last];
	return MARK_NONE;
}

/* Do the accelerators of the last one ask for more than those of the first? */
static bool asks_alike(const struct comparison *c)
{
	const char *key = "demand_bytes_per_sec";
	double first = number_of(c, 0, key);
	double last = number_of(c, c->count - 1, key);

	return !(fabs(last - first) > first * ALIKE_PERCENT / 100);
}

/* A rate with holes in it explains nothing. */
static bool has_errors(const struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (record_has_too_many_errors(c->of[i]))
			return true;
	return false;
}

/* More in flight tells bandwidth from latency, where nothing else differs. */
static void explain(FILE *to, const struct comparison *c, const struct comparison_rows *rows)
{
	size_t last = c->count - 1;
	bool is_io = record_kind(c->of[0]) == RECORD_IO;
	const char *rate = is_io ? "read.bw_bytes" : "sample_bytes_per_sec";
	const char *latency = is_io ? "read.lat_ns.p50" : "ops.read.lat_ns.p50";
	double times = in_flight(c, last) / in_flight(c, 0);
	enum comparison_mark of_rate = mark_of(rows, last, rate);

	if (has_errors(c))
		return;
	if (c->count > 2 || !(times >= MORE_IN_FLIGHT) || !asks_alike(c))
		return;
	if (of_rate == MARK_SAME && mark_of(rows, last, latency) == MARK_WORSE &&
	    number_of(c, last, latency) >= SLOW_READ_NS)
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

/* Of all the others to the first: how many that decide are worse. */
static unsigned count_worse(const struct comparison *c, const struct comparison_rows *rows)
{
	unsigned worse = 0;

	for (size_t k = 0; k < rows->count; k++)
		for (size_t i = 1; rows->of[k].decides && i < c->count; i++)
			worse += rows->of[k].marks[i] == MARK_WORSE;
	return worse;
}

/* The number of figures that are worse, or -errno with err. */
static int compare_job(const struct ask *a, struct comparison *c, size_t job, struct mlgen_err *err)
{
	struct comparison_rows *rows;
	int rc = match(c, job, err);

	if (rc < 0)
		return rc;
	rows = mem_zalloc(sizeof(*rows));
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
	rc = (int)count_worse(c, rows);
	comparison_rows_fini(rows);
	mem_free(rows);
	return rc;
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

static int check_request(const struct ask *a, struct mlgen_err *err)
{
	int format = a->set->settings.output_format;

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON)
		return mlgen_fail(err, -EINVAL, "output-format: a comparison is text or json");
	if (a->set->file_count > COMPARISON_FILES)
		return mlgen_fail(err, -EINVAL,
				  "compare: more than %d files; --table=KEYS has a row for each of "
				  "any number",
				  COMPARISON_FILES);
	return 0;
}

int ask_compare(const struct ask *a)
{
	struct results_file docs[COMPARISON_FILES] = { 0 };
	struct mlgen_err err = { 0 };
	int rc = check_request(a, &err);

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
