/* SPDX-License-Identifier: Apache-2.0 */
/* program_outputs.c - check, open, write and close the program's outputs; see program.h. */
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/mlperf/mlperf.h"
#include "ask/results/results.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/state/state.h"
#include "import/dlio/dlio.h"
#include "report/document/document.h"
#include "report/live/live.h"
#include "report/output/output.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/run.h"

/* Places of the program; one place per job follows, for write_iolog. */
enum { TEXT, JSON, HTML, LOG, TRACE, METRICS, PLACES };

static size_t place_count(const struct jobset *set)
{
	return PLACES + set->count;
}

static int refuse_place(const struct place *p, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL, "%s=%s: %s; name another file", p->option, p->given, what);
}

/* ---- files that are read ---- */

static bool is_place(const void *place, const char *path)
{
	return place_is_path(place, path);
}

static int check_job(const struct place *p, const struct job *j, struct mlgen_err *err)
{
	const char *engine = j->ioengine;

	if (strncmp(engine, "external:", 9) == 0)
		engine += 9;
	if (jobset_is_path(j->ioengine) && place_is_path(p, engine))
		return refuse_place(p, "is the engine", err);
	if (j->tensor_sizes && place_is_path(p, j->tensor_sizes))
		return refuse_place(p, "is the file of tensor_sizes", err);
	if (j->recorded_calls && place_is_path(p, j->recorded_calls))
		return refuse_place(p, "is the file of recorded_calls", err);
	if (j->scan_cache && place_is_path(p, j->scan_cache))
		return refuse_place(p, "is the file of scan_cache", err);
	const struct page *page = job_work(j)->page;
	if (page->any_file && page->any_file(j, is_place, p))
		return refuse_place(p, "is a file that the job reads or writes", err);
	return 0;
}

static int check_inputs(const struct place *p, const struct jobset *set, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < set->path_count; i++)
		if (place_is_path(p, set->paths[i]))
			return refuse_place(p, "is a job file of this run", err);
	for (size_t i = 0; i < set->file_count; i++)
		if (place_is_path(p, set->files[i]))
			return refuse_place(p, "is a file that mlgen reads", err);
	if (place_is_fd(p, STDIN_FILENO))
		return refuse_place(p, "is standard input", err);
	for (size_t i = 0; rc == 0 && i < set->count; i++)
		rc = check_job(p, set->jobs[i], err);
	if (rc)
		return rc;

	/* Refuse files of datasets and checkpoints, whichever run they belong to. */
	const char *name = p->path ? strrchr(p->path, '/') + 1 : "";
	char manifest[PATH_MAX];
	int folder = p->path ? (int)(name - p->path) : 0, end = 0;

	if (strcmp(name, MANIFEST_NAME) == 0 || strcmp(name, CHECKPOINT_MANIFEST) == 0)
		return refuse_place(p, "is the name of a manifest", err);
	if (p->kind != PLACE_FILE || !p->path)
		return 0;
	/* DLIO names samples in this way (dataset_path), but no report has such a name. */
	if (sscanf(name, "img_%*u_of_%*u.%n", &end) == 0 && end > 0)
		return refuse_place(p, "is a file of a dataset", err);
	if (snprintf(manifest, sizeof(manifest), "%.*s%s", folder, p->path, CHECKPOINT_MANIFEST) <
		    (int)sizeof(manifest) &&
	    access(manifest, F_OK) == 0)
		return refuse_place(p, "is a file of a checkpoint", err);
	return 0;
}

/* ---- files that are written ---- */

/* Refuse files that the shell opened as standard output or error, such as 2>run.log. */
static int check_standard(const struct place *p, bool prints_text, struct mlgen_err *err)
{
	if (prints_text && place_is_fd(p, STDOUT_FILENO))
		return refuse_place(p, "is also standard output, where the report goes", err);
	if (place_is_fd(p, STDERR_FILENO))
		return refuse_place(p, "is also standard error", err);
	return 0;
}

/* Place i belongs to the program, or both places belong to jobs. */
static int refuse_twins(const struct place *places, const struct jobset *set, size_t i, size_t k,
			struct mlgen_err *err)
{
	const struct place *p = &places[i];

	if (k < PLACES)
		return mlgen_fail(err, -EINVAL,
				  "%s=%s: is also the file of --%s; rename one of them", p->option,
				  p->given, places[k].option);
	if (i < PLACES)
		return mlgen_fail(err, -EINVAL,
				  "%s=%s: is also the file of write_iolog of %s; rename one "
				  "of them",
				  p->option, p->given, set->jobs[k - PLACES]->name);
	return mlgen_fail(err, -EINVAL,
			  "write_iolog=%s: is the file of two jobs, %s and %s; each "
			  "job needs its own log, such as write_iolog=$jobname.iolog",
			  p->given, set->jobs[i - PLACES]->name, set->jobs[k - PLACES]->name);
}

/* A descriptor handed over by its opener is trusted, unless two outputs share it. */
static int check_all(const struct place *places, const struct jobset *set, struct mlgen_err *err)
{
	size_t count = place_count(set);
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			if (places[i].option && places[k].option &&
			    place_is_same(&places[i], &places[k]))
				return refuse_twins(places, set, i, k, err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct place *p = &places[i];

		if (!p->option || p->is_handed_over)
			continue;
		rc = check_inputs(p, set, err);
		if (rc == 0)
			rc = check_standard(p, !places[TEXT].option, err);
	}
	return rc;
}

static int open_place(struct place *p, const char *option, const char *path, struct mlgen_err *err)
{
	if (!path)
		return 0;
	if (strcmp(path, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s=-: name a file; standard output has the report (as JSON "
				  "with --output-format=json)",
				  option);
	return place_open(p, option, path, err);
}

static int check_outputs(struct place *places, const struct jobset *set, struct mlgen_err *err)
{
	static const struct {
		unsigned place;
		enum outfile_kind kind;
	} checked[] = {
		{ JSON, OUTFILE_JSON },
		{ HTML, OUTFILE_HTML },
		{ LOG, OUTFILE_LOG },
	};
	const struct settings *s = &set->settings;
	int rc = open_place(&places[TEXT], "output", s->output, err);

	if (rc == 0)
		rc = open_place(&places[JSON], "json", s->json, err);
	if (rc == 0)
		rc = open_place(&places[HTML], "html", s->html, err);
	if (rc == 0)
		rc = open_place(&places[LOG], "log", s->log, err);
	if (rc == 0)
		rc = open_place(&places[TRACE], "trace", s->trace, err);
	if (rc == 0)
		rc = open_place(&places[METRICS], "metrics-file", s->metrics_file, err);
	if (rc == 0)
		rc = prom_check(s, err);
	for (size_t i = 0; rc == 0 && i < set->count; i++)
		rc = open_place(&places[PLACES + i], "write_iolog", set->jobs[i]->write_iolog, err);
	if (rc == 0)
		rc = check_all(places, set, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(checked); i++)
		if (places[checked[i].place].option)
			rc = outfile_check(&places[checked[i].place], checked[i].kind, s->force,
					   err);
	if (rc == 0 && places[TRACE].option)
		rc = tracefile_check(&places[TRACE], s->force, err);
	for (size_t i = PLACES; rc == 0 && i < place_count(set); i++)
		if (places[i].option)
			rc = outfile_check(&places[i], OUTFILE_IOLOG, s->force, err);
	return rc;
}

/* The log, the trace, metrics and write_iolog are opened for a run, and otherwise only checked. */
static int open_all(struct program *p, bool is_run, struct place *places, struct mlgen_err *err)
{
	const struct jobset *set = &p->set;
	int rc = output_open(&p->text, places[TEXT].option ? &places[TEXT] : NULL, err);

	p->text.is_text = set->settings.output_format == OUTPUT_TEXT;
	if (rc == 0 && places[JSON].option)
		rc = output_open(&p->json, &places[JSON], err);
	if (rc == 0 && places[HTML].option)
		rc = output_open(&p->html, &places[HTML], err);
	if (rc == 0 && is_run && places[LOG].option)
		rc = csv_open(&p->log, &places[LOG], err);
	if (rc == 0 && is_run && places[TRACE].option)
		rc = tracefile_open(&p->trace, &places[TRACE], err);
	for (size_t i = 0; rc == 0 && p->logs && i < set->count; i++) {
		if (!places[PLACES + i].option)
			continue;
		rc = output_open(&p->logs[i], &places[PLACES + i], err);
		if (rc == 0)
			rc = output_stream(&p->logs[i], err);
	}
	/* Metrics are opened last, because requests are answered from then on. */
	if (rc == 0 && is_run)
		rc = prom_open(&p->prom, &set->settings, p->host.hostname,
			       places[METRICS].option ? &places[METRICS] : NULL, err);
	if (rc < 0) {
		output_abandon(&p->text);
		output_abandon(&p->json);
		output_abandon(&p->html);
	}
	return rc;
}

int program_usage(const struct mlgen_err *err)
{
	log_error("%s", err->text);
	return EXIT_USAGE;
}

void program_fini_outputs(struct program *p)
{
	struct mlgen_err ignored = { 0 };

	prom_close(&p->prom, &ignored);
	output_abandon(&p->text);
	output_abandon(&p->json);
	if (p->document)
		fclose(p->document);
	free(p->document_text);
	p->document = NULL;
	p->document_text = NULL;
	output_abandon(&p->html);
	csv_close(p->log);
	tracefile_close(&p->trace);
	struct output *logs = p->logs;
	for (size_t i = 0; logs && i < p->set.count; i++)
		output_abandon(&logs[i]);
	if (logs && p->logged_fd >= 0)
		close(p->logged_fd);
	/* leave() reads p->logs, and any thread may run it on a signal. */
	signals_hold();
	p->logs = NULL;
	signals_release();
	mem_free(logs);
}

FILE *program_document(struct program *p)
{
	if (p->html.to && !p->document)
		p->document = open_memstream(&p->document_text, &p->document_bytes);
	return p->html.to ? p->document : p->json.to;
}

int program_write_page(struct program *p, const struct question *q)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	if (!p->document)
		return EXIT_RAN;
	if (fclose(p->document) != 0)
		rc = mlgen_fail(&err, -ENOMEM, "html=%s: %s", p->set.settings.html,
				strerror(ENOMEM));
	p->document = NULL;
	if (rc == 0 && p->json.to)
		fwrite(p->document_text, 1, p->document_bytes, p->json.to);
	if (rc == 0)
		rc = page_files(&p->ask, q, p->document_text, p->document_bytes, p->html.to, &err);
	free(p->document_text);
	p->document_text = NULL;
	if (rc == 0 && output_close(&p->html, &err) == 0)
		return EXIT_RAN;
	log_error("%s", err.text);
	output_abandon(&p->html);
	return EXIT_FAILED;
}

int program_status(int status, int written)
{
	return status == EXIT_RAN || status == EXIT_MISSED
		       ? (written == EXIT_RAN ? status : written)
		       : status;
}

/*
 * No file is created or changed before all checks have passed. The following are refused:
 *
 * - paths that output.h refuses, and contents that it refuses, except for --output and
 *   --metrics-file;
 * - the same regular file for two options, or for an option and standard output or error;
 * - files that this program reads: job files and their includes, documents, the engine, lists of
 *   tensors, and the files of plain jobs and of datasets.
 */
int program_open_outputs(struct program *p, bool is_run, struct mlgen_err *err)
{
	size_t count = place_count(&p->set);
	struct place *places = mem_array(count, sizeof(*places));

	if (is_run && traced_is_logged(p->set.jobs, p->set.count)) {
		struct output *logs = mem_array(p->set.count, sizeof(*logs));

		signals_hold();
		p->logs = logs;
		signals_release();
		p->logged_fd = -1;
	}

	int rc = check_outputs(places, &p->set, err);
	if (rc == 0)
		rc = open_all(p, is_run, places, err);
	for (size_t i = 0; i < count; i++)
		place_close(&places[i]);
	mem_free(places);
	return rc;
}

int program_check_format(struct program *p, struct mlgen_err *err)
{
	return p->set.settings.output_format == OUTPUT_DLIO ? dlio_summary_check(&p->set, err) : 0;
}

int program_close_outputs(struct program *p)
{
	struct mlgen_err err = { 0 };

	if (p->is_mute) {
		output_abandon(&p->text);
		return EXIT_RAN;
	}
	int rc = p->json.to ? output_close(&p->json, &err) : 0;

	if (output_close(&p->text, &err) < 0)
		rc = -1;
	/* A closed pipe (head -1) needs no error message. */
	if (rc < 0 && err.code != -EPIPE)
		log_error("%s", err.text);
	return rc < 0 ? EXIT_FAILED : EXIT_RAN;
}

bool program_has_no_output(const struct program *p)
{
	return ftello(p->text.to) == 0 && (!p->json.to || ftello(p->json.to) == 0);
}

static void write_text(struct program *p, struct run_result *result,
		       const struct plan_report *plans)
{
	const struct settings *set = &p->set.settings;

	if (!plans && p->merge.of.count > 1)
		merge_print(p->text.to, &p->merge, detail_of(set));
	else if (!plans)
		text_report(p->text.to, result, detail_of(set));
	for (size_t i = 0; plans && i < p->set.count; i++)
		plan_text(p->text.to, &plans[i]);
	if (set->check != CHECK_NONE)
		mlperf_check(p->text.to, &p->ask, plans ? NULL : result);
}

static void write_json(struct program *p, FILE *to, struct run_result *result,
		       const struct plan_report *plans)
{
	if (!plans && p->merge.of.count > 1)
		merge_print_json(to, &p->merge, &p->set);
	else
		json_report(to, result, &p->set, plans);
}

int program_report(struct program *p, struct run_result *result, const struct plan_report *plans)
{
	int format = p->set.settings.output_format;
	int rc = 0;

	if (p->set.settings.check != CHECK_NONE && !plans)
		mlperf_fill(result, &p->ask);
	FILE *document = program_document(p);
	if (document)
		write_json(p, document, result, plans);
	int page = program_write_page(p, NULL);
	if (format == OUTPUT_TEXT)
		write_text(p, result, plans);
	else if (format == OUTPUT_DLIO)
		rc = dlio_summary(p->text.to, result, &p->set);
	else
		write_json(p, p->text.to, result, plans);
	int status = program_close_outputs(p);
	return rc < 0 ? EXIT_FAILED : program_status(status, page);
}
