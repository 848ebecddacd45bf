/* SPDX-License-Identifier: Apache-2.0 */
/* series_result.h - a job over time, as plain data that the document has. */
#pragma once

#include <mlgen/field.h>

#include "stat/metric.h"

/* From then on it was at this. */
struct series_phase {
	const char *phase;
	double begin_seconds;
};

/* How many operations took how long, over time. */
struct series_latency {
	const char *operation;      /* "read", "write", "sample", "stall" */
	uint64_t intervals_each;    /* that a row of counts is of */
	struct metric_list from_ns; /* least of each bin */
	struct metric_list counts;  /* row by row, of each bin */
};

/* Lists of doubles, one of each interval; NaN = it does not apply. */
struct series_job {
	const char *job; /* borrowed */
	uint64_t intervals, looks_each;
	struct metric_list begin_seconds, end_seconds, seconds;
	struct metric_list epoch, step, samples, sample_bytes, io_bytes, au_percent, stall_percent,
		cpu_percent, resident_bytes, page_cache_bytes, read_ios, write_ios, read_bytes,
		write_bytes, checkpoint, checkpoint_bytes, errors, hit_percent, read_p50_ns,
		read_p99_ns, read_max_ns, write_p50_ns, write_p99_ns, write_max_ns, sample_p50_ns,
		sample_p99_ns, sample_max_ns, stall_p50_ns, stall_p99_ns, stall_max_ns,
		switches_per_sec, received_bytes_per_sec, sent_bytes_per_sec;
	struct metric_list phases;    /* series_phase */
	struct metric_list latencies; /* series_latency */
};

/* No jobs: nobody asked for it. */
struct series_result {
	double interval_seconds; /* between two looks */
	struct metric_list jobs; /* series_job */
};

/* What series_finish has made. */
void series_job_fini(struct series_job *s);
void series_result_fini(struct series_result *s);

extern const struct mlgen_field metrics_series_phase_fields[];
extern const struct mlgen_field metrics_series_latency_fields[];
extern const struct mlgen_field metrics_series_job_fields[];
extern const struct mlgen_field metrics_series_fields[]; /* series_result */
