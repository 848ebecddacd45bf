/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - figures of a running job, now and over time, and the threads of its trace. */
#pragma once

/*
 * A look (struct live) is a copy of the counters of a running job, made by any thread while the job
 * runs; the difference of two looks is an interval. A series stores a bounded number of intervals,
 * which become longer during a run, and turns them into plain data for a document. The threads of a
 * trace are told apart by their number and the time, since the kernel reuses numbers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "io/io.h"
#include "stat/hist.h"
#include "field/fields.h"
#include "trace/tracer.h"

struct host_look;
struct series;
struct clock;
struct traced_threads;
struct tracer;

/* ---- a look at a running job, for the status line and the log ---- */

enum live_phase {
	LIVE_WAIT,
	LIVE_PREPARE,
	LIVE_DROP,
	LIVE_TRAIN,
	LIVE_CHECKPOINT, /* phase=checkpoint, phase=restore; checkpoint_* */
	LIVE_IO,         /* a plain job */
	LIVE_DONE
};

/*
 * Sums since the start of the run, over all ranks, read from single-writer relaxed counters.
 * Subtract two looks to get an interval. A counter may lag by one operation.
 */
struct live {
	const char *job_name;
	enum live_phase phase;
	uint64_t now_ns; /* the run's clock */
	/* train */
	uint64_t epoch, epochs; /* counted from 1; epochs 0 = unknown (time_based) */
	uint64_t step, steps;   /* rank 0's step in this epoch, from 1 */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t compute_ns; /* requested by finished steps, without failed samples */
	uint64_t step_ns;    /* wall time of finished steps */
	uint64_t stall_ns;
	uint64_t accesses, hits; /* samples looked up and found in a cache tier */
	uint64_t waiting_ns;     /* longest of the stalls in progress */
	uint64_t left_ns;        /* estimate; UINT64_MAX = unknown */
	double done_percent;     /* done part of the phase, from left_ns; NaN = unknown */
	/* Histograms since the start. They belong to the caller (live_hists_new); any may be
	 * NULL. */
	struct hist *stall;          /* all accelerators */
	struct hist *lat[MLGEN_OPS]; /* submission to completion, of all workers */
	struct hist *sample;         /* first submission to last completion */
	/* Sums over all workers: time in calls or waiting for requests, time waiting for room, and
	 * time of workers that are active. */
	uint64_t inside_ns, idle_ns, worker_ns;
	struct io_outstanding oldest;
	uint64_t errors; /* counted by continue_on_error */
	/* The main phase of the job, whatever its phase is now. */
	enum live_phase work;
	bool has_worked; /* the main phase has begun */
	/* 0 read, 1 write: operations, including those in chains, and transferred bytes, of all
	 * threads of the job. */
	uint64_t io_ios[2], io_moved[2];
	/* checkpoints, including those of a training job; checkpoint 0 = none was begun */
	uint64_t checkpoint, checkpoints;           /* counted from 1; checkpoints 0 = unknown */
	uint64_t checkpoint_done, checkpoint_bytes; /* current checkpoint */
	uint64_t checkpoint_moved;                  /* bytes of all checkpoints so far */
	bool is_checkpointing, is_restore;
	/* prepare, and the layout of a plain job's files */
	uint64_t files_done, files_total, bytes_done, bytes_total;
};

/* Allocate all histograms of a look, empty; free them. */
void live_hists_new(struct live *l);
void live_hists_free(struct live *l);
/* The i-th histogram pointer of a look; NULL = no more. */
struct hist **live_hist(struct live *l, unsigned i);
/* Zero the figures and empty the histograms, which the look keeps. */
void live_reset(struct live *l);
/* Copy the figures, and the histograms that both looks have. */
void live_copy(struct live *to, const struct live *from);

/* Add another process's look at the same job to rank 0's look `to`, which keeps its time, and merge
 * the histograms that both have. Call it once for each process. */
void live_join(struct live *to, const struct live *other);

/* Figures of the host, which are the same for all jobs at one time. */
struct live_host {
	const char *time;   /* time of day */
	uint64_t log_ns;    /* since the log began */
	double cpu_percent; /* NaN = unknown */
	/* UINT64_MAX = unknown */
	uint64_t resident_bytes, page_cache_bytes;
	uint64_t switches_per_sec, received_bytes_per_sec, sent_bytes_per_sec;
};

/*
 * Figures of a running job, one row each. Code that shows them evaluates the rows for two looks.
 */
enum live_kind {
	LIVE_GAUGE,        /* the current value */
	LIVE_PROGRESS,     /* the current value and the total `of`; total 0 = unknown */
	LIVE_COUNTER,      /* the increase in the interval */
	LIVE_SHARE,        /* the increase, as a percentage of the increase of `of` */
	LIVE_DISTRIBUTION, /* the histogram of the interval, or one of its percentiles */
	LIVE_HOST_GAUGE,   /* a gauge, whose member is in live_host */
};

/* Format of a figure on the status line. */
enum live_show {
	LIVE_UNSHOWN,
	LIVE_AS_TEXT,
	LIVE_AS_CHOICE,     /* the name of the value */
	LIVE_AS_NUMBER,     /* "118/500" */
	LIVE_AS_COUNT,      /* "12,000/28,000" */
	LIVE_AS_ERRORS,     /* "3 errors"; prints nothing for 0 */
	LIVE_AS_BYTES,      /* "1.66 of 3.73 TiB" */
	LIVE_AS_BANDWIDTH,  /* "14.9 GiB/s" */
	LIVE_AS_OPERATIONS, /* "203k" per second; prints nothing before the first */
	LIVE_AS_SHARE,      /* "63.2%" */
	LIVE_AS_PERCENT,    /* "20%" */
	LIVE_AS_SECONDS,    /* "12 s" */
	LIVE_AS_LEFT,       /* "16m04s" */
	LIVE_AS_P99,        /* "611 ms" */
};

/* Rule to join gauges or progress of several processes of a job. Other kinds imply their rule. */
enum live_join {
	LIVE_JOIN_FIRST, /* the value of rank 0 */
	LIVE_JOIN_SUM,   /* progress whose total is divided among the processes */
	LIVE_JOIN_MOST,
	LIVE_JOIN_LEAST,
};

struct live_field {
	/* A row without a name ends the table. A row without help is another source of the figure
	 * in the row above, for intervals with other activities (`when`). */
	struct mlgen_field field;
	enum live_kind kind;
	enum live_show show;
	unsigned when;    /* bits of live_when, any of which applies; 0 = always */
	size_t of;        /* PROGRESS, SHARE: offset of the total */
	double percent;   /* DISTRIBUTION: this percentile, 100 = the largest */
	bool is_unlogged; /* excluded from the log */
	/* DISTRIBUTION: the member is an array of MLGEN_OPS histograms. */
	bool is_by_operation;
	enum live_join join;
	/* Help text of the figure's metric (report/prometheus/prometheus.h), if field.help
	 * describes an interval; NULL = field.help; "" = there is no metric. */
	const char *metric;
};
extern const struct live_field live_fields[];

/* The name of the phase, as in the log's column. */
const char *live_phase_name(enum live_phase phase);

/* Is the figure a column of the log? */
bool live_is_column(const struct live_field *f);

/* Two looks at a job, and the host's figures; `host` may be NULL if no figure of the host is
 * needed. */
struct live_span {
	const struct live *now, *before;
	const struct live_host *host;
};

/* Does the figure have a value in this interval? */
bool live_applies(const struct live_field *f, const struct live_span *s);

/* Find the row that applies and whose name is the first `len` bytes of `name`; NULL = none. */
const struct live_field *live_find(const char *name, size_t len, const struct live_span *s);

/* The current value of the member, which has the row's type. */
const void *live_now(const struct live_field *f, const struct live_span *s);

/* A whole number: the increase of a counter, otherwise the current value. */
uint64_t live_count(const struct live_field *f, const struct live_span *s);

/* The total of a PROGRESS. */
uint64_t live_total(const struct live_field *f, const struct live_span *s);

/* live_gained: the increase of a SHARE in the interval. live_total_gained: that of its total. */
uint64_t live_gained(const struct live_field *f, const struct live_span *s);
uint64_t live_total_gained(const struct live_field *f, const struct live_span *s);

/* The increase of a COUNTER per second; NaN if no time has passed. */
double live_per_sec(const struct live_field *f, const struct live_span *s);

/* The figure in percent, 0 to 100; NaN for a SHARE whose total did not increase. */
double live_percent(const struct live_field *f, const struct live_span *s);

/* Fill `out` with the histogram of a DISTRIBUTION in the interval. False: the histogram is empty or
 * unknown. */
bool live_distribution(const struct live_field *f, const struct live_span *s, struct hist *out);

/* The percentile of a DISTRIBUTION in the interval; UINT64_MAX if the histogram is empty or
 * unknown. */
uint64_t live_percentile(const struct live_field *f, const struct live_span *s,
			 struct hist *scratch);

/* ---- figures of the host: time of day, CPUs, memory, network ---- */

/* The rates are read once per interval, even if several jobs have a row for this interval. */
struct host_look *host_look_new(void);
void host_look_free(struct host_look *h);

/* Fill `out` with the host's figures between two looks at a job, at before_ns and now_ns on the
 * run's clock; log_ns stays 0. The text of `time` is valid until the next call. */
void host_look(struct host_look *h, struct live_host *out, uint64_t now_ns, uint64_t before_ns);

/* ---- a job over time, as plain data for the document ---- */

/* Latencies over time: a row of counts for every few intervals. */
struct series_latency {
	const char *operation;      /* "read", "write", "sample", "stall" */
	uint64_t intervals_each;    /* intervals that one row of `counts` covers */
	struct metric_list from_ns; /* lower bound of each bin */
	struct metric_list counts;  /* per bin, row by row */
};

/* Lists of doubles, one per interval; NaN = the figure does not apply. */
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

/* An empty list of jobs means that no series was requested. */
struct series_result {
	double interval_seconds; /* between two looks */
	struct metric_list jobs; /* series_job */
};

/* Free the result of series_finish. */
void series_job_fini(struct series_job *s);
void series_result_fini(struct series_result *s);

extern const struct mlgen_field metrics_series_phase_fields[];
extern const struct mlgen_field metrics_series_latency_fields[];
extern const struct mlgen_field metrics_series_job_fields[];
extern const struct mlgen_field metrics_series_fields[]; /* series_result */

/* ---- series: the intervals of a running job, which become longer during a run ---- */

/* Limits for a run of any length: intervals per job, and memory of all jobs together. */
#define SERIES_INTERVALS 720
#define SERIES_BYTES (UINT64_C(8) << 20)

/*
 * The columns of live_fields in each interval, and the histograms for the percentiles. When the
 * series is full, each pair of neighbouring intervals is joined, and new intervals are twice as
 * long. Counters and histograms are added, shares are computed over both intervals, figures of the
 * host are averaged over time, and gauges and progress keep the later value. A joined interval thus
 * shows what two looks, at its start and at its end, would have shown. A series belongs to the main
 * thread.
 */
/* Create the series of one job; `jobs` jobs share SERIES_BYTES. Times count from start_ns on the
 * run's clock. */
struct series *series_new(uint64_t start_ns, size_t jobs);
void series_free(struct series *s); /* NULL is fine */

/* Append an interval, which must be later than the last one. span->host must be set; a histogram
 * that a look lacks is left out. */
void series_add(struct series *s, const struct live_span *span);

/* series_bytes: memory that the intervals use. series_count: number of intervals. */
uint64_t series_bytes(const struct series *s);
size_t series_count(const struct series *s);

/* Fill `out` with the data for the document. The caller frees the data with series_job_fini. */
void series_finish(struct series *s, struct series_job *out);

/* ---- the trace of a run, for the threads that are in it ---- */

/* The trace of a job; a zeroed struct means none. */
struct traced {
	struct tracer *tracer; /* NULL = there is no trace */
	const char *job;       /* NULL: it is the run's only job */
	/* The list of threads by job, the job's number in it, and the clock of its times; NULL =
	 * threads are not listed. */
	struct traced_threads *threads;
	size_t number;
	struct clock *clock;
	/* The job's name; NULL: other jobs run at the same time, so it gets no stage marker. */
	const char *stage;
};

#define TRACED_ROLE_BYTES 48

/* Make a ring for the calling thread, which must end the ring with trace_ring_end. NULL if `t` is
 * NULL or has no trace, or without memory. For role and files see tracer.h. */
struct trace_ring *traced_ring(const struct traced *t, const char *role, uint64_t files);

/* Mark the stage of a plain job, from time zero to the end of the job. Each worker of the job calls
 * this. `ring` NULL = there is no trace. */
void traced_stage(const struct traced *t, struct trace_ring *ring, uint64_t begin_ns,
		  uint64_t end_ns);

/* ---- which job a thread of a trace worked for ---- */

/*
 * A trace identifies threads by number. The kernel reuses the number of a thread that has ended, so
 * the list has the time at which each thread began.
 */
struct traced_threads *traced_threads_new(void);
void traced_threads_free(struct traced_threads *t); /* NULL is fine */

/* Any thread: record that the calling thread works for job number `job` from now_ns on, by the
 * trace's clock. */
void traced_threads_add(struct traced_threads *t, size_t job, uint64_t now_ns);

/* After the last traced_threads_add: did this thread work for the job at that time? */
bool traced_threads_is(struct traced_threads *t, size_t job, uint32_t tid, uint64_t at_ns);
/* Did any thread work for the job? */
bool traced_threads_has(const struct traced_threads *t, size_t job);
