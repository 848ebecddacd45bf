/* SPDX-License-Identifier: Apache-2.0 */
/* trace_questions.c - --describe, --distil and --score of traces. */
#include "ask/traces/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/results/results.h"
#include "base/buf.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "tracing/describe/describe.h"
#include "tracing/distil/distil.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/document/document.h"
#include "report/text/text.h"
#include "tracing/score/score.h"
#include "trace/trace.h"

/*
 * Its trace is a file without a name in TMPDIR (base/files.h), so that it is gone with the
 * descriptor, however the program ends.
 */
struct score_candidate {
	int fd;          /* of the trace */
	char path[32];   /* of that */
	struct probe of; /* has its jobs, and what they came to */
};

/* ---- what a trace shows of the programs that it is of ---- */

/* As of a job that says nothing of percentiles. */
static void usual_percentiles(struct f64_list *out)
{
	const struct mlgen_field *f = field_find(job_fields, "percentile_list");
	struct job *j = mem_zalloc(sizeof(*j));
	struct mlgen_err err = { 0 };

	if (field_parse(f, j, f->def, 1024, &err) == 0)
		*out = j->percentile_list;
	mem_free(j);
}

/* What is not whole is described as far as it goes. */
static void warn_incomplete(const struct description *d)
{
	const struct described_trace *t = &d->figures.trace;

	if (!t->records)
		log_warn("the trace has no records");
	if (!t->is_complete)
		log_warn("the trace is incomplete: %" PRIu64 " events lost, %" PRIu64 " of %" PRIu64
			 " files without an end, %" PRIu64
			 " damaged chunks; the figures are of what there is",
			 t->lost.events, t->truncated, t->files, t->damaged_chunks);
}

static void warn_longer(const struct description *d, uint64_t asked_ns)
{
	char asked[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];

	if (d->log.length_ns > asked_ns)
		log_warn("log_interval: %s would be more than %" PRIu64
			 " rows of this trace; they are %s apart",
			 units_put_time(asked, asked_ns), INTERVALS_MOST,
			 units_put_time(has, d->log.length_ns));
}

static void print_description(const struct ask *a, const struct description *d)
{
	const struct settings *set = &a->set->settings;
	struct f64_list percentiles = { 0 };

	usual_percentiles(&percentiles);
	if (set->output_format == OUTPUT_JSON)
		json_struct(a->to, described_fields, &d->figures, &percentiles);
	else
		describe_text(a->to, d, &percentiles);
	if (a->json)
		json_struct(a->json, described_fields, &d->figures, &percentiles);
	if (a->log) {
		warn_longer(d, set->log_interval_ns);
		describe_log(a->log, d);
	}
}

int ask_describe(const struct ask *a)
{
	const struct jobset *set = a->set;
	int format = set->settings.output_format;
	struct description d;
	struct mlgen_err err = { 0 };

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON) {
		log_error("output-format: a description is text or json; --log=FILE has a row of "
			  "CSV for each interval");
		return EXIT_USAGE;
	}
	int rc = describe_trace(&d, (const char *const *)set->files, set->file_count,
				set->settings.log_interval_ns, &err);
	if (rc == 0) {
		warn_incomplete(&d);
		print_description(a, &d);
	} else {
		log_error("%s", err.text);
	}
	description_fini(&d);
	return rc < 0 ? EXIT_USAGE : EXIT_RAN;
}

/* ---- the job that a trace becomes ---- */

/* Up to the last slash, with it. */
static size_t folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The name of a file without folders and without its ending. */
static void add_stem(struct buf *to, const char *path)
{
	const char *name = path + folder_bytes(path);
	const char *dot = strrchr(name, '.');

	buf_addn(to, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

int ask_distil(const struct ask *a)
{
	const struct settings *set = &a->set->settings;
	const char *output = set->output;
	struct buf folder = { 0 }, name = { 0 };
	struct mlgen_err err = { 0 };
	int rc;

	if (set->output_format != OUTPUT_TEXT) {
		log_error("output-format: a job is text");
		return EXIT_USAGE;
	}
	if (output)
		buf_addn(&folder, output, folder_bytes(output));
	add_stem(&name, output ? output : a->set->files[0]);
	const struct distil_ask ask = {
		.paths = (const char *const *)a->set->files,
		.path_count = a->set->file_count,
		.side_folder = buf_str(&folder),
		.side_name = buf_str(&name),
	};
	rc = distil_trace(a->to, &ask, &err);
	if (rc < 0)
		log_error("%s", err.text);
	buf_fini(&folder);
	buf_fini(&name);
	return rc < 0 ? EXIT_USAGE : EXIT_RAN;
}

/* ---- the trace of a job that is to be scored ---- */

static int open_trace(struct score_candidate *c, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(NULL);

	c->fd = unnamed_open(folder);
	if (c->fd < 0)
		return mlgen_fail(err, c->fd,
				  "%s: the trace of the job cannot be kept there: %s; another "
				  "folder with TMPDIR=",
				  folder, strerror(-c->fd));
	snprintf(c->path, sizeof(c->path), "/proc/self/fd/%d", c->fd);
	return 0;
}

/* As that of a run of its own (program_run.c). */
static int status_of(const struct score_candidate *c, const char *job, const struct mlgen_err *err)
{
	const struct probe *p = &c->of;

	if (p->interrupted) {
		log_error("%s: interrupted; nothing is scored", job);
		return EXIT_INTERRUPTED;
	}
	if (err->code) {
		log_error("%s", err->text);
		return p->run && run_has_started(p->run) ? EXIT_FAILED : EXIT_USAGE;
	}
	return verdict_log_failed(p->result) ? EXIT_FAILED : EXIT_RAN;
}

/* Run the jobs of the command line. EXIT_RAN; else there is no trace that says what the job does,
 * which was told, and the status is what the job's own run would have had. fini in any case. */
static int score_candidate_run(struct score_candidate *c, const struct ask *a)
{
	const char *job = a->set->files[a->set->file_count - 1];
	struct probe_args args = { .trace = "the trace to be scored" };
	struct mlgen_err err = { 0 };
	int status;

	*c = (struct score_candidate){ .fd = -1 };
	if (open_trace(c, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	args.trace_fd = c->fd;
	log_plain("mlgen: %s: running it, to score its trace", job);
	probe_run(&c->of, a, &args, &err);
	status = status_of(c, job, &err);
	/* What follows ends at once, and leaves nothing behind. */
	if (status == EXIT_RAN)
		signals_attend(SIGNALS_UNSEEN);
	return status;
}

static void score_candidate_fini(struct score_candidate *c)
{
	if (c->of.abandoned)
		return;
	probe_fini(&c->of);
	if (c->fd >= 0)
		close(c->fd);
}

/* ---- how alike a trace is to others ---- */

/* Each is held as figures, which are small; but a floor is of each two. */
#define TRACES_MOST 33

static void print_score(const struct ask *a, const struct score_document *d)
{
	if (a->set->settings.output_format == OUTPUT_JSON)
		json_struct(a->to, scored_fields, d, NULL);
	else
		score_text(a->to, &d->score);
	if (a->json)
		json_struct(a->json, scored_fields, d, NULL);
}

static void warn_partial(const struct scored *s)
{
	const struct scored_trace *t = s->traces.items;

	for (size_t i = 0; i < s->traces.count; i++)
		if (!t[i].is_complete)
			log_warn("%s: the trace is incomplete; the score is of what there is",
				 t[i].file);
}

/* ---- --require: score.m1 to score.m12 ---- */

#define REQUIREMENTS_MOST 32

/* From 1; 0 = it is none. */
static unsigned metric_of(const char *key)
{
	char text[16];

	for (unsigned m = 1; m <= SCORE_METRICS; m++) {
		snprintf(text, sizeof(text), "score.m%u", m);
		if (strcmp(text, key) == 0)
			return m;
	}
	return 0;
}

/* How many there are, or -EINVAL with err. */
static int read_requirements(const struct settings *set, struct requirement *q,
			     struct mlgen_err *err)
{
	int n = set->require ? jobset_requirements(set->require, q, REQUIREMENTS_MOST, err) : 0;

	for (int i = 0; i < n; i++)
		if (!metric_of(q[i].metric))
			return mlgen_fail(err, -EINVAL,
					  "require=%s: %s is no figure of a score; it has score.m1 "
					  "to score.m%d",
					  set->require, q[i].metric, SCORE_METRICS);
	return n;
}

/* What is unknown misses nothing, as in the score itself. */
static int count_missed(const struct scored *s, const struct requirement *q, int count)
{
	int missed = 0;

	for (int i = 0; i < count; i++) {
		double value = s->worst[metric_of(q[i].metric) - 1];
		char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];

		if (isnan(value) || require_holds(&q[i], value))
			continue;
		missed++;
		log_error("%s: %s is %s, required %s%s", s->candidate, q[i].metric,
			  units_sig4(got, value), q[i].op, units_put_f64(want, q[i].value));
	}
	return missed;
}

/* ---- the question ---- */

/* Before a job is run, which takes longer: are the others traces? */
static int check_traces(const struct jobset *set, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i + 1 < set->file_count; i++) {
		const char *const path[] = { set->files[i] };
		struct trace_reader *r;

		rc = trace_reader_open(&r, path, 1, err);
		if (rc == 0)
			trace_reader_close(r);
	}
	return rc;
}

static int check_question(const struct jobset *set, struct mlgen_err *err)
{
	int format = set->settings.output_format;

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON)
		return mlgen_fail(err, -EINVAL, "output-format: a score is text or json");
	if (set->file_count > TRACES_MOST)
		return mlgen_fail(err, -EINVAL, "score: more than %d traces", TRACES_MOST);
	if (!set->count)
		return 0;
	/* It was read, and would be read again for the run. */
	if (strcmp(set->files[set->file_count - 1], "-") == 0)
		return mlgen_fail(
			err, -EINVAL,
			"score: a job on standard input cannot be read twice; name a file");
	return check_traces(set, err);
}

/* The files are what they are called; the last may lie elsewhere. */
static int score_files(const struct ask *a, const char *candidate, const struct requirement *q,
		       int required)
{
	const struct jobset *set = a->set;
	const char *paths[TRACES_MOST];
	struct score_document d;
	struct mlgen_err err = { 0 };
	int status = EXIT_USAGE;

	for (size_t i = 0; i < set->file_count; i++)
		paths[i] = set->files[i];
	paths[set->file_count - 1] = candidate;
	if (score_traces(&d, paths, (const char *const *)set->files, set->file_count, &err) == 0) {
		warn_partial(&d.score);
		print_score(a, &d);
		status = count_missed(&d.score, q, required) > 0 || d.score.verdict == SCORE_FAIL
				 ? EXIT_MISSED
				 : EXIT_RAN;
	} else {
		log_error("%s", err.text);
	}
	score_fini(&d);
	return status;
}

static int score_job(const struct ask *a, const struct requirement *q, int required)
{
	struct score_candidate c;
	int status = score_candidate_run(&c, a);

	if (status == EXIT_RAN)
		status = score_files(a, c.path, q, required);
	score_candidate_fini(&c);
	return status;
}

int ask_score(const struct ask *a)
{
	const struct jobset *set = a->set;
	struct requirement q[REQUIREMENTS_MOST];
	struct mlgen_err err = { 0 };
	int required = read_requirements(&set->settings, q, &err);

	if (required < 0 || check_question(set, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	if (set->count)
		return score_job(a, q, required);
	return score_files(a, set->files[set->file_count - 1], q, required);
}
