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

static const char *kind_word(enum comparison_kind kind)
{
	switch (kind) {
	case COMPARE_TRAIN:
		return "a training";
	case COMPARE_IO:
		return "a plain job";
	case COMPARE_CHECKPOINT:
		return "a job of checkpoints";
	case COMPARE_NOTHING:
		break;
	}
	return "no measurement";
}

/* Which of its job's records it is: a plain job has one of each worker. */
static size_t record_of(const struct results_file *doc, size_t job)
{
	const char *name = results_job_name(results_job(doc, job));
	size_t n = 0;
	for (size_t i = 0; i < job; i++)
		n += strcmp(results_job_name(results_job(doc, i)), name) == 0;
	return n;
}

static bool find_record(const struct results_file *doc, const char *name,
			size_t record, size_t *job)
{
	for (size_t i = 0; i < json_array_size(doc->jobs); i++)
		if (strcmp(results_job_name(results_job(doc, i)), name) == 0 &&
		    record_of(doc, i) == record) {
			*job = i;
			return true;
		}
	return false;
}

/* Job `j` of the first document in another one: that of its name; where each
 * has one job only, that one. */
static int find_job(const struct results_file *first, size_t j,
		    const struct results_file *doc, size_t *job,
		    struct mlgen_err *err)
{
	const char *name = results_job_name(results_job(first, j));
	bool is_only = json_array_size(first->jobs) == 1 &&
		       json_array_size(doc->jobs) == 1;
	if (find_record(doc, name, record_of(first, j), job))
		return 0;
	*job = 0;
	if (is_only)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: has no record %zu of a job '%s', as %s has; "
			  "jobs are compared with those of their name",
			  doc->path, record_of(first, j) + 1, name,
			  first->path);
}

static int check_kind(const struct results_file *doc, json_t *job,
		      struct mlgen_err *err)
{
	if (results_is_plan(job))
		return mlgen_fail(err, -EINVAL,
				  "%s: is a dry run's: nothing was measured",
				  doc->path);
	if (comparison_kind(job) == COMPARE_NOTHING)
		return mlgen_fail(err, -EINVAL,
				  "%s: job '%s' measured nothing: it only "
				  "prepared, or did not run",
				  doc->path, results_job_name(job));
	return 0;
}

/* Of one name they may differ in any option; of two, not in what they do. */
static int check_alike(const struct comparison *c, size_t i,
		       struct mlgen_err *err)
{
	static const char *const decisive[] = { "phase", "format", "rw" };
	const struct results_file *a = &c->docs[0], *b = &c->docs[i];
	json_t *one = results_job(a, c->job[0]),
	       *other = results_job(b, c->job[i]);
	bool same_name =
		strcmp(results_job_name(one), results_job_name(other)) == 0;
	int rc = check_kind(b, other, err);
	if (rc < 0)
		return rc;
	if (comparison_kind(one) != comparison_kind(other))
		return mlgen_fail(err, -EINVAL,
				  "%s: '%s' is %s, '%s' of %s is %s: they "
				  "have no figures together",
				  b->path, results_job_name(other),
				  kind_word(comparison_kind(other)),
				  results_job_name(one), a->path,
				  kind_word(comparison_kind(one)));
	for (size_t k = 0; !same_name && k < 3; k++) {
		const char *x = results_option(one, decisive[k]);
		const char *y = results_option(other, decisive[k]);
		if (strcmp(x ? x : "", y ? y : "") != 0)
			return mlgen_fail(
				err, -EINVAL,
				"%s: job '%s' has %s=%s, '%s' of %s has %s: "
				"unlike jobs are compared where they have one "
				"name",
				b->path, results_job_name(other), decisive[k],
				y ? y : "", results_job_name(one), a->path,
				x ? x : "");
	}
	return 0;
}

static int match(struct comparison *c, size_t job, struct mlgen_err *err)
{
	c->job[0] = job;
	c->is_one_of_many = json_array_size(c->docs[0].jobs) > 1;
	int rc = check_kind(&c->docs[0], results_job(&c->docs[0], job), err);
	for (size_t i = 1; i < c->count && rc == 0; i++) {
		rc = find_job(&c->docs[0], job, &c->docs[i], &c->job[i], err);
		if (rc == 0)
			rc = check_alike(c, i, err);
	}
	return rc;
}

/* ---- what it comes to ---- */

static double number_of(const struct comparison *c, size_t i, const char *key)
{
	struct figure f;
	struct figure_value v;
	double n = (double)NAN;
	if (figure_init(&f, key, NULL) == 0 &&
	    figure_value(&f, &c->docs[i], c->job[i], &v, NULL) == 0) {
		n = v.kind == VALUE_NONE ? n : v.real;
		figure_value_fini(&v);
	}
	return n;
}

/* As job_interleaves() of a job. */
static bool interleaves(const struct comparison *c, size_t i)
{
	json_t *job = results_job(&c->docs[i], c->job[i]);
	const char *loader = results_option(job, "loader");
	const char *in_order = results_option(job, "deterministic");

	return loader && strcmp(loader, "tfdata") == 0 && in_order &&
	       strcmp(in_order, "1") == 0;
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
	bool is_io = comparison_kind(results_job(&c->docs[i], c->job[i])) ==
		     COMPARE_IO;
	double workers =
		is_io ? number_of(c, i, "numjobs")
		      : number_of(c, i, "accelerators") * readers_of(c, i);
	return workers * number_of(c, i, "iodepth_used");
}

static enum comparison_mark mark_of(const struct comparison_rows *rows,
				    size_t last, const char *key)
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
		if (results_has_too_many_errors(
			    results_job(&c->docs[i], c->job[i])))
			return true;
	return false;
}

/* More in flight tells bandwidth from latency, where nothing else differs. */
static void explain(FILE *to, const struct comparison *c,
		    const struct comparison_rows *rows)
{
	size_t last = c->count - 1;
	bool is_io = comparison_kind(results_job(&c->docs[0], c->job[0])) ==
		     COMPARE_IO;
	const char *rate = is_io ? "read.bw_bytes" : "sample_bytes_per_sec";
	const char *latency = is_io ? "read.lat_ns.p50" : "ops.read.lat_ns.p50";
	double times = in_flight(c, last) / in_flight(c, 0);
	enum comparison_mark of_rate = mark_of(rows, last, rate);
	if (has_errors(c))
		return;
	if (c->count > 2 || !(times >= MORE_IN_FLIGHT) || !asks_alike(c))
		return;
	if (of_rate == MARK_SAME &&
	    mark_of(rows, last, latency) == MARK_WORSE &&
	    number_of(c, last, latency) >= SLOW_READ_NS)
		fprintf(to,
			"=> %.3g x the reads in flight, same throughput, "
			"higher latency: bandwidth is the limit\n",
			times);
	else if (of_rate == MARK_BETTER)
		fprintf(to,
			"=> %.3g x the reads in flight, more throughput: too "
			"few were in flight before\n",
			times);
}

/* Of all the others to the first: how many that decide are worse. */
static unsigned count_worse(const struct comparison *c,
			    const struct comparison_rows *rows)
{
	unsigned worse = 0;
	for (size_t k = 0; k < rows->count; k++)
		for (size_t i = 1; rows->of[k].decides && i < c->count; i++)
			worse += rows->of[k].marks[i] == MARK_WORSE;
	return worse;
}

/* The number of figures that are worse, or -errno with err. */
static int compare_job(const struct ask *a, struct comparison *c, size_t job,
		       struct mlgen_err *err)
{
	struct comparison_rows *rows;
	int rc = match(c, job, err);
	if (rc < 0)
		return rc;
	rows = mem_zalloc(sizeof(*rows));
	rc = comparison_rows(rows, c, err);
	if (rc == 0 && a->set->settings.output_format == OUTPUT_JSON) {
		comparison_print_json(a->to, c, rows);
	} else if (rc == 0) {
		if (job > 0)
			fputc('\n', a->to);
		comparison_print(a->to, c, rows);
		explain(a->to, c, rows);
	}
	if (rc == 0)
		rc = (int)count_worse(c, rows);
	comparison_rows_fini(rows);
	mem_free(rows);
	return rc;
}

static int compare_all(const struct ask *a, const struct results_file *docs,
		       struct mlgen_err *err)
{
	struct comparison c = { .docs = docs,
				.count = a->set->file_count,
				.tolerance = a->set->settings.tolerance };
	int worse = 0;
	for (size_t i = 1; i < c.count; i++)
		if (json_array_size(docs[i].jobs) !=
		    json_array_size(docs[0].jobs))
			return mlgen_fail(
				err, -EINVAL,
				"%s: number of job records: %zu, in "
				"%s: %zu; only runs of the same jobs "
				"can be compared",
				docs[i].path, json_array_size(docs[i].jobs),
				docs[0].path, json_array_size(docs[0].jobs));
	for (size_t j = 0; j < json_array_size(docs[0].jobs); j++) {
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
		return mlgen_fail(err, -EINVAL,
				  "output-format: a comparison is text or "
				  "json");
	if (a->set->file_count > COMPARISON_FILES)
		return mlgen_fail(err, -EINVAL,
				  "compare: more than %d files; --table=KEYS "
				  "has a row for each of any number",
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
