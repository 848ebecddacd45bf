/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - a look at a running job, for the status line and the log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "io/io.h"
#include "stat/hist.h"

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

/* What an interval was of. */
enum live_when {
	LIVE_IN_PREPARE = 1,
	LIVE_IN_TRAIN = 2, /* between epochs as well */
	LIVE_IN_STEPS = 4, /* of a training that computes */
	LIVE_IN_IO = 8,
	LIVE_IN_CHECKPOINT = 16, /* of a job that saves or restores only */
	LIVE_IN_SAVE = 32,       /* with a checkpoint under way in any job */
	LIVE_BEHIND_SAVE = 64,   /* with one begun so far */
	LIVE_IN_TIER = 128,      /* of a training whose cache tier was asked */
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
	/* What a metric of it is (report/prom_family.h), where help says it of an interval; "" =
	 * there is none. */
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
