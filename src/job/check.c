/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - rules that relate options of a job. */
#include "job/job_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <mlgen/errors.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- continue_on_error and ignore_error, as in fio(1) ---- */

/* The list of ignore_error for reads (kind 0) or writes (1); *len 0 = no list. */
static const char *error_list(const char *text, unsigned kind, size_t *len)
{
	*len = 0;
	for (; text && kind; kind--) {
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
	if (text)
		*len = strcspn(text, ",");
	return text;
}

static bool ignored_has(const char *list, size_t len, int code)
{
	for (const char *end = list + len; list < end;) {
		size_t word = strcspn(list, ":,");

		if (mlgen_error_code(list, word) == code)
			return true;
		list += word + 1;
	}
	return false;
}

int ignored_check(const char *text, struct mlgen_err *err)
{
	unsigned kinds = 1;
	size_t len;

	for (const char *at = text; at && (*at || at > text); at += len + 1) {
		len = strcspn(at, ":,");
		/* "ENOSPC" of writes alone is ",ENOSPC". */
		if (!mlgen_error_code(at, len) && !(at == text && *at == ','))
			return mlgen_fail(err, -EINVAL,
					  "'%.*s' is neither the name of a storage error, such as "
					  "EAGAIN or EIO, nor a number from 1 to %d",
					  (int)len, at, MLGEN_ERROR_MAX);
		kinds += at[len] == ',';
		if (kinds > 2)
			return mlgen_fail(
				err, -EINVAL,
				"'%s' has more than one list for reads and one list for writes; "
				"separate the errors of a list by colons, as in EIO:EAGAIN",
				text);
		if (!at[len])
			break;
	}
	return 0;
}

/* Does every operation of the job's accelerators count as a read? */
static bool only_reads(const struct job *j)
{
	return job_work(j)->has_accelerators;
}

static bool continues(const struct job *j, enum mlgen_op op)
{
	bool is_read = op == MLGEN_READ || only_reads(j);

	switch (j->continue_on_error) {
	case CONTINUE_ALL:
		return true;
	case CONTINUE_IO:
		return is_read || op == MLGEN_WRITE;
	case CONTINUE_READ:
		return is_read;
	case CONTINUE_WRITE:
		return op == MLGEN_WRITE && !is_read;
	default:
		return false;
	}
}

bool ignored_counts(const struct job *j, enum mlgen_op op, int error)
{
	bool is_read = op == MLGEN_READ || only_reads(j);
	const char *list = NULL;
	size_t len = 0;

	if (is_read || op == MLGEN_WRITE)
		list = error_list(j->ignore_error, is_read ? 0 : 1, &len);
	return len ? ignored_has(list, len, -error) : continues(j, op);
}

/* ---- options ---- */

/* Limit of CPU and node numbers, above those of any machine. */
#define CPUS_MAX 8192

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

/* A step of this many seconds or more is probably a mistake if it is written without a unit. The
 * longest step of MLPerf Storage, unet3d on v100, takes 1.36 s. */
#define COMPUTE_DOUBTFUL_S 10

/* The text of an option that ends without a unit; NULL = it has a unit, or is a default. */
static const char *without_unit(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);
	const char *raw = j->origins[f - job_fields].raw;

	return raw && *raw && isdigit((unsigned char)raw[strlen(raw) - 1]) ? raw : NULL;
}

/* Warn of values that are valid but seldom intended. */
static void warn_of_units(const struct job *j, struct diag *d)
{
	const char *time = without_unit(j, "compute_time");
	const char *scale = without_unit(j, "scale");
	double seconds = dist_mean(&j->compute_time) / (double)NS_PER_S;

	if (time && j->compute_time.kind != DIST_FILE && seconds >= COMPUTE_DOUBTFUL_S)
		diag_add(d, DIAG_WARNING, job_place(j, "compute_time"),
			 "compute_time: %s has no unit, so a step takes %g s; steps of MLPerf take "
			 "less than 2 s: write 323ms, or %gs if you mean seconds",
			 time, seconds, seconds);
	if (scale && j->scale <= 1)
		diag_add(d, DIAG_WARNING, job_place(j, "scale"),
			 "scale: %s has no unit and means %g %%; write %g%% for this value, or "
			 "%g%% for %g of the whole",
			 scale, j->scale, j->scale, j->scale * 100, j->scale);
}

static void check_errors(const struct job *j, struct diag *d)
{
	const struct u64_share *most = &j->max_errors;
	bool is_none = !most->count && !(most->percent > 0);
	/* Accelerators have no writes whose errors could be counted. */
	bool counts_any = (j->ignore_error && j->ignore_error[0]) ||
			  (j->continue_on_error != CONTINUE_NONE &&
			   !(only_reads(j) && j->continue_on_error == CONTINUE_WRITE));
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };

	if (ignored_check(j->ignore_error, &err) < 0)
		FAULT(d, j, "ignore_error", "%s", err.text);
	if (!job_work(j)->counts_errors || is_none || counts_any)
		return;
	job_option_text(j, "max_errors", &text);
	buf_add(&text, " may fail, but continue_on_error=");
	job_option_text(j, "continue_on_error", &text);
	FAULT(d, j, "max_errors",
	      "%s ends the run at the first error; set continue_on_error=all, or drop max_errors",
	      buf_str(&text));
	buf_fini(&text);
}

static void check_engine(const struct job *j, struct diag *d)
{
	const struct mlgen_engine *e = j->engine;
	const struct workload *w = job_work(j);

	if (j->direct && !(e->caps & (MLGEN_CAP_NO_FILES | MLGEN_CAP_DIRECT)))
		FAULT(d, j, "direct",
		      "ioengine=%s cannot move files opened with O_DIRECT; use direct=0 or "
		      "ioengine=psync",
		      e->name);
	/* The io layer can replace metadata operations of an engine, but not reads and writes. */
	if (w->needs_read && !(e->caps & MLGEN_CAP(MLGEN_READ)))
		FAULT(d, j, "ioengine", "%s cannot read; phase=%s needs an engine that can",
		      e->name, job_work_name(j));
	if (w->needs_write && !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine", "%s cannot write; phase=%s needs an engine that can",
		      e->name, job_work_name(j));
	if (w->checkpoints == CHECKPOINTS_OPTIONAL && job_has_checkpoints(j) &&
	    !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine",
		      "%s cannot write; checkpoint_every needs an engine that can", e->name);
	if (!e->reap && j->iodepth > 1)
		diag_add(d, DIAG_NOTE, job_place(j, "iodepth"),
			 "iodepth: ioengine=%s does one request at a time; mlgen uses 1, and more "
			 "%s increase the concurrency",
			 e->name, w->concurrency_option);
}

/* Parse the number of a CPU or node. Returns the rest of the text, or NULL. */
static const char *parse_cpu(const char *s, unsigned *cpu)
{
	*cpu = 0;
	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++) {
		*cpu = *cpu * 10 + (unsigned)(*s - '0');
		if (*cpu >= CPUS_MAX)
			return NULL;
	}
	return s;
}

static bool is_number_list(const char *s)
{
	for (;; s++) {
		unsigned first = 0, last = 0;

		s = parse_cpu(s, &first);
		if (s && *s == '-')
			s = parse_cpu(s + 1, &last);
		else
			last = first;
		if (!s || last < first || (*s && *s != ','))
			return false;
		if (!*s)
			return true;
	}
}

void job_check(const struct job *j, struct diag *d)
{
	const struct {
		const char *option, *path;
	} paths[] = {
		{ "directory", j->directory },
		{ "checkpoint_directory", j->checkpoint_directory },
		{ "cache_directory", j->cache_directory },
		{ "filename", j->filename },
		{ "tensor_sizes", j->tensor_sizes },
		{ "file_list", j->file_list },
		{ "scan_cache", j->scan_cache },
		{ "recorded_calls", j->recorded_calls },
		{ "write_iolog", j->write_iolog },
	};
	const struct f64_list *list = &j->percentile_list;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		pathname_check(paths[i].option, paths[i].path, job_place(j, paths[i].option), d);
	if (j->time_based && !j->runtime_ns)
		FAULT(d, j, "time_based", "needs runtime=; set runtime=60s, or drop time_based");
	warn_of_units(j, d);
	check_errors(j, d);
	for (unsigned i = 0; i < list->count; i++)
		for (unsigned k = 0; k < i; k++)
			if (list->values[i] <= list->values[k] &&
			    list->values[i] >= list->values[k])
				FAULT(d, j, "percentile_list", "%g is in the list twice",
				      list->values[i]);
	if (j->cpus_allowed && !is_number_list(j->cpus_allowed))
		FAULT(d, j, "cpus_allowed",
		      "'%s' is not a list of CPUs; write numbers and ranges separated by commas, "
		      "such as 0-3,8",
		      j->cpus_allowed);
	if (j->numa_cpu_nodes && strcmp(j->numa_cpu_nodes, "all") != 0 &&
	    !is_number_list(j->numa_cpu_nodes))
		FAULT(d, j, "numa_cpu_nodes",
		      "'%s' is not a list of NUMA nodes; write numbers and ranges separated by "
		      "commas, such as 0,2-3, or all",
		      j->numa_cpu_nodes);
	job_work(j)->check(j, d);
	if (j->engine)
		check_engine(j, d);
}

/* ---- the state of a model ---- */

#define RANKS_MAX 1000000u

/* Does the layout have sizes of its own? */
static bool is_pattern(const struct job *j)
{
	return j->checkpoint_layout == LAYOUT_PATTERN;
}

static bool is_transformer(const struct job *j)
{
	return !is_pattern(j) && j->model_layers;
}

static uint64_t ranks_of_a_copy(const struct job *j)
{
	return j->tensor_parallel * j->pipeline_parallel;
}

/* ---- the size that is saved ---- */

static int check_size(const struct job *j, struct mlgen_err *err)
{
	if (!is_pattern(j) && j->checkpoint_size_bytes && j->model_layers)
		return mlgen_fail(err, -EINVAL,
				  "checkpoint_size: replaces a model, but model_layers=%" PRIu64
				  " describes one; keep only one of the two",
				  j->model_layers);
	return 0;
}

static int check_list(const struct job *j, struct mlgen_err *err)
{
	const char *other = j->model_layers            ? "model_layers"
			    : j->checkpoint_size_bytes ? "checkpoint_size"
						       : NULL;

	if (!is_pattern(j) && j->tensor_sizes && other)
		return mlgen_fail(
			err, -EINVAL,
			"tensor_sizes: replaces a model, and so does %s; keep only one of the two",
			other);
	return 0;
}

static int check_some(const struct job *j, struct mlgen_err *err)
{
	if (!j->model_layers && !j->checkpoint_size_bytes && !j->tensor_sizes &&
	    j->checkpoint_layout != LAYOUT_PATTERN)
		return mlgen_fail(err, -EINVAL,
				  "model_layers: no option defines the saved data; describe a "
				  "model (model_layers=32 model_hidden=4096 ...), or set "
				  "checkpoint_size=1g or tensor_sizes=FILE");
	return 0;
}

/* ---- a transformer ---- */

/* model_hidden need not be a multiple of model_heads: the size of a head is rounded down, as in
 * DLIO. A model of MLPerf Storage has 25,872 and 192. */
static int check_hidden(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_hidden < j->model_heads)
		return mlgen_fail(err, -EINVAL,
				  "model_hidden: %" PRIu64 " is less than model_heads=%" PRIu64
				  ", and each head needs a part of it",
				  j->model_hidden, j->model_heads);
	if (is_transformer(j) && j->model_hidden % j->tensor_parallel)
		return mlgen_fail(err, -EINVAL,
				  "model_hidden: %" PRIu64
				  " is not a multiple of tensor_parallel=%" PRIu64
				  "; each rank needs an equal part",
				  j->model_hidden, j->tensor_parallel);
	return 0;
}

static int check_kv_heads(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_kv_heads > j->model_heads)
		return mlgen_fail(
			err, -EINVAL,
			"model_kv_heads: %" PRIu64 " is more than model_heads=%" PRIu64
			"; use model_heads or less, because heads can share keys and values",
			j->model_kv_heads, j->model_heads);
	return 0;
}

static int check_heads(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_heads % j->tensor_parallel)
		return mlgen_fail(err, -EINVAL,
				  "tensor_parallel: %" PRIu64
				  " ranks cannot share model_heads=%" PRIu64
				  " equally; use a divisor of model_heads",
				  j->tensor_parallel, j->model_heads);
	return 0;
}

static int check_ffn(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->model_ffn % j->tensor_parallel)
		return mlgen_fail(err, -EINVAL,
				  "model_ffn: %" PRIu64
				  " is not a multiple of tensor_parallel=%" PRIu64
				  "; each rank needs an equal part",
				  j->model_ffn, j->tensor_parallel);
	return 0;
}

static int check_stages(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->pipeline_parallel > j->model_layers)
		return mlgen_fail(err, -EINVAL,
				  "pipeline_parallel: %" PRIu64 " stages for %" PRIu64
				  " layers; use at most model_layers",
				  j->pipeline_parallel, j->model_layers);
	return 0;
}

static int check_zero(const struct job *j, struct mlgen_err *err)
{
	if (is_transformer(j) && j->zero_stage == 3 && j->pipeline_parallel > 1)
		return mlgen_fail(err, -EINVAL,
				  "zero_stage: 3 shards each layer over all copies and does not "
				  "work with pipeline_parallel=%" PRIu64
				  "; use pipeline_parallel=1, or zero_stage=1",
				  j->pipeline_parallel);
	return 0;
}

/* ---- ranks ---- */

static int check_ranks(const struct job *j, struct mlgen_err *err)
{
	uint64_t one = ranks_of_a_copy(j), ranks = job_ranks(j);

	if (ranks > RANKS_MAX)
		return mlgen_fail(err, -ERANGE,
				  "ranks: tensor_parallel=%" PRIu64 " pipeline_parallel=%" PRIu64
				  " data_parallel=%" PRIu64 " make %" PRIu64
				  " ranks, and the limit is %u",
				  j->tensor_parallel, j->pipeline_parallel, j->data_parallel, ranks,
				  RANKS_MAX);
	if (!j->data_parallel && ranks % one)
		return mlgen_fail(err, -EINVAL,
				  "ranks: %" PRIu64 "%s is not a multiple of %" PRIu64
				  ", the ranks of one copy of the model: tensor_parallel=%" PRIu64
				  " times pipeline_parallel=%" PRIu64 "; use %" PRIu64,
				  ranks, j->ranks ? "" : " (accelerators)", one, j->tensor_parallel,
				  j->pipeline_parallel, (ranks / one + 1) * one);
	return 0;
}

static int check_copies(const struct job *j, struct mlgen_err *err)
{
	uint64_t one = ranks_of_a_copy(j);

	if (j->ranks && j->data_parallel && j->ranks != one * j->data_parallel)
		return mlgen_fail(
			err, -EINVAL,
			"data_parallel: %" PRIu64 " copies on %" PRIu64
			" ranks each (tensor_parallel times pipeline_parallel) are %" PRIu64
			", not ranks=%" PRIu64 "; leave out one of these options",
			j->data_parallel, one, one * j->data_parallel, j->ranks);
	return 0;
}

static int check_local(const struct job *j, struct mlgen_err *err)
{
	struct ranges local;
	int rc = job_local_ranks(j, &local, err);

	ranges_fini(&local);
	return rc;
}

/* ---- limits ---- */

static int too_much(const char *option, struct mlgen_err *err)
{
	return mlgen_fail(err, -ERANGE, "%s: the state of all ranks would have more than 8 EiB",
			  option);
}

/* Norms are copied to every tensor-parallel rank, the rest is divided among them. */
static int check_model_bytes(const struct job *j, struct mlgen_err *err)
{
	double h = (double)j->model_hidden, layers = (double)j->model_layers;
	double tensor_parallel = (double)j->tensor_parallel;
	double ranks = (double)job_ranks(j);
	double kv = h / (double)j->model_heads * (double)j->model_kv_heads;
	double norms = (2 * layers + 1) * h;
	double rest = 2 * h * (double)j->model_vocabulary +
		      layers * h * (2 * h + 2 * kv + 3 * (double)j->model_ffn);
	double bytes = (double)j->model_bytes * (tensor_parallel * norms + rest) +
		       3 * (double)j->optimizer_bytes * (norms + rest + 5 * h * ranks);

	return is_transformer(j) && bytes > MODEL_BYTES_MAX ? too_much("model_layers", err) : 0;
}

static int check_size_bytes(const struct job *j, struct mlgen_err *err)
{
	return (double)j->checkpoint_size_bytes * (double)job_ranks(j) > MODEL_BYTES_MAX
		       ? too_much("checkpoint_size", err)
		       : 0;
}

static const struct {
	const char *option;
	int (*check)(const struct job *j, struct mlgen_err *err);
} rules[] = {
	{ "checkpoint_size", check_size },
	{ "tensor_sizes", check_list },
	{ "model_layers", check_some },
	{ "model_hidden", check_hidden },
	{ "model_kv_heads", check_kv_heads },
	{ "tensor_parallel", check_heads },
	{ "model_ffn", check_ffn },
	{ "pipeline_parallel", check_stages },
	{ "zero_stage", check_zero },
	{ "ranks", check_ranks },
	{ "data_parallel", check_copies },
	{ "checkpoint_ranks", check_local },
	{ "model_layers", check_model_bytes },
	{ "checkpoint_size", check_size_bytes },
};

const char *job_check_model(const struct job *j, unsigned i, int *rc, struct mlgen_err *err)
{
	if (i >= ARRAY_LEN(rules))
		return NULL;
	*rc = rules[i].check(j, err);
	return rules[i].option;
}

/* ---- options whose values are guesses ---- */

#define BLANKS " \t"

/* The name at *at, which the caller frees. *at advances to the next name, NULL after the last. */
static char *next_name(const char **at)
{
	const char *name = *at + strspn(*at, BLANKS);
	size_t len = strcspn(name, ",");

	*at = name[len] ? name + len + 1 : NULL;
	while (len && strchr(BLANKS, name[len - 1]))
		len--;
	return mem_strndup(name, len);
}

void guess_check(const struct job *j, struct diag *d)
{
	const struct mlgen_field *const tables[] = { job_fields, NULL };
	const char *at = j->guess;

	while (at) {
		char *name = next_name(&at);
		bool is_known = field_find(job_fields, name);
		const char *nearest = is_known || !*name ? NULL : field_nearest(tables, name);

		if (!*name)
			FAULT(d, j, "guess",
			      "'%s': a name is missing; write options separated by commas, such as "
			      "compute_time,batch_size",
			      j->guess);
		else if (!is_known)
			FAULT(d, j, "guess", "'%s': unknown option%s%s%s", name,
			      nearest ? "; did you mean '" : "", nearest ? nearest : "",
			      nearest ? "'?" : "");
		mem_free(name);
	}
}

static bool is_on_command_line(const struct job *j, const struct mlgen_field *f)
{
	const struct job_origin *o = &j->origins[f - job_fields];

	return o->raw && !o->at.file;
}

void guess_text(const struct job *j, struct buf *out)
{
	const char *at = j->guess, *between = "";

	while (at) {
		char *name = next_name(&at);
		const struct mlgen_field *f = field_find(job_fields, name);

		if (f && (!is_on_command_line(j, f) ||
			  is_on_command_line(j, field_find(job_fields, "guess")))) {
			buf_addf(out, "%s%s is a guess of its source", between, name);
			between = "; ";
		}
		mem_free(name);
	}
}
