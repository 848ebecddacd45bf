/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the commands of mltrace, and tracing_main(). */
#include "tracing/tracing_internal.h"

#include <errno.h>
#include <limits.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/results/results.h"
#include "ask/search/search.h"
#include "base/buf.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/document/document.h"
#include "report/text/text.h"
#include "run/run.h"
#include "trace/trace.h"
#include "tracing/capture/capture.h"
#include "tracing/describe/describe.h"
#include "tracing/distil/distil.h"
#include "tracing/import/import.h"
#include "tracing/score/score.h"

/* ---- describe ---- */

/* The percentiles of a job that does not choose any. */
static struct f64_list default_percentiles(void)
{
	const struct mlgen_field *f = field_find(job_fields, "percentile_list");
	struct job *j = mem_zalloc(sizeof(*j));
	struct f64_list list = { 0 };
	struct mlgen_err err = { 0 };

	if (field_parse(f, j, f->def, 1024, &err) == 0)
		list = j->percentile_list;
	mem_free(j);
	return list;
}

int tracing_describe(struct tracing *t)
{
	const struct tracing_options *o = &t->options;
	char wanted[UNITS_TEXT_BYTES], used[UNITS_TEXT_BYTES];
	struct description d;
	struct mlgen_err err = { 0 };

	if (describe_trace(&d, t->files, t->file_count, o->log_interval_ns, &err) < 0) {
		log_error("%s", err.text);
		description_fini(&d);
		return EXIT_USAGE;
	}
	const struct described_trace *trace = &d.figures.trace;
	if (!trace->records)
		log_warn("the trace has no records");
	if (!trace->is_complete)
		log_warn("the trace is incomplete: %" PRIu64 " events lost, %" PRIu64 " of %" PRIu64
			 " files without an end, %" PRIu64
			 " damaged chunks; figures cover only the records that exist",
			 trace->lost.events, trace->truncated, trace->files, trace->damaged_chunks);
	struct f64_list percentiles = default_percentiles();
	if (o->output_format == OUTPUT_JSON)
		json_struct(t->to, described_fields, &d.figures, &percentiles);
	else if (o->quiet)
		describe_brief(t->to, &d, true);
	else
		describe_text(t->to, &d, &percentiles);
	if (t->json)
		json_struct(t->json, described_fields, &d.figures, &percentiles);
	if (t->log && d.log.length_ns > o->log_interval_ns)
		log_warn("log_interval: %s would give more than %" PRIu64
			 " rows for this trace; the rows are %s apart",
			 units_format_time(wanted, o->log_interval_ns), INTERVALS_MAX,
			 units_format_time(used, d.log.length_ns));
	if (t->log)
		describe_log(t->log, &d);
	description_fini(&d);
	return EXIT_RAN;
}

/* ---- distil ---- */

/* Length of a path up to and including its last slash. */
static size_t folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

int tracing_distil(struct tracing *t)
{
	const char *output = t->options.output, *named = output ? output : t->files[0];
	const char *name = named + folder_bytes(named), *dot = strrchr(name, '.');
	struct buf folder = { 0 }, stem = { 0 };
	struct mlgen_err err = { 0 };

	buf_addn(&folder, named, output ? folder_bytes(named) : 0);
	buf_addn(&stem, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
	const struct distil_ask ask = {
		.paths = t->files,
		.path_count = t->file_count,
		.side_folder = buf_str(&folder),
		.side_name = buf_str(&stem),
	};
	int rc = distil_trace(t->to, &ask, &err);
	if (rc < 0)
		log_error("%s", err.text);
	buf_fini(&folder);
	buf_fini(&stem);
	return rc < 0 ? EXIT_USAGE : EXIT_RAN;
}

/* ---- export ---- */

int tracing_export(struct tracing *t)
{
	struct mlgen_err err = { 0 };
	struct trace_reader *r = NULL;
	struct trace_ordered *o = NULL;
	struct trace_iolog_omitted left = { 0 };
	int rc = trace_reader_open(&r, t->files, t->file_count, &err);
	int status = EXIT_USAGE;

	if (rc == 0)
		rc = trace_ordered_read(&o, r, &err);
	if (rc == 0) {
		const struct trace_read *read = trace_reader_totals(r);

		if (read->lost)
			log_warn("%" PRIu64 " event%s were lost when the trace was recorded",
				 read->lost, plural(read->lost));
		if (read->damaged_chunks)
			log_warn("%" PRIu64 " chunk%s of the trace are damaged, %" PRIu64
				 " bytes; their records are left out",
				 read->damaged_chunks, plural(read->damaged_chunks),
				 read->damaged_bytes);
		if (read->truncated)
			log_warn("%u file%s of the trace ended early; later records are missing",
				 read->truncated, plural(read->truncated));
		status = read->damaged_chunks || read->truncated ? EXIT_FAILED : EXIT_RAN;
		rc = t->options.format == TRACING_EXPORT_CSV
			     ? trace_csv_write(o, t->to, &err)
			     : trace_iolog_write(o, t->to, &left, &err);
		if (t->options.format != TRACING_EXPORT_CSV)
			trace_iolog_omitted_log(&left, "");
		trace_iolog_omitted_fini(&left);
		if (rc < 0)
			status = EXIT_FAILED;
	}
	if (rc < 0)
		log_error("%s", err.text);
	trace_ordered_free(o);
	trace_reader_close(r);
	return status;
}

/* ---- record and import ---- */

int tracing_record(struct tracing *t)
{
	const struct tracing_options *o = &t->options;
	const struct capture_args args = {
		.output = o->output,
		.command = t->argv,
		.pid = (pid_t)o->pid,
		.cgroup = o->cgroup,
		.user = o->user,
		.duration_ns = o->duration_ns,
		.buffer_bytes = o->buffer_bytes,
		.backend = o->backend,
		.eta = o->eta,
		.quiet = o->quiet,
		.force = o->force,
		.host = &t->host,
	};

	return capture_run(&args);
}

int tracing_import(struct tracing *t)
{
	const struct tracing_options *o = &t->options;
	const struct import_args args = {
		.format = o->format,
		.files = t->files,
		.file_count = t->file_count,
		.output = o->output,
		.markers = o->markers,
		.is_lenient = o->lenient,
		.force = o->force,
		.summary = o->quiet ? NULL : t->to,
	};

	return import_run(&args);
}

/* ---- score: a candidate that is a job ---- */

/* The trace of the job is an unnamed file in TMPDIR (base/files.h), which disappears with its
 * descriptor, however the program ends. */
struct candidate {
	int trace_fd;
	char path[32]; /* /proc/self/fd/N of the trace */
	char binary_dir[PATH_MAX];
	struct jobset_env env;
	struct jobset set;
	struct probe probe; /* the run that writes the trace */
};

static int candidate_load(struct candidate *c, const struct tracing *t, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(NULL);
	struct diag diag;

	ask_env(&c->env, c->binary_dir, t->argv0);
	diag_init(&diag);
	int rc = jobset_load(&c->set, t->job_argc, t->job_argv, &c->env, &diag);
	diag_print(&diag, t->faults);
	diag_fini(&diag);
	if (rc < 0)
		return rc;
	if (c->set.question || c->set.settings.dry_run || c->set.settings.parse_only ||
	    c->set.settings.showjob || c->set.settings.help || c->set.settings.version)
		return mlgen_fail(err, -EINVAL,
				  "%s: is run only to trace it; leave out options with another "
				  "purpose, or use them with mlgen: mlgen %s --dry-run",
				  t->job_argv[1], t->job_argv[1]);
	c->trace_fd = unnamed_open(folder);
	if (c->trace_fd < 0)
		return mlgen_fail(err, c->trace_fd,
				  "%s: the trace of the job needs a temporary file there: %s; set "
				  "TMPDIR=DIR for another directory",
				  folder, strerror(-c->trace_fd));
	snprintf(c->path, sizeof(c->path), "/proc/self/fd/%d", c->trace_fd);
	return 0;
}

/* Run the job. Returns the exit status of the run. If that is not EXIT_RAN, there is no useful
 * trace, and the reason has been reported. */
static int candidate_run(struct candidate *c, const struct tracing *t)
{
	const char *job = t->job_argv[1];
	const struct probe_args args = { .trace = "the trace to be scored",
					 .trace_fd = c->trace_fd };
	const struct ask ask = { .set = &c->set,
				 .env = &c->env,
				 .host = &t->host,
				 .argc = t->job_argc,
				 .argv = t->job_argv };
	struct mlgen_err err = { 0 };

	log_plain("mltrace: %s: running the job to score its trace", job);
	probe_run(&c->probe, &ask, &args, &err);
	if (c->probe.interrupted) {
		log_error("%s: interrupted; no score", job);
		return EXIT_INTERRUPTED;
	}
	if (err.code) {
		log_error("%s", err.text);
		return c->probe.run && run_has_started(c->probe.run) ? EXIT_FAILED : EXIT_USAGE;
	}
	if (verdict_log_failed(c->probe.result))
		return EXIT_FAILED;
	/* A signal may now end the program at once: nothing is left to clean up. */
	signals_set_mode(SIGNALS_UNSEEN);
	return EXIT_RAN;
}

static void candidate_fini(struct candidate *c)
{
	/* Threads that hang in the kernel still use the memory of the run. */
	if (c->probe.abandoned)
		return;
	probe_fini(&c->probe);
	jobset_fini(&c->set);
	if (c->trace_fd >= 0)
		close(c->trace_fd);
}

/* ---- score ---- */

/* Limits of a score. The figures of a trace are small, but the noise floor compares each pair of
 * traces. */
enum { TRACES_MOST = 33, REQUIREMENTS_MOST = 32 };

/* The number of a metric, from 1; 0 = the key names no metric of a score. */
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

/* The number of requirements, or -EINVAL with err. */
static int read_requirements(const char *require, struct requirement *q, struct mlgen_err *err)
{
	int n = require ? jobset_requirements(require, q, REQUIREMENTS_MOST, err) : 0;

	for (int i = 0; i < n; i++)
		if (!metric_of(q[i].metric))
			return mlgen_fail(err, -EINVAL,
					  "require=%s: %s is not a figure of a score; the figures "
					  "are score.m1 to score.m%d",
					  require, q[i].metric, SCORE_METRICS);
	return n;
}

/* Report missed requirements. An unknown figure misses no requirement, just as it does not fail the
 * score. */
static int report_missed(const struct scored *s, const struct requirement *q, int count)
{
	int missed = 0;

	for (int i = 0; i < count; i++) {
		double value = s->worst[metric_of(q[i].metric) - 1];
		char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];

		if (isnan(value) || require_holds(&q[i], value))
			continue;
		missed++;
		log_error("%s: %s is %s, required %s%s", s->candidate, q[i].metric,
			  units_sig4(got, value), q[i].op, units_format_f64(want, q[i].value));
	}
	return missed;
}

/* Check that the other files are traces, before the job of the candidate runs for a long time. */
static int check_candidate(const struct tracing *t, struct mlgen_err *err)
{
	int rc = 0;

	if (t->file_count > TRACES_MOST)
		return mlgen_fail(err, -EINVAL, "score: more than %d traces", TRACES_MOST);
	if (t->job_argc && strcmp(t->job_argv[1], "-") == 0)
		return mlgen_fail(
			err, -EINVAL,
			"score: a job on standard input cannot be read twice; name a file");
	for (size_t i = 0; rc == 0 && t->job_argc && i + 1 < t->file_count; i++) {
		struct trace_reader *r;

		rc = trace_reader_open(&r, &t->files[i], 1, err);
		if (rc == 0)
			trace_reader_close(r);
	}
	return rc;
}

/* Score the files. The candidate's trace is at the path `candidate`. */
static int score_files(struct tracing *t, const char *candidate, const struct requirement *q,
		       int required)
{
	const char *paths[TRACES_MOST];
	char *text = NULL;
	size_t bytes = 0;
	FILE *all;
	struct score d;
	struct mlgen_err err = { 0 };
	int status = EXIT_USAGE;

	memcpy(paths, t->files, t->file_count * sizeof(*paths));
	paths[t->file_count - 1] = candidate;
	if (score_traces(&d, paths, t->files, t->file_count, &err) == 0) {
		const struct scored_trace *traces = d.document.score.traces.items;

		for (size_t i = 0; i < d.document.score.traces.count; i++)
			if (!traces[i].is_complete)
				log_warn("%s: the trace is incomplete; the score covers only the "
					 "records that exist",
					 traces[i].file);
		if (t->options.output_format == OUTPUT_JSON) {
			json_struct(t->to, scored_fields, &d.document, NULL);
		} else if ((all = open_memstream(&text, &bytes))) {
			score_text(all, &d.document.score);
			fclose(all);
			fwrite(text, 1, t->options.quiet ? strcspn(text, "\n") + 1 : bytes, t->to);
			free(text);
		}
		if (t->json)
			json_struct(t->json, scored_fields, &d.document, NULL);
		status = report_missed(&d.document.score, q, required) > 0 ||
					 d.document.score.verdict == SCORE_FAIL
				 ? EXIT_MISSED
				 : EXIT_RAN;
	} else {
		log_error("%s", err.text);
	}
	score_fini(&d);
	return status;
}

int tracing_score(struct tracing *t)
{
	struct requirement q[REQUIREMENTS_MOST];
	struct candidate c = { .trace_fd = -1 };
	struct mlgen_err err = { 0 };
	int required = read_requirements(t->options.require, q, &err), rc = required;
	int status = EXIT_USAGE;

	if (rc >= 0)
		rc = check_candidate(t, &err);
	if (rc == 0 && t->job_argc)
		rc = candidate_load(&c, t, &err);
	if (rc < 0 && err.code)
		log_error("%s", err.text);
	if (rc == 0)
		status = t->job_argc ? candidate_run(&c, t) : EXIT_RAN;
	if (status == EXIT_RAN)
		status = score_files(t, t->job_argc ? c.path : t->files[t->file_count - 1], q,
				     required);
	candidate_fini(&c);
	return status;
}

/* ---- the program ---- */

int tracing_main(int argc, char **argv, FILE *out, FILE *faults)
{
	struct tracing t = { .out = out, .faults = faults };
	struct mlgen_err err = { 0 };
	int status;

	log_set_name("mltrace");
	if (argc < 2) {
		tracing_help(faults, NULL);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		tracing_help(out, NULL);
		return fflush(out) == 0 ? EXIT_RAN : EXIT_FAILED;
	}
	if (tracing_parse(&t, argc, argv, &err) < 0) {
		log_error("%s", err.text);
		status = EXIT_USAGE;
	} else if (t.options.help) {
		tracing_help(out, t.command);
		status = fflush(out) == 0 ? EXIT_RAN : EXIT_FAILED;
	} else if (tracing_open_outputs(&t, &err) < 0) {
		log_error("%s", err.text);
		status = tracing_close_outputs(&t, EXIT_USAGE);
	} else {
		log_set_quiet(t.options.quiet && t.command != tracing_commands);
		host_read(&t.host);
		status = tracing_close_outputs(&t, t.command->run(&t));
	}
	tracing_free_options(&t);
	return status;
}
