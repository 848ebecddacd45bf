/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - --output, --json, --log and --trace are checked together, then opened. */
#include "report/outputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/checkpoints.h"
#include "data/manifest.h"
#include "report/page.h"
#include "report/place.h"

enum { TEXT, JSON, LOG, TRACE, PLACES };

static int outputs_refuse(const struct place *p, const char *what,
			  struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL, "%s=%s: %s; name another file",
			  p->option, p->given, what);
}

/* ---- files that are read ---- */

static int check_documents(const struct place *p, const struct jobset *set,
			   struct mlgen_err *err)
{
	for (size_t i = 0; i < set->path_count; i++)
		if (place_is_path(p, set->paths[i]))
			return outputs_refuse(p, "is a job file of this run",
					      err);
	for (size_t i = 0; i < set->file_count; i++)
		if (place_is_path(p, set->files[i]))
			return outputs_refuse(p, "is a file that is read", err);
	if (place_is_fd(p, STDIN_FILENO))
		return outputs_refuse(p, "is standard input", err);
	return 0;
}

static bool is_here(const void *place, const char *path)
{
	return place_is_path(place, path);
}

static bool is_file_of(const struct place *p, const struct job *j)
{
	const struct page *page = job_work(j)->page;

	return page->any_file && page->any_file(j, is_here, p);
}

static int check_job(const struct place *p, const struct job *j,
		     struct mlgen_err *err)
{
	const char *engine = j->ioengine;

	if (strncmp(engine, "external:", 9) == 0)
		engine += 9;
	if (jobset_is_path(j->ioengine) && place_is_path(p, engine))
		return outputs_refuse(p, "is the engine", err);
	if (j->tensor_sizes && place_is_path(p, j->tensor_sizes))
		return outputs_refuse(p, "is the file of tensor_sizes", err);
	if (j->scan_cache && place_is_path(p, j->scan_cache))
		return outputs_refuse(p, "is the file of scan_cache", err);
	if (is_file_of(p, j))
		return outputs_refuse(
			p, "is a file that the job reads or writes", err);
	return 0;
}

/* DLIO's names of samples (dataset_path), which no report has. */
static bool is_sample(const char *name)
{
	int end = 0;

	return sscanf(name, "img_%*u_of_%*u.%n", &end) == 0 && end > 0;
}

/* Whichever dataset or checkpoint it is of: this run's or one beside it. */
static int check_dataset(const struct place *p, struct mlgen_err *err)
{
	const char *name = p->path ? strrchr(p->path, '/') + 1 : "";
	char beside[PATH_MAX];
	size_t folder = p->path ? (size_t)(name - p->path) : 0;

	if (strcmp(name, MANIFEST_NAME) == 0 ||
	    strcmp(name, CHECKPOINT_MANIFEST) == 0)
		return outputs_refuse(p, "is the name of a manifest", err);
	if (p->kind != PLACE_FILE || !p->path)
		return 0;
	if (is_sample(name))
		return outputs_refuse(p, "is a file of a dataset", err);
	if (snprintf(beside, sizeof(beside), "%.*s%s", (int)folder, p->path,
		     CHECKPOINT_MANIFEST) < (int)sizeof(beside) &&
	    access(beside, F_OK) == 0)
		return outputs_refuse(p, "is a file of a checkpoint", err);
	return 0;
}

static int check_inputs(const struct place *p, const struct jobset *set,
			struct mlgen_err *err)
{
	int rc = check_documents(p, set, err);

	for (size_t i = 0; rc == 0 && i < set->count; i++)
		rc = check_job(p, set->jobs[i], err);
	return rc ? rc : check_dataset(p, err);
}

/* ---- files that are written ---- */

/* What the shell opened as standard output or error, such as 2>run.log. */
static int check_standard(const struct place *p, bool prints_text,
			  struct mlgen_err *err)
{
	if (prints_text && place_is_fd(p, STDOUT_FILENO))
		return outputs_refuse(p,
				      "is also standard output, which has the "
				      "report",
				      err);
	if (place_is_fd(p, STDERR_FILENO))
		return outputs_refuse(p, "is also standard error", err);
	return 0;
}

static int outputs_check_twins(const struct place *places,
			       struct mlgen_err *err)
{
	for (size_t i = 0; i < PLACES; i++)
		for (size_t k = i + 1; k < PLACES; k++)
			if (places[i].option && places[k].option &&
			    place_is_same(&places[i], &places[k]))
				return mlgen_fail(err, -EINVAL,
						  "%s=%s: is also --%s's file; "
						  "one of them needs another "
						  "name",
						  places[i].option,
						  places[i].given,
						  places[k].option);
	return 0;
}

/* Of a descriptor its opener knows what he does, but not of two of them. */
static int check_all(const struct place *places, const struct jobset *set,
		     struct mlgen_err *err)
{
	bool prints_text = !places[TEXT].option;
	int rc = outputs_check_twins(places, err);

	for (size_t i = 0; rc == 0 && i < PLACES; i++) {
		const struct place *p = &places[i];

		if (!p->option || p->is_handed_over)
			continue;
		rc = check_inputs(p, set, err);
		if (rc == 0)
			rc = check_standard(p, prints_text, err);
	}
	return rc;
}

static int outputs_look(struct place *p, const char *option, const char *path,
			struct mlgen_err *err)
{
	if (!path)
		return 0;
	if (strcmp(path, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s=-: name a file; standard output has the "
				  "report, with --output-format=json as JSON",
				  option);
	return place_open(p, option, path, err);
}

static int outputs_look_at_all(struct place *places, const struct jobset *set,
			       struct mlgen_err *err)
{
	const struct settings *s = &set->settings;
	int rc = outputs_look(&places[TEXT], "output", s->output, err);

	if (rc == 0)
		rc = outputs_look(&places[JSON], "json", s->json, err);
	if (rc == 0)
		rc = outputs_look(&places[LOG], "log", s->log, err);
	if (rc == 0)
		rc = outputs_look(&places[TRACE], "trace", s->trace, err);
	if (rc == 0)
		rc = check_all(places, set, err);
	if (rc == 0 && places[TRACE].option)
		rc = tracefile_check(&places[TRACE], err);
	return rc;
}

static int open_all(const struct outputs *o, struct place *places, bool is_text,
		    struct mlgen_err *err)
{
	bool has_text = places[TEXT].option, has_json = places[JSON].option;
	int rc = output_open(o->text, has_text ? &places[TEXT] : NULL, err);

	o->text->is_text = is_text;
	if (rc == 0 && has_json)
		rc = output_open(o->json, &places[JSON], err);
	if (rc == 0 && o->log && places[LOG].option)
		rc = csv_open(o->log, &places[LOG], err);
	if (rc == 0 && o->trace && places[TRACE].option)
		rc = tracefile_open(o->trace, &places[TRACE], err);
	if (rc == 0 && o->rows && places[LOG].option)
		rc = output_open(o->rows, &places[LOG], err);
	if (rc < 0) {
		output_abandon(o->text);
		output_abandon(o->json);
	}
	return rc;
}

int outputs_open(const struct outputs *o, const struct jobset *set,
		 struct mlgen_err *err)
{
	struct place places[PLACES] = { 0 };
	int rc = outputs_look_at_all(places, set, err);

	if (rc == 0)
		rc = open_all(o, places,
			      set->settings.output_format == OUTPUT_TEXT, err);
	for (size_t i = 0; i < PLACES; i++)
		place_close(&places[i]);
	return rc;
}
