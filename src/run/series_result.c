/* SPDX-License-Identifier: Apache-2.0 */
/* series_result.c - see series_result.h: the rows of a job over time. */
#include "run/series_result.h"

#include "base/mem.h"

/* clang-format off */

#define S struct series_phase
const struct mlgen_field metrics_series_phase_fields[] = {
	{ "phase", METRICS_TEXT(S, phase),
	  .help = "What the job is at, as the column of the log." },
	{ "begin_seconds", MLGEN_F_F64(S, begin_seconds), .unit = "s",
	  .help = "Since when." },
	{ 0 },
};
#undef S

#define S struct series_latency
const struct mlgen_field metrics_series_latency_fields[] = {
	{ "operation", METRICS_TEXT(S, operation),
	  .help = "Of what: read, write, sample or stall, as the columns of these names." },
	{ "intervals_each", MLGEN_F_U64(S, intervals_each), .unit = "intervals",
	  .help = "So many intervals are in a row of counts; the last may have fewer." },
	{ "from_ns", METRIC_F64S(S, from_ns), .unit = "ns",
	  .help = "Least latency of each bin, four to a power of two; it ends where the next begins." },
	{ "counts", METRIC_F64S(S, counts), .unit = "operations",
	  .help = "Operations in each bin, row by row." },
	{ 0 },
};
#undef S

#define S struct series_job
/* Of the name, the unit and the meaning of the log's. */
#define COLUMN(name) { #name, METRIC_F64S(S, name), .help = "As the column of the log." }
const struct mlgen_field metrics_series_job_fields[] = {
	{ "job", METRICS_TEXT(S, job),
	  .help = "Name of the job." },
	{ "intervals", MLGEN_F_U64(S, intervals), .unit = "intervals",
	  .help = "How many there are; each list has as many values, null where it does not apply." },
	{ "looks_each", MLGEN_F_U64(S, looks_each), .unit = "looks",
	  .help = "So many times interval_seconds is an interval long; the last may be shorter." },
	{ "begin_seconds", METRIC_F64S(S, begin_seconds), .unit = "s",
	  .help = "Begin of each interval, since the start of the run." },
	{ "end_seconds", METRIC_F64S(S, end_seconds), .unit = "s",
	  .help = "Its end." },
	{ "seconds", METRIC_F64S(S, seconds), .unit = "s",
	  .help = "Its length, without what lies between its parts: what rates are per." },
	COLUMN(epoch),
	COLUMN(step),
	COLUMN(samples),
	COLUMN(sample_bytes),
	COLUMN(io_bytes),
	COLUMN(au_percent),
	COLUMN(stall_percent),
	COLUMN(cpu_percent),
	COLUMN(resident_bytes),
	COLUMN(page_cache_bytes),
	COLUMN(read_ios),
	COLUMN(write_ios),
	COLUMN(read_bytes),
	COLUMN(write_bytes),
	COLUMN(checkpoint),
	COLUMN(checkpoint_bytes),
	COLUMN(errors),
	COLUMN(hit_percent),
	COLUMN(read_p50_ns),
	COLUMN(read_p99_ns),
	COLUMN(read_max_ns),
	COLUMN(write_p50_ns),
	COLUMN(write_p99_ns),
	COLUMN(write_max_ns),
	COLUMN(sample_p50_ns),
	COLUMN(sample_p99_ns),
	COLUMN(sample_max_ns),
	COLUMN(stall_p50_ns),
	COLUMN(stall_p99_ns),
	COLUMN(stall_max_ns),
	COLUMN(switches_per_sec),
	COLUMN(received_bytes_per_sec),
	COLUMN(sent_bytes_per_sec),
	{ "phases", METRIC_LIST(S, phases, struct series_phase, metrics_series_phase_fields),
	  .help = "What the job was at, one after the other." },
	{ "latencies", METRIC_LIST(S, latencies, struct series_latency, metrics_series_latency_fields),
	  .help = "How many operations took how long, over time." },
	{ 0 },
};
#undef COLUMN
#undef S

#define S struct series_result
const struct mlgen_field metrics_series_fields[] = {
	{ "interval_seconds", MLGEN_F_F64(S, interval_seconds), .unit = "s",
	  .help = "Time between two looks at the jobs (log_interval)." },
	{ "jobs", METRIC_LIST(S, jobs, struct series_job, metrics_series_job_fields),
	  .help = "One of each job of the command line, as far as they ran." },
	{ 0 },
};
#undef S

/* clang-format on */

void series_job_fini(struct series_job *s)
{
	const struct series_latency *l = s->latencies.items;

	for (size_t i = 0; i < s->latencies.count; i++) {
		mem_free(l[i].from_ns.items);
		mem_free(l[i].counts.items);
	}
	for (const struct mlgen_field *f = metrics_series_job_fields; f->name; f++)
		if (f->type == MLGEN_F64_ARRAY || f->type == MLGEN_LIST)
			mem_free(((struct metric_list *)((char *)s + f->off))->items);
}

void series_result_fini(struct series_result *s)
{
	struct series_job *jobs = s->jobs.items;

	for (size_t i = 0; i < s->jobs.count; i++)
		series_job_fini(&jobs[i]);
	mem_free(jobs);
	s->jobs = (struct metric_list){ 0 };
}
