/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_summary.c - prints summary.json, with DLIO's meaning of each key. */
#include "import/dlio/dlio.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "ask/mlperf/mlperf.h"
#include "base/files.h"
#include "base/log.h"
#include "base/util.h"
#include "job/job.h"

/* DLIO's default of metric.au, in percent. */
#define DEFAULT_AU 90

/* The jobs that the summary is about; NULL = no such job. */
struct subject {
	const struct job_result *training, *save, *restore;
	const struct mlperf_rules *rules; /* determine the measuring window */
};

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static void set_real(json_t *o, const char *key, double v)
{
	json_object_set_new(o, key, real(v));
}

static void set_count(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* Set a text, or "?" if it is not UTF-8. */
static void set_text(json_t *o, const char *key, const char *text)
{
	json_t *value = json_string(text);

	json_object_set_new(o, key, value ? value : json_string("?"));
}

/* ---- values: their list, mean and population deviation ---- */

struct values {
	json_t *list;
	double sum, sum_squares;
	size_t n;
};

static struct values values_new(void)
{
	return (struct values){ .list = json_array() };
}

static void values_add(struct values *s, double v)
{
	if (isnan(v))
		return;
	json_array_append_new(s->list, real(v));
	s->sum += v;
	s->sum_squares += v * v;
	s->n++;
}

static double values_mean(const struct values *s)
{
	return s->n ? s->sum / (double)s->n : (double)NAN;
}

static double values_stdev(const struct values *s)
{
	double mean = values_mean(s);

	return s->n ? sqrt(fmax(0, s->sum_squares / (double)s->n - mean * mean)) : (double)NAN;
}

/* ---- the run and its host ---- */

/* Set a time as "2026-11-21T09:12:40.123000", local time. */
static void set_time(json_t *o, const char *key, uint64_t ms)
{
	char date[32], text[64];
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06u", date, (unsigned)(ms % 1000) * 1000);
	set_text(o, key, text);
}

static char *trimmed(char *s)
{
	s += strspn(s, " \t");
	size_t len = strcspn(s, "\n");
	while (len && strchr(" \t", s[len - 1]))
		len--;
	s[len] = '\0';
	return s;
}

/* Set an object of "key : value" lines. Of several CPUs, the last is used, as in DLIO. */
static void set_lines(json_t *o, const char *key, const char *path)
{
	char line[4096];
	FILE *from = fopen(path, "re");

	if (!from)
		return;
	json_t *values = json_object();
	while (fgets(line, sizeof(line), from)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		const char *name = trimmed(line);
		if (strcmp(name, "processor") != 0)
			set_text(values, name, trimmed(colon + 1));
	}
	fclose(from);
	json_object_set_new(o, key, values);
}

static json_t *list_of(json_t *value)
{
	json_t *list = json_array();

	json_array_append_new(list, value);
	return list;
}

/* ---- metric ---- */

/* Set "train_au_percentage", its mean and its deviation. The list moves to the object. */
static void set_values(json_t *o, const char *const keys[3], struct values *s)
{
	json_object_set_new(o, keys[0], s->list);
	set_real(o, keys[1], values_mean(s));
	set_real(o, keys[2], values_stdev(s));
}

/* Add the object "metric". Returns the number of epochs. */
static size_t add_training(json_t *metric, const struct subject *s)
{
	static const char *const au_keys[] = { "train_au_percentage", "train_au_mean_percentage",
					       "train_au_stdev_percentage" };
	static const char *const rate_keys[] = { "train_throughput_samples_per_second",
						 "train_throughput_mean_samples_per_second",
						 "train_throughput_stdev_samples_per_second" };
	const struct job_result *r = s->training;
	const struct mlperf_epoch *epochs = r->ml.mlperf_epochs.items;
	struct values au = values_new(), rate = values_new();
	double mb = dist_mean(&r->dataset->sample_size) / BYTES_PER_MIB;
	double target = isnan(r->job->target_au) ? DEFAULT_AU : r->job->target_au;

	for (size_t i = 0; i < r->ml.mlperf_epochs.count; i++) {
		const char *epoch = (const char *)&epochs[i];

		values_add(&au, epochs[i].au_percent);
		values_add(&rate, *(const double *)(const void *)(epoch + s->rules->epoch_rate));
	}
	set_values(metric, au_keys, &au);
	set_text(metric, "train_au_meet_expectation",
		 values_mean(&au) >= target ? "success" : "fail");
	set_values(metric, rate_keys, &rate);
	set_real(metric, "train_io_mean_MB_per_second", values_mean(&rate) * mb);
	set_real(metric, "train_io_stdev_MB_per_second", values_stdev(&rate) * mb);
	return au.n;
}

/* Mean and deviation of GiB/s, then of seconds. */
static const char *const save_keys[4] = {
	"save_checkpoint_io_mean_GB_per_second",
	"save_checkpoint_io_stdev_GB_per_second",
	"save_checkpoint_duration_mean_seconds",
	"save_checkpoint_duration_stdev_seconds",
};
static const char *const load_keys[4] = {
	"load_checkpoint_io_mean_GB_per_second",
	"load_checkpoint_io_stdev_GB_per_second",
	"load_checkpoint_duration_mean_seconds",
	"load_checkpoint_duration_stdev_seconds",
};

static void add_checkpoints(json_t *metric, const char *const keys[4],
			    const struct checkpoints_result *c)
{
	const struct checkpoint_result *items = c->items.items;
	struct values rate, seconds;

	if (!c->count)
		return;
	rate = values_new();
	seconds = values_new();
	for (size_t i = 0; i < c->items.count; i++)
		if (items[i].complete) {
			values_add(&rate, items[i].bytes_per_sec / BYTES_PER_GIB);
			values_add(&seconds, items[i].seconds);
		}
	set_real(metric, keys[0], values_mean(&rate));
	set_real(metric, keys[1], values_stdev(&rate));
	set_real(metric, keys[2], values_mean(&seconds));
	set_real(metric, keys[3], values_stdev(&seconds));
	set_real(metric, "checkpoint_size_GB", (double)c->bytes_per_checkpoint / BYTES_PER_GIB);
	json_decref(rate.list);
	json_decref(seconds.list);
}

/* Add the object "metric". Returns the number of epochs. */
static size_t add_metric(json_t *o, const struct subject *s)
{
	const struct job_result *r = s->training;
	json_t *metric = json_object();
	size_t epochs = 0;

	if (r) {
		epochs = add_training(metric, s);
		if (r->job->eval_files) {
			/* The mean over all evaluations. mlgen does not measure each of them. */
			double mb = dist_mean(&r->dataset->sample_size) / BYTES_PER_MIB;
			double rate = r->ml.eval.samples_per_sec;

			set_real(metric, "eval_throughput_mean_samples_per_second", rate);
			set_real(metric, "eval_io_mean_MB_per_second", rate * mb);
		}
		add_checkpoints(metric, save_keys, &r->ml.saves);
	}
	if (s->save)
		add_checkpoints(metric, save_keys, &s->save->ml.saves);
	if (s->restore)
		add_checkpoints(metric, load_keys, &s->restore->ml.restores);
	json_object_set_new(o, "metric", metric);
	return epochs;
}

/* ---- the jobs of a summary ---- */

static bool dlio_summary_find(struct subject *s, const struct run_result *r,
			      const struct jobset *set)
{
	*s = (struct subject){
		.rules = mlperf_rules_of(set->settings.check),
	};
	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];
		bool is_restore = job_work(j->job)->restores;
		const struct job_result **to = j->work && workload_trains(j->work) ? &s->training
					       : !job_result_is_of_checkpoints(j)  ? NULL
					       : is_restore                        ? &s->restore
										   : &s->save;

		if (to && !*to)
			*to = j;
	}
	if (s->training)
		s->save = s->restore = NULL;
	return s->training || s->save || s->restore;
}

int dlio_summary_check(const struct jobset *set, struct mlgen_err *err)
{
	if (set->settings.dry_run)
		return mlgen_fail(err, -EINVAL,
				  "output-format=dlio: a dry run has no results; "
				  "--output-format=json has the plan");
	for (size_t i = 0; i < set->count; i++) {
		const struct workload *w = job_work(set->jobs[i]);

		if (workload_trains(w) || w->checkpoints == CHECKPOINTS_ALWAYS)
			return 0;
	}
	return mlgen_fail(err, -EINVAL,
			  "output-format=dlio: DLIO's summary needs a training or checkpoints, and "
			  "no job has them; --output-format=json has all jobs");
}

int dlio_summary(FILE *to, const struct run_result *r, const struct jobset *set)
{
	const struct host *host = &r->host;
	const struct dataset *ds;
	struct subject s;
	struct utsname uts;
	double bytes, seconds = 0;

	if (!dlio_summary_find(&s, r, set)) {
		log_error("output-format=dlio: no training or checkpoint got far enough to have a "
			  "summary");
		return -EINVAL;
	}
	json_t *o = json_object();
	set_time(o, "start", r->timestamp_ms);
	set_count(o, "num_accelerators",
		  s.training ? s.training->ml.accelerators
		  : s.save   ? s.save->ml.saves.ranks
			     : s.restore->ml.restores.ranks);
	set_count(o, "num_hosts", 1 + host->other_hosts);
	set_text(o, "hostname", host->hostname);
	size_t epochs = add_metric(o, &s);
	/* DLIO also has the keys of a dataset for checkpoints alone. */
	ds = s.training ? s.training->dataset : NULL;
	bytes = ds ? (double)dataset_samples(ds) * dist_mean(&ds->sample_size) : 0;
	set_count(o, "num_files_train", ds ? ds->files : 0);
	set_count(o, "num_files_eval", s.training ? s.training->job->eval_files : 0);
	set_count(o, "num_samples_per_file", ds ? ds->samples_per_file : 1);
	set_real(o, "data_size_per_host_GB", bytes / BYTES_PER_GIB);
	json_object_set_new(o, "potential_caching",
			    list_of(json_integer((double)host->memory_bytes > bytes)));
	json_object_set_new(o, "host_memory_GB",
			    list_of(real((double)host->memory_bytes / BYTES_PER_GIB)));
	json_object_set_new(o, "host_cpu_count",
			    list_of(json_integer((json_int_t)host->cpus_online)));
	if (uname(&uts) == 0)
		set_text(o, "host_processor_name", uts.machine);
	set_lines(o, "host_cpuinfo", "/proc/cpuinfo");
	set_lines(o, "host_meminfo", "/proc/meminfo");
	set_count(o, "epochs", epochs);
	for (size_t i = 0; i < r->job_count; i++)
		seconds = fmax(seconds, r->jobs[i].elapsed_seconds);
	set_time(o, "end", r->timestamp_ms + (uint64_t)(seconds * 1e3));
	int rc = jsonfile_dump(to, o, JSON_INDENT(2));
	json_decref(o);
	return rc || fputc('\n', to) == EOF ? -EIO : 0;
}
