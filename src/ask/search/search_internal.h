/* SPDX-License-Identifier: Apache-2.0 */
/* search_internal.h - what the files of ask/search share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "ask/ask.h"
#include "ask/search/search.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
#include "data/file/file.h"
#include "io/host.h"
#include "job/job.h"
#include "report/metrics/metrics.h"
#include "report/text/text.h"
#include "run/result/result.h"

/* ---- the largest number for which something noisy still holds ---- */

/*
 * The next number to try follows from the results so far and nothing else. Short probes double the
 * number until one fails, then bisect. A full run then confirms the largest number that held, and
 * another full run confirms that the next number fails. If a result differs from the limit by no
 * more than the noise, its run is repeated, up to SEARCH_RUNS times. Once a full run contradicts
 * the short probes, only full runs decide. If the first number fails, larger numbers are tried as
 * long as each comes nearer to the limit, unless `falls` says that none can.
 *
 * A margin is the distance of a result from the limit, as a fraction of the limit: 0.05 is 5 %
 * better than required, -0.05 misses by 5 %.
 */
#define SEARCH_RUNS 3
#define SEARCH_NOISE_LEAST 0.01 /* no result is more exact than this */

/* All runs of one number and one length. */
struct search_trial {
	uint64_t value;
	bool is_full, is_impossible;
	unsigned runs;
	double margins[SEARCH_RUNS];
	double noise; /* the largest noise within one of the runs */
};

/* Searches the numbers from least to most. Starts with zero trials; search_fini() frees them. */
struct search {
	uint64_t least, most;
	bool falls; /* if a number fails, all larger ones fail; set after search_init() */
	VEC(struct search_trial) trials;
};

enum search_what { SEARCH_SHORT, SEARCH_FULL, SEARCH_END };

struct search_step {
	enum search_what what;
	uint64_t value;
};

struct search_answer {
	bool found;       /* some number holds */
	uint64_t value;   /* the largest number that surely holds */
	uint64_t at_most; /* numbers above `value` and up to this are uncertain */
	bool is_limited;  /* a number above at_most does not hold: limited_by */
	uint64_t limited_by;
};

void search_init(struct search *s, uint64_t least, uint64_t most);
void search_fini(struct search *s);

struct search_step search_next(const struct search *s);
/* Add the result of a step. `noise` is the spread of the epochs within the run; 0 = unknown. */
void search_add_result(struct search *s, struct search_step step, double margin, double noise);
/* Record that neither this number nor a larger one can be tried at all. */
void search_set_impossible(struct search *s, struct search_step step);

/* The answer from the results so far; may be called before the end. */
struct search_answer search_answer(const struct search *s);

/* True if full runs confirmed both the answer and the number that limits it, if they exist. */
bool search_is_confirmed(const struct search *s);

const struct search_trial *search_find(const struct search *s, uint64_t value, bool is_full);
/* The widest spread between runs of a number so far, at least SEARCH_NOISE_LEAST. */
double search_noise(const struct search *s);

/* ---- --find-max and --find-min in their parts: length of probes, output ---- */

/* The last full run on one side of the limit. */
struct find_side {
	uint64_t value; /* 0 = there was none */
	char verdict[16];
	char *headline; /* the verdict's; owned */
	double bytes_per_sec, demand_bytes_per_sec;
	double memory_percent, epochs_differ; /* epochs_differ: points of AU; NaN = unknown */
	uint64_t epochs;
	/* The ceiling of the host was measured, too, on files in memory. */
	bool is_at_ceiling;
	bool is_cut;           /* ended early because the required AU was out of reach */
	char *concurrent_jobs; /* results of jobs that ran at the same time; owned, NULL = none */
};

/*
 * Both directions use one search. For --find-max its numbers are values of the option. For
 * --find-min, where a smaller value is harder, number n stands for a tier of 101 - n percent of the
 * dataset: 1 is 100 %, 100 is 1 %. find_shown() converts a number for output.
 */
#define FIND_MIN_STEPS 100

struct find_max {
	const struct ask *ask;
	bool is_min;
	const char *word; /* "find-max", "find-min" */
	FILE *table;      /* NULL = quiet, or JSON */

	/* ---- question ---- */
	const struct job *job; /* the varied job, as on the command line */
	const struct mlgen_field *option;
	struct requirement required[REQUIREMENTS_MAX];
	unsigned required_count;
	char *requirement; /* the given text or the default; owned */

	struct search search;
	bool is_limited_by_files; /* the dataset has too few files for more than search.most */
	struct metrics_probe *probes;
	size_t probe_count;
	struct find_side held, missed;

	/* The run that the JSON document shows. */
	struct probe best;
	bool has_best;

	/* ---- answer ---- */
	struct search_answer answer;
	/* AU at answer.limited_by on the null engine; NaN = not tried */
	double without_storage;
	const char *limit;              /* see metrics_find_max */
	double delivered_bytes_per_sec; /* the largest rate of any run; NaN = none */
	double fraction; /* part of one accelerator that storage can feed; NaN = one or more */
	char *fits;      /* published accelerators that storage could feed; owned, NULL = unknown */
	/* Lines of the printed answer; list and texts are owned. */
	struct metrics_answer_line *lines;
	size_t line_count;
	bool interrupted, abandoned;
	struct mlgen_err err;             /* a run failed and ended the search */
	uint64_t files, samples_per_file; /* size of the dataset, as last examined */
	bool has_existing_files;          /* the dataset existed before */
	struct rate_unit unit;
};

/* ---- find_max_question.c ---- */

/* Parse option, job, requirement and the limits of the search from the command line. 0, or -EINVAL
 * with err. */
int find_question(struct find_max *f, struct mlgen_err *err);

/* ---- find_max_length.c ---- */

/* True if the job can make more files, as advice_makes_files(). */
bool find_makes_files(const struct find_max *f);

/* Steps that an epoch needs: 2 if an AU is required, because AU is measured from the second step
 * on; otherwise 1. */
uint64_t find_steps_needed(const struct find_max *f);

/* Files of the dataset that this many steps read. */
double find_files_needed(const struct find_max *f, uint64_t value);

/* The largest value up to `most` for which the dataset has enough files; sets
 * f->is_limited_by_files if that is less than `most`. Returns `most` if even `least` has too
 * few. */
uint64_t find_most_by_files(struct find_max *f, uint64_t least, uint64_t most);

/*
 * Add the arguments that set the option to this value and that end a short probe early. Sets
 * *is_full if the probe is as long as the job. -EINVAL with err if the job cannot have this value.
 */
int find_length(const struct find_max *f, struct search_step step, struct probe_args *args,
		bool *is_full, struct mlgen_err *err);

/* After the search: set f->limit and f->without_storage. Runs a short probe. */
void find_limit(struct find_max *f);

/* After find_limit(): set the rate that storage delivered and, if the rate is too low for one
 * accelerator, f->fraction and f->fits. */
void find_fraction(struct find_max *f);

/* Append the command that simulates f->fraction of an accelerator, quoted for a shell. */
void find_append_play(struct buf *out, const struct find_max *f);

/* Append "valid for MLPerf Storage up to 8 accelerators ..."; nothing if the job is not an MLPerf
 * workload. */
void find_text_mlperf(struct buf *out, const struct find_max *f);

/* ---- find_max.c ---- */

/* The result of the varied job; NULL if it did not run. */
const struct job_result *find_result(const struct find_max *f, const struct run_result *r);

bool find_is_au(const struct requirement *q);
/* The value of the option for a number of the search. find_append_shown() appends it as text, with
 * % if it is a share. */
uint64_t find_shown(const struct find_max *f, uint64_t number);
void find_append_shown(struct buf *out, const struct find_max *f, uint64_t number);

/* The least AU that is required; NaN = none. */
double find_au_limit(const struct find_max *f);

bool find_trains(const struct find_max *f);
bool find_counts_accelerators(const struct find_max *f);

/* True if AU meets its limit only because epochs are short. */
bool find_is_hidden(const struct find_max *f, const struct metrics_probe *p);

/* Is the metric in ns? */
bool find_is_time(const struct requirement *q);
/* Print a figure of that metric with the usual unit: "12.40 ms", "14.86 GiB/s", "1286"; NaN is "-".
 * `out` holds FIND_FIGURE_BYTES. */
#define FIND_FIGURE_BYTES (UNITS_TEXT_BYTES + 8)
const char *find_figure_text(char *out, const struct requirement *q, double v);

/* Print an AU as "94.6%"; NaN is "-". `out` holds UNITS_TEXT_BYTES. */
const char *find_au_text(char *out, double au);

/* ---- find_max_table.c ---- */

/* Append "quickstart: most accelerators with au >= 90". */
void find_append_question(struct buf *out, const struct find_max *f);

void find_text_head(struct find_max *f);
void find_text_probe(struct find_max *f, const struct metrics_probe *p);

/* ---- find_max_text.c ---- */

/* Fill f->lines: ANSWER and the lines that explain it. Call after the search. */
void find_lines(struct find_max *f);

/* Print f->lines; with `quiet` only the first. */
void find_text_answer(const struct find_max *f, FILE *to, bool quiet);

void find_json(const struct find_max *f, FILE *to);

/* ---- ceiling.c: files of a dataset that represent all of them in memory ---- */

/* Number of files that a run from memory reads repeatedly: enough for some batches of every
 * accelerator, and larger than the caches of a CPU, but at most `most_bytes`. At least one. */
uint64_t ceiling_files(const struct job_result *j, uint64_t most_bytes);

struct ceiling_warm {
	uint64_t files, bytes; /* whole files that were read into memory */
};

/* Read the first `files` files with all their parts. Stops early at deadline_ns. 0, or -errno with
 * err; -EINTR if a signal is pending. */
int ceiling_warm(struct ceiling_warm *w, const struct dataset *ds, uint64_t files,
		 const struct clock *clock, uint64_t deadline_ns, struct mlgen_err *err);
