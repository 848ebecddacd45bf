/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - makes and frees a job, and derives values from its options. */
#include "job/job_internal.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

static struct job_origin *origins_new(size_t count)
{
	struct job_origin *origins = mem_array(count, sizeof(*origins));

	for (size_t i = 0; i < count; i++)
		origins[i].how = mem_strdup("default");
	return origins;
}

static void origins_free(struct job_origin *origins, size_t count)
{
	for (size_t i = 0; origins && i < count; i++) {
		mem_free(origins[i].how);
		mem_free(origins[i].raw);
	}
	mem_free(origins);
}

static void free_engine_opts(struct job *j)
{
	if (!j->engine_opts)
		return;
	field_fini(j->engine->opts, j->engine_opts);
	mem_free(j->engine_opts);
	origins_free(j->engine_origins, field_count(j->engine->opts));
	j->engine_opts = NULL;
	j->engine_origins = NULL;
}

struct job *job_new(const char *name)
{
	struct job *j = mem_zalloc(sizeof(*j));
	struct buf path = { 0 };

	j->name = mem_strdup(name);
	field_defaults(job_fields, j);
	/* The default directory contains $jobname. */
	words_expand(&path, j->directory, j->name, NULL);
	mem_replace(&j->directory, buf_str(&path));
	buf_fini(&path);
	j->origins = origins_new(field_count(job_fields));
	j->kept = mem_zalloc(sizeof(*j->kept));
	j->kept->scan_fd = -1;
	return j;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	free_engine_opts(j);
	origins_free(j->origins, field_count(job_fields));
	field_fini(job_fields, j);
	if (j->kept->scan_fd >= 0)
		close(j->kept->scan_fd);
	mem_free(j->kept);
	mem_free(j->accelerators_known);
	mem_free(j->name);
	mem_free(j);
}

struct job_reuse *job_reuse(const struct job *j)
{
	return j->scaled_as ? j->scaled_as->kept : j->kept;
}

void job_set_engine(struct job *j, const struct mlgen_engine *engine)
{
	free_engine_opts(j);
	j->engine = engine;
	if (!engine || !engine->opts)
		return;
	j->engine_opts = mem_zalloc(engine->opts_size);
	j->engine_origins = origins_new(field_count(engine->opts));
	field_defaults(engine->opts, j->engine_opts);
}

bool job_reads(const struct job *j)
{
	return j->rw != RW_WRITE && j->rw != RW_RANDWRITE;
}

bool job_writes(const struct job *j)
{
	return j->rw != RW_READ && j->rw != RW_RANDREAD;
}

bool job_is_random(const struct job *j)
{
	return j->rw >= RW_RANDREAD;
}

unsigned job_depth(const struct job *j)
{
	return j->engine && j->engine->reap ? (unsigned)j->iodepth : 1;
}

unsigned job_samples_at_once(const struct job *j)
{
	return j->loader == LOADER_PLAIN ? job_depth(j) : 1;
}

uint64_t job_shuffle_buffer(const struct job *j)
{
	return j->shuffle.kind == SHUFFLE_BUFFER ? j->shuffle.number : 0;
}

bool job_interleaves(const struct job *j)
{
	return j->loader == LOADER_TFDATA && j->deterministic;
}

bool job_decodes_batches(const struct job *job)
{
	return job->loader == LOADER_TFDATA && job->preprocess == PREPROCESS_SLEEP &&
	       dist_mean(&job->preprocess_time) > 0;
}

uint64_t job_all_accelerators(const struct job *j)
{
	return j->accelerators_all ? j->accelerators_all : j->accelerators;
}

uint64_t job_host_processes(const struct job *j)
{
	return j->place.hosts ? j->place.processes : 1;
}

uint64_t job_cache_parts(const struct job *j)
{
	return j->cache_scope == CACHE_SCOPE_ALL && j->place.total > 1 ? j->place.total : 1;
}

uint64_t job_cache_part(const struct job *j)
{
	return job_cache_parts(j) > 1 ? j->place.rank : 0;
}

uint64_t job_read_threads(const struct job *j)
{
	return j->read_threads * (job_interleaves(j) ? JOB_INTERLEAVE_THREADS : 1);
}

uint64_t job_readers(const struct job *j)
{
	return j->read_threads ? job_read_threads(j) : 1;
}

struct diag_place job_place(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	assert(f);
	return j->origins[f - job_fields].raw ? j->origins[f - job_fields].at : j->at;
}

void job_field_text(const struct job *j, const struct mlgen_field *f, const void *base,
		    struct buf *out)
{
	struct buf text = { 0 };
	bool is_size = f->type == MLGEN_SIZE || f->type == MLGEN_SIZE_DIST ||
		       f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_SIZE_SHARE ||
		       f->type == MLGEN_CACHE_SIZE;

	field_format(&text, f, base);
	is_size = is_size && !buf_str(&text)[field_path_at(f, buf_str(&text))];
	/* A job with kb_base=1000 reads 1mib to the value that other jobs read from 1m. */
	for (const char *s = buf_str(&text), *c = s; *c; c++) {
		buf_addc(out, *c);
		if (is_size && j->kb_base == 1000 && c > s && strchr("kmgtp", *c) &&
		    isdigit((unsigned char)c[-1]))
			buf_add(out, "ib");
	}
	buf_fini(&text);
}

bool job_is_given(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	return j->origins && j->origins[f - job_fields].raw;
}

bool job_is_on_command_line(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	return job_is_given(j, option) &&
	       strcmp(j->origins[f - job_fields].how, "command line") == 0;
}

bool job_is_changed(const struct job *j, const char *option)
{
	return job_is_given(j, option) && !field_is_default(field_find(job_fields, option), j);
}

void job_option_text(const struct job *j, const char *option, struct buf *out)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	assert(f);
	job_field_text(j, f, j, out);
}

/* ---- sizes of requests: bssplit, or bs alone ---- */

/* Parse SIZE, SIZE/ or SIZE/PERCENT; NaN = no percentage. */
static int parse_size(const struct job *j, char *text, struct job_size *out, struct mlgen_err *err)
{
	const struct mlgen_field *bs = field_find(job_fields, "bs");
	char *slash = strchr(text, '/');
	int rc = 0;

	if (slash)
		*slash = '\0';
	out->percent = (double)NAN;
	rc = units_size(text, (unsigned)j->kb_base, &out->bytes, err);
	if (rc)
		return rc;
	if ((double)out->bytes < bs->min || (double)out->bytes > bs->max)
		return mlgen_fail(err, -EINVAL, "%s is not between 512 and 1g", text);
	if (!slash || !slash[1])
		return 0;
	rc = units_percent(slash + 1, &out->percent, err);
	if (!rc && (out->percent < 0 || out->percent > 100))
		rc = mlgen_fail(err, -EINVAL, "%s is not between 0%% and 100%%", slash + 1);
	return rc;
}

/* Parse `len` bytes of entries separated by colons. Returns the number of entries. */
static int parse_sizes(const struct job *j, const char *list, size_t len, struct job_size *sizes,
		       struct mlgen_err *err)
{
	const char *at = list, *end = list + len;

	for (int n = 0;; at++) {
		size_t part = strcspn(at, ":,");
		char *text = NULL;
		int rc = 0;

		if (!part)
			return mlgen_fail(err, -EINVAL, "'%.*s': a size is missing", (int)len,
					  list);
		if (n == JOB_SIZES_MAX)
			return mlgen_fail(err, -EINVAL, "more than %d sizes", JOB_SIZES_MAX);
		text = mem_strndup(at, part);
		rc = parse_size(j, text, &sizes[n++], err);
		mem_free(text);
		if (rc)
			return -EINVAL;
		at += part;
		if (at == end)
			return n;
	}
}

/* Divide the rest of 100 percent among the sizes without a percentage, or add it to the largest. */
static int fill_up(struct job_size *sizes, int n, struct mlgen_err *err)
{
	double sum = 0;
	int open = 0, largest = 0;

	for (int i = 0; i < n; i++) {
		if (isnan(sizes[i].percent))
			open++;
		else
			sum += sizes[i].percent;
		if (sizes[i].bytes > sizes[largest].bytes)
			largest = i;
	}
	/* Sums of tenths and thirds are not exact. */
	if (sum > 100 + 1e-9)
		return mlgen_fail(err, -EINVAL, "the percentages sum to %g, which is above 100",
				  sum);
	if (sum > 100)
		sum = 100;
	for (int i = 0; i < n; i++) {
		if (isnan(sizes[i].percent))
			sizes[i].percent = (100 - sum) / open;
	}
	if (!open)
		sizes[largest].percent += 100 - sum;
	return n;
}

int job_sizes(const struct job *j, unsigned direction, struct job_size sizes[JOB_SIZES_MAX],
	      struct mlgen_err *err)
{
	const char *list = j->bssplit ? j->bssplit : "";
	size_t len = strcspn(list, ",");
	struct mlgen_err why = { 0 };
	int n = 0;

	if (direction && list[len]) {
		list += len + 1;
		len = strcspn(list, ",");
	}
	if (!len) {
		sizes[0].bytes = direction ? j->bs.write : j->bs.read;
		sizes[0].percent = 100;
		return 1;
	}
	n = parse_sizes(j, list, len, sizes, &why);
	if (n > 0)
		n = fill_up(sizes, n, &why);
	if (n < 0)
		mlgen_fail(err, -EINVAL, "bssplit: %s", why.text);
	return n;
}

/* ---- times after each read of a sample: preprocess_split, first_sample_split ---- */

int job_read_shares(const char *list, struct job_read_share shares[JOB_READ_SHARES_MAX],
		    struct mlgen_err *err)
{
	double sum = 0;
	int n = 0;

	for (const char *at = has_text(list) ? list : NULL; at;) {
		size_t part = strcspn(at, ":");
		char *text, *slash;
		int rc = 0;

		if (n == JOB_READ_SHARES_MAX)
			return mlgen_fail(err, -EINVAL, "more than %d reads", JOB_READ_SHARES_MAX);
		text = mem_strndup(at, part);
		slash = strchr(text, '/');
		if (slash)
			*slash = '\0';
		else
			rc = mlgen_fail(err, -EINVAL,
					"'%s' has no percentage; write READ/PERCENT, as in "
					"1/20:4/80",
					text);
		if (!rc)
			rc = units_u64(text, &shares[n].read, err);
		if (!rc && !shares[n].read)
			rc = mlgen_fail(err, -EINVAL, "reads are numbered from 1, not from 0");
		if (!rc)
			rc = units_percent(slash + 1, &shares[n].percent, err);
		if (!rc && (shares[n].percent < 0 || shares[n].percent > 100))
			rc = mlgen_fail(err, -EINVAL, "%s is not between 0%% and 100%%", slash + 1);
		n++;
		mem_free(text);
		if (rc)
			return -EINVAL;
		at = at[part] ? at + part + 1 : NULL;
	}
	for (int i = 0; i < n; i++) {
		sum += shares[i].percent;
		if (i && shares[i].read <= shares[i - 1].read)
			return mlgen_fail(err, -EINVAL,
					  "read %" PRIu64 " follows %" PRIu64
					  "; list each read once, in ascending order",
					  shares[i].read, shares[i - 1].read);
	}
	/* Sums of tenths and thirds are not exact. */
	if (sum > 100 + 1e-9)
		return mlgen_fail(err, -EINVAL, "the percentages sum to %g, which is above 100",
				  sum);
	return n;
}

/* ---- checkpoints: interval and directory ---- */

/* Units that units_time() does not know. time_unit is its name for them, NULL = no time. */
static const struct interval_word {
	const char *name;
	const char *time_unit;
	int unit;
} words[] = {
	{ "step", NULL, EVERY_STEPS },   { "steps", NULL, EVERY_STEPS },
	{ "epoch", NULL, EVERY_EPOCHS }, { "epochs", NULL, EVERY_EPOCHS },
	{ "second", "s", EVERY_TIME },   { "seconds", "s", EVERY_TIME },
	{ "minute", "m", EVERY_TIME },   { "minutes", "m", EVERY_TIME },
	{ "hour", "h", EVERY_TIME },     { "hours", "h", EVERY_TIME },
	{ "day", "d", EVERY_TIME },      { "days", "d", EVERY_TIME },
};

static const struct interval_word *find_word(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	}
	return NULL;
}

int job_checkpoint_every(const struct job *j, struct checkpoint_every *e, struct mlgen_err *err)
{
	const char *text = j->checkpoint_every, *word;
	const struct interval_word *w;
	struct buf time = { 0 };
	char *number;
	int rc = -EINVAL;

	*e = (struct checkpoint_every){ 0 };
	if (!text)
		return 0;
	word = text + strlen(text);
	while (word > text && isalpha((unsigned char)word[-1]))
		word--;
	number = mem_strndup(text, (size_t)(word - text));
	for (size_t n = strlen(number); n && strchr(" \t", number[n - 1]); n--)
		number[n - 1] = '\0';

	w = find_word(word);
	if (w && !w->time_unit) {
		e->unit = w->unit == EVERY_STEPS ? EVERY_STEPS : EVERY_EPOCHS;
		rc = units_u64(number, &e->count, NULL);
	} else if (*word || strcmp(number, "0") == 0) {
		e->unit = EVERY_TIME;
		buf_addf(&time, "%s%s", number, w ? w->time_unit : word);
		rc = units_time(buf_str(&time), NULL, &e->count, NULL);
	}
	buf_fini(&time);
	mem_free(number);
	if (rc)
		return mlgen_fail(err, -EINVAL,
				  "checkpoint_every: '%.200s' is not an interval; write a number "
				  "and its unit: 500 steps, 2 epochs, 90s, 10m",
				  text);
	return 0;
}

/* A checkpoint_every that cannot be parsed is an error of its own; the job wants checkpoints. */
bool job_has_checkpoints(const struct job *j)
{
	struct checkpoint_every e;

	switch (job_work(j)->checkpoints) {
	case CHECKPOINTS_ALWAYS:
		return true;
	case CHECKPOINTS_OPTIONAL:
		return job_checkpoint_every(j, &e, NULL) || e.count;
	case CHECKPOINTS_NONE:
		break;
	}
	return false;
}

char *job_checkpoint_directory(const struct job *j)
{
	struct buf path = { 0 };

	if (j->checkpoint_directory)
		buf_add(&path, j->checkpoint_directory);
	else if (job_work(j)->checkpoints == CHECKPOINTS_OPTIONAL)
		buf_addf(&path, "%s/checkpoints", j->directory);
	else
		buf_add(&path, j->directory);
	return buf_detach(&path);
}

bool job_is_archive(const char *name)
{
	static const char characters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);

	return length > 0 && length < JOB_ARCHIVE_BYTES && *name != '.' &&
	       strspn(name, characters) == length;
}

/* ---- checkpoints: ranks ---- */

/*
 * The accelerators of a training job are its ranks. If the parallelism needs more ranks, the rest
 * is on other hosts.
 */
uint64_t job_ranks(const struct job *j)
{
	uint64_t one = j->tensor_parallel * j->pipeline_parallel;

	if (j->ranks)
		return j->ranks;
	if (j->data_parallel)
		return one * j->data_parallel;
	if (job_work(j)->has_accelerators && job_all_accelerators(j) > one)
		return job_all_accelerators(j);
	return one;
}

int job_saved_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc = 0;

	if (strcmp(j->checkpoint_ranks, "all") == 0)
		ranges_all(out, job_ranks(j));
	else if (strcmp(j->checkpoint_ranks, "zero") == 0)
		ranges_all(out, 1);
	else
		rc = ranges_parse(out, j->checkpoint_ranks, job_ranks(j), "ranks", &why);
	if (rc)
		return mlgen_fail(err, rc, "checkpoint_ranks: %s", why.text);
	if (!job_work(j)->has_accelerators)
		return 0;
	ranges_cut(out, job_all_accelerators(j));
	if (out->numbers)
		return 0;
	ranges_fini(out);
	return mlgen_fail(err, -EINVAL,
			  "checkpoint_ranks: %s contains no rank of this training, whose %" PRIu64
			  " accelerators are ranks 0 and up",
			  j->checkpoint_ranks, job_all_accelerators(j));
}

int job_local_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err)
{
	const struct job_place *p = &j->place;
	int rc = job_saved_ranks(j, out, err);

	if (rc || !p->hosts)
		return rc;
	if (job_work(j)->has_accelerators) {
		ranges_cut(out, j->accelerators_before + j->accelerators);
		ranges_cut_below(out, j->accelerators_before);
	} else {
		/* Each host gets an even share, which is divided evenly among its processes. */
		uint64_t from = out->numbers * p->host / p->hosts;
		uint64_t n = out->numbers * (p->host + 1) / p->hosts - from;

		ranges_keep(out, from + n * p->process / p->processes,
			    from + n * (p->process + 1) / p->processes);
	}
	return 0;
}

/* ---- advice of a verdict ---- */

#define SECTOR_BYTES 512

bool advice_makes_files(const struct job *j)
{
	return j->dataset == DATASET_MADE;
}

const char *advice_more_files(const struct job *j, bool makes_files)
{
	if (!makes_files)
		return "a directory with more files";
	return j->dataset_ratio > 0 ? "a larger dataset_ratio" : "more num_files";
}

/* DLIO and TensorFlow open these formats with O_DIRECT. */
bool advice_format_takes_direct(const struct job *j)
{
	return j->format == FORMAT_NPZ || j->format == FORMAT_NPY || j->format == FORMAT_TFRECORD;
}

bool advice_direct(const struct job *j)
{
	const struct mlgen_engine *e = j->engine;
	bool is_framework = j->access == ACCESS_FRAMEWORK && !job_work(j)->is_plain;

	if (j->direct || (e && !(e->caps & MLGEN_CAP_DIRECT)))
		return false;
	if (!is_framework)
		return j->bs.read % SECTOR_BYTES == 0 && j->bs.write % SECTOR_BYTES == 0;
	if (job_has_checkpoints(j) && j->checkpoint_layout != LAYOUT_STREAM)
		return false;
	return !job_work(j)->has_accelerators || advice_format_takes_direct(j);
}
