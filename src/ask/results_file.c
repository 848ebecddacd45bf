/* SPDX-License-Identifier: Apache-2.0 */
/* results_file.c - see results_file.h. */
#include "ask/results_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ask/results_older.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "report/metrics.h"

/* A thousand jobs with all their histograms are not that large. */
#define BYTES_MAX (INT64_C(256) << 20)

static int fail_at(const struct results_file *f, const json_error_t *e,
		   struct mlgen_err *err)
{
	enum json_error_code code = json_error_code(e);
	const char *hint = "";
	if (code == json_error_premature_end_of_input && e->position == 0)
		return mlgen_fail(err, -EINVAL,
				  "%s: is empty; the run that was to write it "
				  "did not end",
				  f->path);
	if (code == json_error_premature_end_of_input)
		hint = "; the file ends too early: was it copied whole?";
	return mlgen_fail(err, -EINVAL, "%s:%d:%d: no JSON: %s%s", f->path,
			  e->line, e->column, e->text, hint);
}

static int too_large(const struct results_file *f, struct mlgen_err *err)
{
	return mlgen_fail(err, -EFBIG, "%s: is larger than any report of mlgen",
			  f->path);
}

static int check_file(const struct results_file *f, FILE *from,
		      struct mlgen_err *err)
{
	struct stat st;
	if (fstat(fileno(from), &st) < 0)
		return mlgen_fail(err, -errno, "%s: %s", f->path,
				  strerror(errno));
	if (S_ISDIR(st.st_mode))
		return mlgen_fail(err, -EISDIR,
				  "%s: is a directory; name the JSON documents "
				  "in it: %s/*.json",
				  f->path, f->path);
	return st.st_size > BYTES_MAX ? too_large(f, err) : 0;
}

/* A pipe has no size that could be asked for. */
struct bounded {
	FILE *from;
	int64_t bytes;
};

static size_t read_bounded(void *to, size_t most, void *data)
{
	struct bounded *b = data;
	size_t n = b->bytes > BYTES_MAX ? 0 : fread(to, 1, most, b->from);
	b->bytes += (int64_t)n;
	return n;
}

static int parse(struct results_file *f, FILE *from, struct mlgen_err *err)
{
	json_error_t e;
	int rc = check_file(f, from, err);
	if (rc < 0)
		return rc;
	struct bounded b = { .from = from };
	f->root = json_load_callback(read_bounded, &b, JSON_REJECT_DUPLICATES,
				     &e);
	if (b.bytes > BYTES_MAX)
		return too_large(f, err);
	return f->root ? 0 : fail_at(f, &e, err);
}

static int load(struct results_file *f, struct mlgen_err *err)
{
	bool is_stdin = strcmp(f->path, "-") == 0;
	FILE *from = is_stdin ? stdin : fopen(f->path, "re");
	if (!from)
		return mlgen_fail(err, -errno, "%s: %s", f->path,
				  strerror(errno));
	int rc = parse(f, from, err);
	if (!is_stdin)
		fclose(from);
	return rc;
}

/* Another host wrote it: its texts are shown, in columns too, and none of them
 * may be an order to a terminal or a line of its own. */
static json_t *printable_of(json_t *text)
{
	struct buf shown = { 0 };
	json_t *new = NULL;
	if (!printable_is(json_string_value(text))) {
		printable_add(&shown, json_string_value(text));
		new = json_string(buf_str(&shown));
	}
	buf_fini(&shown);
	return new;
}

static void make_printable(json_t *v)
{
	const char *key;
	json_t *one, *shown;
	void *next;
	size_t i;
	json_array_foreach(v, i, one)
	{
		if (json_is_string(one) && (shown = printable_of(one)))
			json_array_set_new(v, i, shown);
		else
			make_printable(one);
	}
	json_object_foreach_safe(v, next, key, one)
	{
		if (!printable_is(key))
			json_object_del(v, key); /* no key of mlgen's */
		else if (json_is_string(one) && (shown = printable_of(one)))
			json_object_set_new(v, key, shown);
		else
			make_printable(one);
	}
}

static int check_version(const struct results_file *f, struct mlgen_err *err)
{
	const json_t *version = json_object_get(f->root, "schema_version");
	json_int_t is = json_integer_value(version);
	if (!f->version || !json_is_integer(version))
		return mlgen_fail(
			err, -EINVAL, "%s: is no report of mlgen%s", f->path,
			json_object_get(f->root, "fio version")
				? " but of fio; mlgen runs fio's job files, "
				  "with --json=FILE"
				: "; --json=FILE of a run writes one");
	if (is != METRICS_SCHEMA_VERSION && is != METRICS_SCHEMA_VERSION - 1)
		return mlgen_fail(err, -EINVAL,
				  "%s: has schema_version %lld (mlgen %s), "
				  "this program reads %d and %d; use the "
				  "version that wrote it",
				  f->path, (long long)is, f->version,
				  METRICS_SCHEMA_VERSION - 1,
				  METRICS_SCHEMA_VERSION);
	return 0;
}

static int check_jobs(const struct results_file *f, struct mlgen_err *err)
{
	size_t n = json_array_size(f->jobs);
	if (!json_is_array(f->jobs))
		return mlgen_fail(err, -EINVAL, "%s: jobs: must be a list",
				  f->path);
	for (size_t i = 0; i < n; i++)
		if (!results_job_name(results_job(f, i)))
			return mlgen_fail(err, -EINVAL,
					  "%s: jobs[%zu]: has no jobname",
					  f->path, i);
	if (n == 0)
		return mlgen_fail(err, -EINVAL, "%s: there is no job in it",
				  f->path);
	return 0;
}

static void look_around(struct results_file *f)
{
	const json_t *machine = json_object_get(f->root, "machine");
	json_int_t ms =
		json_integer_value(json_object_get(f->root, "timestamp_ms"));
	f->version =
		json_string_value(json_object_get(f->root, "mlgen version"));
	f->hostname = json_string_value(json_object_get(machine, "hostname"));
	f->timestamp_ms = ms > 0 ? (uint64_t)ms : 0;
	f->jobs = json_object_get(f->root, "jobs");
	if (!f->hostname)
		f->hostname = "unknown";
}

int results_open(struct results_file *f, const char *path,
		 struct mlgen_err *err)
{
	struct buf shown = { 0 };
	const char *slash;
	memset(f, 0, sizeof(*f));
	printable_add(&shown, path);
	f->path = path;
	f->shown = buf_take(&shown);
	slash = strrchr(f->shown, '/');
	f->name = slash && slash[1] ? slash + 1 : f->shown;
	int rc = load(f, err);
	if (rc < 0) {
		results_close(f);
		return rc;
	}
	make_printable(f->root);
	look_around(f);
	rc = check_version(f, err);
	if (rc == 0)
		rc = check_jobs(f, err);
	for (size_t i = 0; rc == 0 && i < json_array_size(f->jobs); i++)
		results_older_job(f->root, results_job(f, i));
	if (rc < 0)
		results_close(f);
	return rc;
}

void results_close(struct results_file *f)
{
	json_decref(f->root);
	mem_free(f->shown);
	memset(f, 0, sizeof(*f));
}

json_t *results_job(const struct results_file *f, size_t i)
{
	return json_array_get(f->jobs, i);
}

const char *results_job_name(json_t *job)
{
	return json_string_value(json_object_get(job, "jobname"));
}

json_t *results_figures(json_t *job)
{
	json_t *ml = json_object_get(job, "ml");
	json_t *of = ml ? ml : json_object_get(job, "io");
	return json_is_object(of) ? of : NULL;
}

static json_t *options(json_t *job)
{
	return json_object_get(job, "options_resolved");
}

const char *results_option(json_t *job, const char *option)
{
	return json_string_value(json_object_get(options(job), option));
}

json_t *results_options_of(json_t *const *jobs, size_t count)
{
	json_t *names = json_object();
	for (size_t i = 0; i < count; i++)
		json_object_update(names, options(jobs[i]));
	return names;
}

/* FNV-1a */
static int add_to_print(const char *text, size_t len, void *data)
{
	uint64_t *print = data;
	for (size_t i = 0; i < len; i++)
		*print = (*print ^ (unsigned char)text[i]) * 0x100000001b3;
	return 0;
}

uint64_t results_fingerprint(const struct results_file *f)
{
	uint64_t print = 0xcbf29ce484222325;
	json_dump_callback(f->jobs, add_to_print, &print, JSON_COMPACT);
	return print;
}

void results_note_incomplete(const struct results_file *f)
{
	for (size_t i = 0; i < json_array_size(f->jobs); i++) {
		json_t *job = results_job(f, i);
		const char *error =
			json_string_value(json_object_get(job, "error_text"));
		json_t *complete =
			json_object_get(results_figures(job), "complete");
		if (error || json_is_false(complete))
			log_note("%s: job '%s' did not run to its end%s%s; its "
				 "figures cover what ran before",
				 f->path, results_job_name(job),
				 error ? ": " : "", error ? error : "");
	}
}

bool results_has_too_many_errors(json_t *job)
{
	json_t *figures = results_figures(job);
	json_t *is_so = json_object_get(figures, "too_many_errors");
	json_t *errors = json_object_get(figures, "errors");
	return is_so ? json_is_true(is_so) : json_integer_value(errors) > 0;
}

bool results_is_plan(json_t *job)
{
	return json_object_get(job, "plan") != NULL;
}
