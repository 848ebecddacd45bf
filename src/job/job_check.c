/* SPDX-License-Identifier: Apache-2.0 */
/* job_check.c - what relates two options of a job. */
#include "job/job.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "job/ignored.h"
#include "job/pathname.h"
#include "job/workload.h"

/* Above any machine's CPUs and nodes, and against overflow of the number. */
#define CPUS_MAX 8192

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

/* Seconds of a step from which on a number without a unit is taken for a slip: the longest of
 * MLPerf Storage, unet3d on v100, takes 1.36 s. */
#define COMPUTE_DOUBTED 10

/* The text of an option that ends without a unit; NULL = it has one, or is a default. */
static const char *without_unit(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);
	const char *raw = j->origins[f - job_fields].raw;

	return raw && *raw && isdigit((unsigned char)raw[strlen(raw) - 1]) ? raw : NULL;
}

/* Values that are right and seldom meant. */
static void warn_of_units(const struct job *j, struct diag *d)
{
	const char *time = without_unit(j, "compute_time");
	const char *scale = without_unit(j, "scale");
	double seconds = dist_mean(&j->compute_time) / (double)NS_PER_S;

	if (time && j->compute_time.kind != DIST_FILE && seconds >= COMPUTE_DOUBTED)
		diag_add(d, DIAG_WARNING, job_place(j, "compute_time"),
			 "compute_time: %s has no unit, so a step takes %g s; MLPerf's steps take "
			 "less than 2 s: write 323ms, or %gs if that is meant",
			 time, seconds, seconds);
	if (scale && j->scale <= 1)
		diag_add(d, DIAG_WARNING, job_place(j, "scale"),
			 "scale: %s has no unit and is %g %%; write %g%% for that, or %g%% for %g "
			 "of all",
			 scale, j->scale, j->scale, j->scale * 100, j->scale);
}

static void check_times(const struct job *j, struct diag *d)
{
	if (j->time_based && !j->runtime_ns)
		FAULT(d, j, "time_based", "needs a runtime; set runtime=60s, or drop time_based");
}

static void check_errors(const struct job *j, struct diag *d)
{
	const struct u64_share *most = &j->max_errors;
	bool is_none = !most->count && !(most->percent > 0);
	struct mlgen_err err = { 0 };
	struct buf text = { 0 };

	if (ignored_check(j->ignore_error, &err) < 0)
		FAULT(d, j, "ignore_error", "%s", err.text);
	if (!job_work(j)->counts_errors || is_none || ignored_any(j))
		return;
	job_option_text(j, "max_errors", &text);
	buf_add(&text, " may fail, but continue_on_error=");
	job_option_text(j, "continue_on_error", &text);
	FAULT(d, j, "max_errors",
	      "%s ends the run at the first; set continue_on_error=all, or drop max_errors",
	      buf_str(&text));
	buf_fini(&text);
}

static void job_check_direct(const struct job *j, struct diag *d)
{
	const struct mlgen_engine *e = j->engine;

	if (!j->direct || (e->caps & MLGEN_CAP_NO_FILES))
		return;
	if (!(e->caps & MLGEN_CAP_DIRECT))
		FAULT(d, j, "direct",
		      "ioengine=%s cannot move files opened with O_DIRECT; use direct=0 or "
		      "ioengine=psync",
		      e->name);
}

static void check_depth(const struct job *j, struct diag *d)
{
	if (!j->engine->reap && j->iodepth > 1)
		diag_add(d, DIAG_NOTE, job_place(j, "iodepth"),
			 "iodepth: ioengine=%s does one request at a time; 1 is used, and more %s "
			 "do more at once",
			 j->engine->name, job_work(j)->more_at_once);
}

/* The io layer does metadata operations itself, but never these. */
static void check_engine(const struct job *j, struct diag *d)
{
	const struct mlgen_engine *e = j->engine;
	const struct workload *w = job_work(j);

	if (w->needs_read && !(e->caps & MLGEN_CAP(MLGEN_READ)))
		FAULT(d, j, "ioengine", "%s cannot read; phase=%s needs an engine that can",
		      e->name, job_work_name(j));
	if (w->needs_write && !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine", "%s cannot write; phase=%s needs an engine that can",
		      e->name, job_work_name(j));
	if (w->checkpoints == CHECKPOINTS_ASKED && job_has_checkpoints(j) &&
	    !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine",
		      "%s cannot write; checkpoint_every needs an engine that can", e->name);
}

static void check_percentiles(const struct job *j, struct diag *d)
{
	const struct f64_list *list = &j->percentile_list;

	for (unsigned i = 0; i < list->count; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (list->values[i] <= list->values[k] &&
			    list->values[i] >= list->values[k])
				FAULT(d, j, "percentile_list", "%g stands in the list twice",
				      list->values[i]);
		}
	}
}

/* The number of a CPU or node; the rest of the text, or NULL. */
static const char *read_cpu(const char *s, unsigned *cpu)
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

		s = read_cpu(s, &first);
		if (s && *s == '-')
			s = read_cpu(s + 1, &last);
		else
			last = first;
		if (!s || last < first || (*s && *s != ','))
			return false;
		if (!*s)
			return true;
	}
}

static void check_cpus(const struct job *j, struct diag *d)
{
	if (j->cpus_allowed && !is_number_list(j->cpus_allowed))
		FAULT(d, j, "cpus_allowed",
		      "'%s' is no list of CPUs; write numbers and ranges with commas, such as "
		      "0-3,8",
		      j->cpus_allowed);
	if (j->numa_cpu_nodes && strcmp(j->numa_cpu_nodes, "all") != 0 &&
	    !is_number_list(j->numa_cpu_nodes))
		FAULT(d, j, "numa_cpu_nodes",
		      "'%s' is no list of NUMA nodes; write numbers and ranges with commas, such "
		      "as 0,2-3, or all",
		      j->numa_cpu_nodes);
}

static void check_paths(const struct job *j, struct diag *d)
{
	const struct {
		const char *option, *path;
	} all[] = {
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

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		pathname_check(all[i].option, all[i].path, job_place(j, all[i].option), d);
}

void job_check(const struct job *j, struct diag *d)
{
	check_paths(j, d);
	check_times(j, d);
	warn_of_units(j, d);
	check_errors(j, d);
	check_percentiles(j, d);
	check_cpus(j, d);
	job_work(j)->check(j, d);
	if (j->engine) {
		job_check_direct(j, d);
		check_engine(j, d);
		check_depth(j, d);
	}
}
