/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_files.c - --check of documents: do these runs make a valid result together? */
#include <errno.h>
#include <string.h>

#include "ask/mlperf_inside.h"
#include "ask/result_read.h"
#include "base/log.h"
#include "base/mem.h"

/* The documents, all of them read. */
struct documents {
	struct result_doc *of;
	struct mlperf_source *sources;
	size_t count;
};

static int check_document(const struct results_file *f, struct mlgen_err *err)
{
	if (f->records[0].merged)
		return mlgen_fail(err, -EINVAL,
				  "%s: is merged, and has no figures of its runs; name the "
				  "documents that it was made from",
				  f->path);
	for (size_t i = 0; i < f->count; i++)
		if (f->records[i].plan)
			return mlgen_fail(err, -EINVAL, "%s: is a dry run's: nothing was measured",
					  f->path);
	return 0;
}

/* The same run again would be within 0% of itself. */
static int check_doubles(const struct documents *d, const struct run_result *new, const char *path,
			 struct mlgen_err *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct run_result *old = d->sources[i].run;

		if (old->timestamp_ms == new->timestamp_ms &&
		    strcmp(old->host.hostname, new->host.hostname) == 0)
			return mlgen_fail(
				err, -EINVAL,
				"%s: is the same run as %s (host %s, the same millisecond)", path,
				d->sources[i].name, new->host.hostname);
	}
	return 0;
}

static int read_one(struct documents *d, const struct ask *a, const char *path,
		    struct mlgen_err *err)
{
	struct results_file f;
	struct result_doc *doc = &d->of[d->count];
	int rc = results_open(&f, path, err);

	if (rc < 0)
		return rc;
	rc = check_document(&f, err);
	if (rc == 0)
		rc = result_read(doc, &f, a->env, err);
	if (rc == 0)
		rc = check_doubles(d, &doc->run, path, err);
	if (rc == 0)
		d->sources[d->count++] = (struct mlperf_source){ &doc->run, mem_strdup(f.name) };
	else
		result_fini(doc);
	results_close(&f);
	return rc;
}

static int read_all(struct documents *d, const struct ask *a, struct mlgen_err *err)
{
	size_t n = a->set->file_count;
	int rc = 0;

	d->of = mem_array(n, sizeof(*d->of));
	d->sources = mem_array(n, sizeof(*d->sources));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = read_one(d, a, a->set->files[i], err);
	return rc;
}

static void documents_fini(struct documents *d)
{
	for (size_t i = 0; i < d->count; i++)
		result_fini(&d->of[i]);
	for (size_t i = 0; i < d->count; i++)
		mem_free(d->sources[i].name);
	mem_free(d->of);
	mem_free(d->sources);
}

int ask_check(const struct ask *a)
{
	struct documents d = { 0 };
	struct mlgen_err err = { 0 };
	unsigned broken = 0;
	int rc = a->set->settings.output_format == OUTPUT_TEXT
			 ? read_all(&d, a, &err)
			 : mlgen_fail(&err, -EINVAL,
				      "output-format: a check of documents is text; with --check "
				      "the run itself puts its rules into its JSON");

	if (rc < 0) {
		log_error("%s", err.text);
	} else {
		struct mlperf_groups g;

		mlperf_groups_init(&g, a, d.sources, d.count);
		broken = mlperf_print(a->to, a, &g);
		mlperf_groups_fini(&g);
	}
	documents_fini(&d);
	return rc < 0 ? EXIT_USAGE : broken ? EXIT_MISSED : EXIT_RAN;
}
