/* SPDX-License-Identifier: Apache-2.0 */
/* results_older.c - see results_older.h. */
#include "ask/results_older.h"

#include <math.h>
#include <string.h>

#include "data/formats/parquet/parquet.h"

static const char *option_of(json_t *job, const char *option)
{
	json_t *all = json_object_get(job, "options_resolved");

	return json_string_value(json_object_get(all, option));
}

/* 0 where it is null, or missing. */
static double results_older_number(json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* What could not be counted is damage, and stays. */
static void set_count(json_t *o, const char *key, double n)
{
	if (n >= 0 && n < 0x1p62)
		json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* What is no number stays what it is. */
static void set_rate(json_t *o, const char *key, double n, double seconds)
{
	if (seconds > 0 && json_is_number(json_object_get(o, key)))
		json_object_set_new(o, key, json_real(n / seconds));
}

/* The bytes of evaluations were among the training's. Both read in the same way, so that each has
 * its part by its payload. */
static void split_io_bytes(json_t *ml, json_t *eval)
{
	double all = results_older_number(ml, "io_bytes");
	double payload = results_older_number(eval, "sample_bytes");
	double part = payload / (results_older_number(ml, "sample_bytes") + payload);

	if (!(payload > 0) || !(all > 0))
		part = 0;
	part = floor(all * part);
	set_count(eval, "io_bytes", part);
	json_object_set_new(eval, "io_bytes_per_sec", json_null());
	if (!(part > 0))
		return;
	set_count(ml, "io_bytes", all - part);
	set_rate(ml, "io_bytes_per_sec", all - part, results_older_number(ml, "wall_seconds"));
	if (results_older_number(eval, "seconds") > 0)
		json_object_set_new(eval, "io_bytes_per_sec",
				    json_real(part / results_older_number(eval, "seconds")));
}

static void set_direction(json_t *d, double seconds)
{
	double bytes = results_older_number(d, "io_bytes");

	if (!(results_older_number(d, "total_ios") > 0))
		return;
	set_count(d, "runtime", seconds * 1e3);
	set_count(d, "bw_bytes", bytes / seconds);
	set_count(d, "bw", floor(bytes / seconds) / 1024);
	set_rate(d, "iops", results_older_number(d, "total_ios"), seconds);
}

/* It was the time of the epochs alone. */
static void set_runtime(json_t *job, json_t *ml, json_t *eval)
{
	json_t *saves = json_object_get(ml, "saves");
	double seconds = results_older_number(ml, "wall_seconds") +
			 results_older_number(eval, "seconds") +
			 results_older_number(saves, "stall_seconds");

	seconds = fmax(seconds, results_older_number(saves, "wall_seconds"));
	if (!(seconds > 0))
		return;
	set_count(job, "job_runtime", seconds * 1e3);
	set_direction(json_object_get(job, "read"), seconds);
	set_direction(json_object_get(job, "write"), seconds);
}

/* The columns that are read, of a whole row. */
static double part_of_row(json_t *job)
{
	const char *format = option_of(job, "format");
	const char *text = option_of(job, "columns");
	struct columns c = { 0 };
	double part = 1;

	if (!format || strcmp(format, "parquet") != 0 || !text)
		return 1;
	if (columns_parse(&c, text, NULL) == 0 &&
	    columns_select(&c, option_of(job, "read_columns"), NULL) == 0)
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

/* A search whose runs were this job's. What it required stays with its limit, which stands in the
 * words of whoever asked. */
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

/* Samples were whole rows, whichever columns were read; but those of MLPerf's figures were not. */
static void take_columns(json_t *root, json_t *job, json_t *dataset)
{
	double part = part_of_row(job);
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

void results_older_job(json_t *root, json_t *job)
{
	json_t *dataset = json_object_get(job, "dataset");
	const char *phase = option_of(job, "phase");
	json_t *ml = json_object_get(job, "ml");
	json_t *eval = json_object_get(ml, "eval");

	if (json_is_object(dataset) && !json_object_get(dataset, "row_bytes"))
		take_columns(root, job, dataset);
	if (!phase || strcmp(phase, "train") != 0 || !json_is_object(eval) ||
	    json_object_get(eval, "io_bytes"))
		return;
	split_io_bytes(ml, eval);
	set_runtime(job, ml, eval);
}
