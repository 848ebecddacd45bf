/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - what a running job shows: looks at it, figures over time, threads of its trace. */
#pragma once

/*
 * A look (struct live) is a copy of the counters of a running job, taken by any thread while the
 * job goes on; the difference of two looks is an interval. A series keeps intervals, which grow as
 * there are more of them, and becomes plain data for a document. Threads that are traced are known
 * by number and time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "io/io.h"
#include "stat/hist.h"
#include "stat/metric.h"
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
	LIVE_IO,         /* a plain job; left_ns, oldest and what stands under io */
	LIVE_DONE
};

/*
 * All sums since the start of the run, over all ranks, read from single-writer relaxed counters:
 * subtract two looks to get an interval. May lag by one operation.
 */
struct live {
	const char *job_name;
	enum live_phase phase;
	uint64_t now_ns; /* the run's clock */
	/* train */
	uint64_t epoch, epochs; /* from 1; epochs 0 = unknown (time_based) */
	uint64_t step, steps;   /* of rank 0 in this epoch, from 1 */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t compute_ns; /* asked for, in finished steps, for samples that
				were delivered */
	uint64_t step_ns;    /* wall of finished steps */
	uint64_t stall_ns;
	uint64_t accesses, hits; /* of a cache tier; samples */
	uint64_t waiting_ns;     /* longest stall now in progress */
	uint64_t left_ns;        /* estimate; UINT64_MAX = unknown */
	double done_percent;     /* by left_ns, of the phase; NaN = unknown */
	/* Histograms since the start, of the caller (live_hists_new), who may want none of them, or
	 * only some: NULL. */
	struct hist *stall;          /* of all accelerators */
	struct hist *lat[MLGEN_OPS]; /* submit to completion, of all workers */
	struct hist *sample;         /* first submitted to last completed */
	/* Of all workers: inside calls and waiting for what they asked, waiting for room, and time
	 * of those that are at work. */
	uint64_t inside_ns, idle_ns, worker_ns;
	struct io_outstanding oldest;
	uint64_t errors; /* counted by continue_on_error */
	/* The phase that the job is there for, whatever its phase now. */
	enum live_phase work;
	bool has_worked; /* ... and it has been in that */
	/* 0 read, 1 write: operations, also in chains, and bytes, as transferred by whatever works
	 * in the job. */
	uint64_t io_ios[2], io_moved[2];
	/* checkpoints, also beside a training; count 0 = none */
	uint64_t checkpoint, checkpoints;           /* from 1; checkpoints 0 = unknown */
	uint64_t checkpoint_done, checkpoint_bytes; /* of the one under way */
	uint64_t checkpoint_moved;                  /* of all so far, bytes */
	bool is_checkpointing, is_restore;
	/* prepare, and the layout of a plain job's files */
	uint64_t files_done, files_total, bytes_done, bytes_total;
};

/* All histograms of a look, empty; and none again. */
void live_hists_new(struct live *l);
void live_hists_free(struct live *l);
/* Where they are, one after the other; NULL = no more. */
struct hist **live_hist(struct live *l, unsigned i);
/* Nothing is known yet; its histograms stay its own, and are emptied. */
void live_reset(struct live *l);
/* As it is there, also in those histograms that `to` has. */
void live_copy(struct live *to, const struct live *from);

/* A look of another process at the same job is added: `to` is rank 0's, with what was added before,
 * and stays its look at that time. Of its histograms those that both have. */
void live_join(struct live *to, const struct live *other);

/* What is the same for all jobs that are looked at at one time. */
struct live_host {
	const char *time;   /* of day */
	uint64_t log_ns;    /* since the log began */
	double cpu_percent; /* NaN = unknown */
	/* UINT64_MAX = unknown */
	uint64_t resident_bytes, page_cache_bytes;
	uint64_t switches_per_sec, received_bytes_per_sec, sent_bytes_per_sec;
};

/*
 * Figures of a running job: a row each. Whoever shows them, one by one or all of them, walks the
 * rows over two looks.
 */
enum live_kind {
	LIVE_GAUGE,        /* as it is now */
	LIVE_PROGRESS,     /* likewise, so many of `of`; of 0 = of unknown many */
	LIVE_COUNTER,      /* what the interval gained */
	LIVE_SHARE,        /* gained, as a percentage of what `of` gained */
	LIVE_DISTRIBUTION, /* a histogram of what the interval gained; or one of
			    * its percentiles */
	LIVE_OF_HOST,      /* a gauge, whose member is one of live_host */
};

/* How a person sees it, on the status line. */
enum live_show {
	LIVE_UNSHOWN,
	LIVE_AS_TEXT,
	LIVE_AS_CHOICE,     /* its name */
	LIVE_AS_NUMBER,     /* "118/500" */
	LIVE_AS_COUNT,      /* "12,000/28,000" */
	LIVE_AS_ERRORS,     /* "3 errors"; 0 is none */
	LIVE_AS_BYTES,      /* "1.66 of 3.73 TiB" */
	LIVE_AS_BANDWIDTH,  /* "14.9 GiB/s" */
	LIVE_AS_OPERATIONS, /* "203k" a second; a job without any has none */
	LIVE_AS_SHARE,      /* "63.2%" */
	LIVE_AS_PERCENT,    /* "20%" */
	LIVE_AS_SECONDS,    /* "12 s" */
	LIVE_AS_LEFT,       /* "16m04s" */
	LIVE_AS_P99,        /* "611 ms" */
};

/* How that of several processes of one job becomes one, of a gauge or a progress; of all others it
 * follows from the kind. */
enum live_join {
	LIVE_JOIN_FIRST, /* it is that of rank 0 */
	LIVE_JOIN_SUM,   /* of a progress: each has its part of what there is */
	LIVE_JOIN_MOST,
	LIVE_JOIN_LEAST,
};

struct live_field {
	/* No name ends the table. A row without help is where the figure above it comes from in
	 * other intervals. */
	struct mlgen_field field;
	enum live_kind kind;
	enum live_show show;
	unsigned when;    /* of live_when, any of these; 0 = always */
	size_t of;        /* PROGRESS, SHARE: another member */
	double percent;   /* DISTRIBUTION: this percentile, 100 = the largest */
	bool is_unlogged; /* not a column of the log */
	/* DISTRIBUTION: the member is the first of MLGEN_OPS, one for each. */
	bool is_by_operation;
	enum live_join join;
	/* What a metric of it is (report/prometheus/prometheus.h), where help says it of an
	 * interval; "" = there is none. */
	const char *metric;
};
extern const struct live_field live_fields[];

/* As the column says it. */
const char *live_phase_name(enum live_phase phase);

/* Does the log have a column for it? */
bool live_is_column(const struct live_field *f);

/* Two looks at a job, and at the host; `host` may be NULL where no figure of it is asked for. */
struct live_span {
	const struct live *now, *before;
	const struct live_host *host;
};

/* Has the figure a value in this interval? */
bool live_applies(const struct live_field *f, const struct live_span *s);

/* The row of that name that applies, or NULL; a name ends at `len`. */
const struct live_field *live_find(const char *name, size_t len, const struct live_span *s);

/* Where the member is now; how to read it says the row's type. */
const void *live_now(const struct live_field *f, const struct live_span *s);

/* A whole number: of a counter what was gained, else as it is. */
uint64_t live_count(const struct live_field *f, const struct live_span *s);

/* So many there are in all, of a PROGRESS. */
uint64_t live_of(const struct live_field *f, const struct live_span *s);

/* Of a SHARE: what was gained, and what it is a share of. */
uint64_t live_part(const struct live_field *f, const struct live_span *s);
uint64_t live_whole(const struct live_field *f, const struct live_span *s);

/* A COUNTER per second; NaN where no time has passed. */
double live_per_sec(const struct live_field *f, const struct live_span *s);

/* 0 to 100; of a SHARE NaN where there is nothing to have a share of. */
double live_percent(const struct live_field *f, const struct live_span *s);

/* A DISTRIBUTION into `out`; false where nothing was gained, or is known. */
bool live_distribution(const struct live_field *f, const struct live_span *s, struct hist *out);

/* A DISTRIBUTION's percentile; UINT64_MAX where nothing was gained, or is known. */
uint64_t live_percentile(const struct live_field *f, const struct live_span *s,
			 struct hist *scratch);

/* ---- the host, beside a look at its jobs: time of day, CPUs, memory, network ---- */

/* The CPUs are those of the host: read once per interval, however many jobs have a row for it. */
struct host_look *host_look_new(void);
void host_look_free(struct host_look *h);

/* Between two looks at a job, by the run's clock; log_ns stays 0. The text of `time` is valid until
 * the next call. */
void host_look(struct host_look *h, struct live_host *out, uint64_t now_ns, uint64_t before_ns);

/* ---- a job over time, as plain data that the document has ---- */

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

/* ---- what a running job did over time: intervals that grow as there are more of them ---- */

/* However long a run is, it has so many intervals at most, in so much memory, of all its jobs
 * together. */
#define SERIES_INTERVALS 720
#define SERIES_BYTES (UINT64_C(8) << 20)

/*
 * The columns of live_fields, interval by interval, and the histograms that its percentiles are of.
 * Where there is no room for one more, each two neighbours become one, and from then on an interval
 * is twice as long: counters and histograms add up, shares are of what they are shares of, figures
 * of the host are means over the time, what says where the job is is as it was last. So whatever an
 * interval shows is what one look at its beginning and one at its end would have shown. On the main
 * thread.
 */
/* Of one of so many jobs; time counts from start_ns, of the run's clock. */
struct series *series_new(uint64_t start_ns, size_t jobs);
void series_free(struct series *s); /* NULL is fine */

/* One more interval, behind those before; looks with histograms, and a host. */
void series_add(struct series *s, const struct live_span *span);

/* What it takes of memory, and how many intervals it has. */
uint64_t series_bytes(const struct series *s);
size_t series_count(const struct series *s);

/* As it goes into the document; all in it is owned, by series_job_fini. */
void series_finish(struct series *s, struct series_job *out);

/* ---- the trace of a run, for those whose work is in it ---- */

/* Of a job; a zeroed one is in no trace. */
struct traced {
	struct tracer *tracer; /* NULL = there is no trace */
	const char *job;       /* NULL: the run has no other */
	/* Where it is written down who works for it, and its number there; NULL = nowhere. By that
	 * clock. */
	struct traced_threads *threads;
	size_t number;
	struct clock *clock;
	/* The job's name; NULL: others run beside it, and a time of the trace is not its alone. */
	const char *stage;
};

#define TRACED_ROLE_BYTES 48

/* On the thread that will write into it: its ring, or NULL, also of NULL. It ends it with
 * trace_ring_end. For role and files see tracer.h. */
struct trace_ring *traced_ring(const struct traced *t, const char *role, uint64_t files);

/* A plain job's marker, of each of its workers: from time zero to its end. `ring` NULL = there is
 * no trace. */
void traced_stage(const struct traced *t, struct trace_ring *ring, uint64_t begin_ns,
		  uint64_t end_ns);

/* ---- which job a thread of a trace worked for ---- */

/*
 * A trace names threads by their number, which the kernel gives to another one when a thread has
 * ended: so each is known with its beginning.
 */
struct traced_threads *traced_threads_new(void);
void traced_threads_free(struct traced_threads *t); /* NULL is fine */

/* Any thread: it works for job number `job` from now on, of the clock of the trace. */
void traced_threads_add(struct traced_threads *t, size_t job, uint64_t now_ns);

/* When nobody adds any more: did this thread work for the job then? */
bool traced_threads_is(struct traced_threads *t, size_t job, uint32_t tid, uint64_t at_ns);
/* Did any? */
bool traced_threads_has(const struct traced_threads *t, size_t job);
