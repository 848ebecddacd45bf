/* SPDX-License-Identifier: Apache-2.0 */
/* results_file.c - read documents of runs, of this version and of the one before. */
#include "ask/results/results_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/util.h"
#include "data/formats/parquet/parquet.h"
#include "field/fields.h"
#include "report/metrics/metrics.h"

/* ---- documents of older versions ---- */

static const char *resolved_option(json_t *job, const char *option)
{
	return json_string_value(json_object_get(json_object_get(job, "options_resolved"), option));
}

/* The number at a key; 0 if it is null or missing. */
static double number_of(json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* A value that is not a count is damaged and stays unchanged. */
static void set_count(json_t *o, const char *key, double n)
{
	if (n >= 0 && n < 0x1p62)
		json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* A value that is not a number stays unchanged. */
static void set_rate(json_t *o, const char *key, double n, double seconds)
{
	if (seconds > 0 && json_is_number(json_object_get(o, key)))
		json_object_set_new(o, key, json_real(n / seconds));
}

/* Older documents count bytes of evaluations as bytes of training. Evaluations and training read in
 * the same way, so the bytes are split in proportion to the payload. */
static void split_io_bytes(json_t *ml, json_t *eval)
{
	double all = number_of(ml, "io_bytes");
	double payload = number_of(eval, "sample_bytes");
	double part = payload / (number_of(ml, "sample_bytes") + payload);

	if (!(payload > 0) || !(all > 0))
		part = 0;
	part = floor(all * part);
	set_count(eval, "io_bytes", part);
	json_object_set_new(eval, "io_bytes_per_sec", json_null());
	if (!(part > 0))
		return;
	set_count(ml, "io_bytes", all - part);
	set_rate(ml, "io_bytes_per_sec", all - part, number_of(ml, "wall_seconds"));
	if (number_of(eval, "seconds") > 0)
		json_object_set_new(eval, "io_bytes_per_sec",
				    json_real(part / number_of(eval, "seconds")));
}

static void set_direction(json_t *d, double seconds)
{
	double bytes = number_of(d, "io_bytes");

	if (!(number_of(d, "total_ios") > 0))
		return;
	set_count(d, "runtime", seconds * 1e3);
	set_count(d, "bw_bytes", bytes / seconds);
	set_count(d, "bw", floor(bytes / seconds) / 1024);
	set_rate(d, "iops", number_of(d, "total_ios"), seconds);
}

/* The bytes of the columns that are read, as a fraction of the bytes of a row. */
static double columns_fraction(json_t *job)
{
	const char *format = resolved_option(job, "format");
	const char *text = resolved_option(job, "columns");
	struct columns c = { 0 };
	double part = 1;

	if (!format || strcmp(format, "parquet") != 0 || !text)
		return 1;
	if (columns_parse(&c, text, NULL) == 0 &&
	    columns_select(&c, resolved_option(job, "read_columns"), NULL) == 0)
		part = (double)columns_read_bytes(&c) / (double)columns_row_bytes(&c);
	columns_fini(&c);
	return part;
}

static void scale(json_t *o, const char *key, double by)
{
	json_t *value = json_object_get(o, key);

	if (json_is_integer(value))
		set_count(o, key, round(json_number_value(value) * by));
	else if (json_is_real(value))
		json_object_set_new(o, key, json_real(json_number_value(value) * by));
}

static void scale_samples(json_t *o, double by)
{
	scale(o, "sample_bytes", by);
	scale(o, "sample_bytes_per_sec", by);
	scale(o, "mean_sample_bytes", by);
}

/* Scale the probes of a search that varied this job. Requirement and limit stay as the user wrote
 * them. */
static void scale_probes(json_t *find_max, json_t *job, double by)
{
	const char *of = json_string_value(json_object_get(find_max, "job"));
	const char *name = json_string_value(json_object_get(job, "jobname"));
	json_t *probe;
	size_t i;

	if (!of || !name || strcmp(of, name) != 0)
		return;
	json_array_foreach(json_object_get(find_max, "probes"), i, probe)
	{
		scale(probe, "sample_bytes_per_sec", by);
	}
}

/* Older documents count whole rows as samples, except in MLPerf's figures. */
static void convert_columns(json_t *root, json_t *job, json_t *dataset)
{
	double part = columns_fraction(job);
	json_t *ml = json_object_get(job, "ml");
	json_t *mlperf = json_object_get(ml, "mlperf"), *o;
	const char *version;
	size_t i;

	json_object_set(dataset, "row_bytes", json_object_get(dataset, "sample_bytes"));
	scale_samples(dataset, part);
	scale_samples(ml, part);
	scale_samples(json_object_get(ml, "eval"), part);
	json_array_foreach(json_object_get(ml, "epochs"), i, o)
	{
		scale_samples(o, part);
	}
	json_object_foreach(mlperf, version, o)
	{
		scale(o, "train_io_mean_MB_per_second", 1 / part);
		scale(o, "train_io_stdev_MB_per_second", 1 / part);
	}
	scale_probes(json_object_get(root, "find_max"), job, part);
}

/*
 * Some figures had another meaning in the previous schema version. The document has enough to
 * convert them, so no other function needs to know. Figures with their present meaning stay as they
 * are, and so do damaged figures, which the reader reports. Top-level figures of a single job are
 * converted with that job.
 */
static void convert_older_job(json_t *root, json_t *job)
{
	json_t *dataset = json_object_get(job, "dataset");
	const char *phase = resolved_option(job, "phase");
	json_t *ml = json_object_get(job, "ml");
	json_t *eval = json_object_get(ml, "eval");

	if (json_is_object(dataset) && !json_object_get(dataset, "row_bytes"))
		convert_columns(root, job, dataset);
	if (!phase || strcmp(phase, "train") != 0 || !json_is_object(eval) ||
	    json_object_get(eval, "io_bytes"))
		return;
	split_io_bytes(ml, eval);

	/* Older documents have only the time of the epochs. */
	json_t *saves = json_object_get(ml, "saves");
	double seconds = number_of(ml, "wall_seconds") + number_of(eval, "seconds") +
			 number_of(saves, "stall_seconds");

	seconds = fmax(seconds, number_of(saves, "wall_seconds"));
	if (!(seconds > 0))
		return;
	set_count(job, "job_runtime", seconds * 1e3);
	set_direction(json_object_get(job, "read"), seconds);
	set_direction(json_object_get(job, "write"), seconds);
}

/* ---- files ---- */

/* Larger than the document of a thousand jobs with all histograms. */
#define BYTES_MAX (INT64_C(256) << 20)

/* A text that ends within a word, such as "nul", has a wrong token at its very end. */
static int fail_at(const struct results_file *f, const json_error_t *e, bool at_end,
		   struct mlgen_err *err)
{
	enum json_error_code code = json_error_code(e);
	const char *hint = "";

	if (code == json_error_premature_end_of_input && e->position == 0)
		return mlgen_fail(err, -EINVAL, "%s: is empty; the run that writes it did not end",
				  f->path);
	if (code == json_error_premature_end_of_input ||
	    (code == json_error_invalid_syntax && at_end))
		hint = "; the file ends too early: was it copied completely?";
	return mlgen_fail(err, -EINVAL, "%s:%d:%d: not JSON: %s%s", f->path, e->line, e->column,
			  e->text, hint);
}

/* The size of a pipe is unknown. */
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

static int parse_file(struct results_file *f, FILE *from, struct mlgen_err *err)
{
	struct bounded b = { .from = from };
	json_error_t e;
	struct stat st;

	if (fstat(fileno(from), &st) < 0)
		return mlgen_fail(err, -errno, "%s: %s", f->path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return mlgen_fail(err, -EISDIR,
				  "%s: is a directory; name the JSON documents in it: %s/*.json",
				  f->path, f->path);
	if (st.st_size <= BYTES_MAX)
		f->root = json_load_callback(read_bounded, &b, JSON_REJECT_DUPLICATES, &e);
	if (st.st_size > BYTES_MAX || b.bytes > BYTES_MAX)
		return mlgen_fail(err, -EFBIG, "%s: is larger than any report of mlgen", f->path);
	if (f->root)
		return 0;
	bool at_end = e.position == b.bytes && fgetc(from) == EOF;
	return fail_at(f, &e, at_end, err);
}

static int load_text(struct results_file *f, const char *text, size_t bytes, struct mlgen_err *err)
{
	json_error_t e;

	f->root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
	if (f->root)
		return 0;
	return fail_at(f, &e, e.position == (int64_t)bytes, err);
}

static int load_file(struct results_file *f, struct mlgen_err *err)
{
	bool is_stdin = strcmp(f->path, "-") == 0;
	FILE *from = is_stdin ? stdin : fopen(f->path, "re");

	if (!from)
		return mlgen_fail(err, -errno, "%s: %s", f->path, strerror(errno));
	int rc = parse_file(f, from, err);
	if (!is_stdin)
		fclose(from);
	return rc;
}

static int check_version(const struct results_file *f, struct mlgen_err *err)
{
	const json_t *schema = json_object_get(f->root, "schema_version");
	json_t *version = json_object_get(f->root, "mlgen version");
	json_int_t schema_number = json_integer_value(schema);

	if (!json_is_string(version) || !json_is_integer(schema))
		return mlgen_fail(
			err, -EINVAL, "%s: is not a report of mlgen%s", f->path,
			json_object_get(f->root, "fio version")
				? " but of fio; mlgen runs fio's job files; add --json=FILE"
				: "; a run with --json=FILE writes a report");
	if (schema_number != METRICS_SCHEMA_VERSION && schema_number != METRICS_SCHEMA_VERSION - 1)
		return mlgen_fail(err, -EINVAL,
				  "%s: has schema_version %lld (mlgen %s), but this program "
				  "reads %d and %d; use the version that wrote it",
				  f->path, (long long)schema_number, json_string_value(version),
				  METRICS_SCHEMA_VERSION - 1, METRICS_SCHEMA_VERSION);
	return 0;
}

static bool is_score(const struct results_file *f)
{
	return !f->list && json_is_object(json_object_get(f->root, "score"));
}

/* The kind of a document that is not a run, by the member that only this kind has. */
static const char *other_kind(const struct results_file *f)
{
	static const char *const kinds[][2] = {
		{ "score", "a score" },
		{ "trace", "the description of a trace" },
		{ "miss_curves", "a miss curve" },
	};

	for (size_t i = 0; !f->list && i < ARRAY_LEN(kinds); i++)
		if (json_object_get(f->root, kinds[i][0]))
			return kinds[i][1];
	return NULL;
}

static int check_jobs(const struct results_file *f, struct mlgen_err *err)
{
	size_t n = json_array_size(f->list);

	if (is_score(f))
		return mlgen_fail(err, -EINVAL,
				  "%s: is a score, not a report of a run; --table=file,score.m1 "
				  "prints its figures",
				  f->path);
	if (other_kind(f))
		return mlgen_fail(err, -EINVAL,
				  "%s: is %s, not a report of a run; --page --html=FILE shows it",
				  f->path, other_kind(f));
	if (!json_is_array(f->list))
		return mlgen_fail(err, -EINVAL, "%s: jobs: must be a list", f->path);
	for (size_t i = 0; i < n; i++)
		if (!json_is_string(json_object_get(json_array_get(f->list, i), "jobname")))
			return mlgen_fail(err, -EINVAL, "%s: jobs[%zu]: has no jobname", f->path,
					  i);
	if (n == 0)
		return mlgen_fail(err, -EINVAL, "%s: contains no job", f->path);
	return 0;
}

/* ---- records ---- */

static int read_part(struct results_file *f, json_t *outer, const char *where,
		     const struct record_root *root, struct job_result *job, struct record *to,
		     struct mlgen_err *err)
{
	const struct json_reader r = { &f->store, f->path };
	json_t *o = root->in ? json_object_get(outer, root->in) : outer;
	void *base = (root->is_top ? (char *)&f->run : (char *)job) + root->within;
	char path[64];

	if (!o || json_is_null(o))
		return 0;
	if (root->bytes)
		base = json_store_alloc(&f->store, root->bytes);
	memcpy((char *)to + root->off, &base, sizeof(base));
	snprintf(path, sizeof(path), "%s%s", where, root->in ? root->in : "");
	return json_read_struct(&r, o, root->table, base, path, err);
}

/* Read the objects of the document, or (with job) those that the job has. The fields of jobs
 * themselves are read with the list of jobs in the document. */
static int read_parts(struct results_file *f, json_t *outer, const char *where,
		      struct job_result *job, struct record *to, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t k = 0; k < RECORD_ROOTS && rc == 0; k++)
		if (record_roots[k].is_top == !job && record_roots[k].table != metrics_job_fields)
			rc = read_part(f, outer, where, &record_roots[k], job, to, err);
	return rc;
}

static int read_records(struct results_file *f, struct mlgen_err *err)
{
	struct record all = { .file = f->name, .store = &f->store };
	int rc = read_parts(f, f->root, "", NULL, &all, err);

	if (rc < 0)
		return rc;
	f->count = is_score(f) ? 1 : f->run.job_count;
	f->records = mem_array(f->count, sizeof(*f->records));
	if (is_score(f)) {
		f->records[0] = all;
		return 0;
	}
	for (size_t i = 0; i < f->count && rc == 0; i++) {
		struct job_result *job = &f->run.jobs[i];
		char where[32];

		snprintf(where, sizeof(where), "jobs[%zu].", i);
		f->records[i] = all;
		f->records[i].job = job;
		/* Every figure is unknown until it is found in the document. */
		fields_set_unknown(metrics_io_fields, job);
		fields_set_unknown(metrics_ml_fields, job);
		fields_set_unknown(metrics_cache_fields, &job->ml.cache);
		fields_set_unknown(metrics_prepare_fields, &job->prepare);
		rc = read_parts(f, json_array_get(f->list, i), where, job, &f->records[i], err);
	}
	return rc;
}

static void init_file(struct results_file *f, const char *path)
{
	struct buf shown = { 0 };

	memset(f, 0, sizeof(*f));
	printable_add(&shown, path);
	f->path = path;
	f->shown = buf_detach(&shown);
	const char *slash = strrchr(f->shown, '/');
	f->name = slash && slash[1] ? slash + 1 : f->shown;
}

enum accepts { RUNS, RUNS_AND_SCORES, ANYTHING };

/* Check and read the loaded document; `rc` is the result of loading. */
static int read_loaded(struct results_file *f, enum accepts accepts, int rc, struct mlgen_err *err)
{
	if (rc < 0) {
		results_close(f);
		return rc;
	}
	f->list = json_object_get(f->root, "jobs");
	bool is_accepted = (accepts >= RUNS_AND_SCORES && is_score(f)) ||
			   (accepts == ANYTHING && other_kind(f));
	rc = check_version(f, err);
	if (rc == 0 && !is_accepted)
		rc = check_jobs(f, err);
	for (size_t i = 0; rc == 0 && i < json_array_size(f->list); i++)
		convert_older_job(f->root, json_array_get(f->list, i));
	if (rc == 0 && (f->list || is_score(f)))
		rc = read_records(f, err);
	if (rc < 0)
		results_close(f);
	return rc;
}

int results_open(struct results_file *f, const char *path, struct mlgen_err *err)
{
	init_file(f, path);
	return read_loaded(f, RUNS, load_file(f, err), err);
}

int results_open_any(struct results_file *f, const char *path, struct mlgen_err *err)
{
	init_file(f, path);
	return read_loaded(f, ANYTHING, load_file(f, err), err);
}

int results_open_scored(struct results_file *f, const char *path, struct mlgen_err *err)
{
	init_file(f, path);
	return read_loaded(f, RUNS_AND_SCORES, load_file(f, err), err);
}

int results_open_text(struct results_file *f, const char *name, const char *text, size_t bytes,
		      struct mlgen_err *err)
{
	init_file(f, name);
	return read_loaded(f, RUNS, load_text(f, text, bytes, err), err);
}

void results_close(struct results_file *f)
{
	json_decref(f->root);
	for (size_t i = 0; f->is_result && i < f->run.job_count; i++) {
		struct verdict_result *v = &f->run.jobs[i].verdict;

		mem_free(v->name);
		mem_free(v->headline);
		mem_free(v->because);
		mem_free(v->try_next);
	}
	for (size_t i = 0; i < f->jobs.count; i++)
		job_free(f->jobs.at[i]);
	vec_fini(&f->jobs);
	mem_free(f->shown);
	mem_free(f->records);
	json_store_fini(&f->store);
	memset(f, 0, sizeof(*f));
}

static int add_to_fingerprint(const char *text, size_t len, void *data)
{
	uint64_t *fingerprint = data;

	*fingerprint = fnv1a(*fingerprint, text, len);
	return 0;
}

uint64_t results_fingerprint(const struct results_file *f)
{
	uint64_t fingerprint = FNV1A;

	json_dump_callback(f->list, add_to_fingerprint, &fingerprint, JSON_COMPACT);
	return fingerprint;
}

void results_note_incomplete(const struct results_file *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct job_document *job = &f->records[i].job->doc;
		const char *error = job->error_text;

		if (error || record_is_cut(&f->records[i]))
			log_note("%s: job '%s' did not run to its end%s%s; its figures cover what "
				 "ran before",
				 f->path, job->jobname, error ? ": " : "", error ? error : "");
	}
}
