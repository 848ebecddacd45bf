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
 * What to try next follows from what was told so far and nothing else. Short probes double the
 * number until one fails, then bisect; a full run confirms the largest that held, and another its
 * neighbour that did not. A result too near to the limit for its noise is repeated, up to
 * SEARCH_RUNS times. Where a full run says otherwise than the short ones, only full runs count from
 * then on. Where the first number fails, larger ones are tried as long as they come nearer, unless
 * it is said that none can (falls).
 *
 * A margin is what a result has to spare, as a part of the limit: 0.05 is 5 % better than required,
 * -0.05 is missed by 5 %.
 */
#define SEARCH_RUNS 3
#define SEARCH_NOISE_LEAST 0.01 /* nothing is more exact than that */

/* All runs of one number and one length. */
struct search_trial {
	uint64_t value;
	bool is_full, is_impossible;
	unsigned runs;
	double margins[SEARCH_RUNS];
	double noise; /* that its runs showed inside themselves */
};

/* Zero trials; owned by search_fini. */
struct search {
	uint64_t least, most;
	bool falls; /* what fails fails for all larger numbers; set behind init */
	VEC(struct search_trial) trials;
};

enum search_what { SEARCH_SHORT, SEARCH_FULL, SEARCH_END };

struct search_step {
	enum search_what what;
	uint64_t value;
};

struct search_answer {
	bool found;       /* some number holds */
	uint64_t value;   /* the largest that surely does */
	uint64_t at_most; /* larger than value: up to here it is not sure */
	bool is_limited;  /* a number above at_most does not hold: */
	uint64_t limited_by;
};

void search_init(struct search *s, uint64_t least, uint64_t most);
void search_fini(struct search *s);

struct search_step search_next(const struct search *s);
/* What came of it; noise of the one run (of its epochs), 0 = not known. */
void search_tell(struct search *s, struct search_step step, double margin, double noise);
/* The number cannot be tried at all, and no larger one. */
void search_tell_impossible(struct search *s, struct search_step step);

/* As far as it is known: also before the end. */
struct search_answer search_answer(const struct search *s);

/* Did a full run of each side say so, as far as it has sides? */
bool search_is_confirmed(const struct search *s);

const struct search_trial *search_find(const struct search *s, uint64_t value, bool is_full);
/* The widest that was seen so far, at least SEARCH_NOISE_LEAST. */
double search_noise(const struct search *s);

/* ---- --find-max and --find-min in their parts: how long a probe is, what is printed ---- */

/* What is known of the run on one side of the limit, its last full one. */
struct find_side {
	uint64_t value; /* 0 = there was none */
	char verdict[16];
	char *headline; /* of the verdict; owned */
	double bytes_per_sec, demand_bytes_per_sec;
	double memory_percent, epochs_differ; /* points of AU; NaN */
	uint64_t epochs;
	/* The host was measured from memory, too, and reached no more. */
	bool is_at_ceiling;
	bool is_cut;  /* it ended when the AU required was out of reach */
	char *beside; /* of the jobs at its side; owned, NULL = none */
};

/*
 * One search, two directions: its numbers are values of the option, or of --find-min, where less is
 * harder, so many hundredths below more than all of the data set: 1 is 100 %, 100 is 1 %. What is
 * printed is find_shown().
 */
#define FIND_MIN_STEPS 100

struct find_max {
	const struct ask *ask;
	bool is_min;
	const char *word; /* "find-max", "find-min" */
	FILE *table;      /* NULL = quiet, or JSON */

	/* The question. */
	const struct job *job; /* that is varied, as the command line has it */
	const struct mlgen_field *option;
	struct requirement required[REQUIREMENTS_MAX];
	unsigned required_count;
	char *requirement; /* as given, or the default; owned */

	struct search search;
	bool is_of_files; /* its end: for more than that there are too few */
	struct metrics_probe *probes;
	size_t probe_count;
	struct find_side held, missed;

	/* The run that the JSON document is about. */
	struct probe best;
	bool has_best;

	/* The answer. */
	struct search_answer answer;
	double without_storage;         /* AU at answer.limited_by; NaN = not tried */
	const char *limit;              /* as metrics_find_max has it */
	double delivered_bytes_per_sec; /* the most of any run; NaN = none */
	double fraction;                /* of one accelerator that is fed; NaN = one or more */
	char *fits;                     /* of the published ones; owned, NULL = unknown */
	/* The answer in words; both owned. */
	struct metrics_answer_line *lines;
	size_t line_count;
	bool interrupted, abandoned;
	struct mlgen_err err;             /* a run failed: the search ended there */
	uint64_t files, samples_per_file; /* of the last dataset that was read */
	bool has_found_files;             /* it was there */
	struct rate_unit unit;
};

/* ---- find_max_question.c ---- */

/* Option, job, requirement and the limits of the search, from the command line. 0 or -EINVAL with
 * err. */
int find_question(struct find_max *f, struct mlgen_err *err);

/* ---- find_max_files.c ---- */

/* Can the job have more files? As dataset_makes_files. */
bool find_makes_files(const struct find_max *f);

/* Steps that an epoch has to have: AU counts from the second on. */
uint64_t find_steps_needed(const struct find_max *f);

/* Files of the dataset that so many steps take. */
double find_files_needed(const struct find_max *f, uint64_t value);

/* The largest value up to `most` for which the dataset has files enough, and f->is_of_files where
 * that is less; `most` where not even `least` has. */
uint64_t find_most_by_files(struct find_max *f, uint64_t least, uint64_t most);

/* ---- find_max_length.c ---- */

/*
 * The arguments by which the option gets its value, and of a short probe those that end it early.
 * *is_full: it is as long as the job is anyway. -EINVAL with err where the job cannot have this
 * value.
 */
int find_length(const struct find_max *f, struct search_step step, struct probe_args *args,
		bool *is_full, struct mlgen_err *err);

/* ---- find_max_judge.c ---- */

/* ---- find_max_limit.c ---- */

/* Behind the search: f->limit and f->without_storage. Runs a short probe. */
void find_limit(struct find_max *f);

/* ---- find_max_fraction.c ---- */

/* Behind find_limit(): what storage delivered at most, and where that is not enough for one
 * accelerator, f->fraction and f->fits. */
void find_fraction(struct find_max *f);

/* The command that plays so much of one, quoted for a shell. */
void find_put_play(struct buf *out, const struct find_max *f);

/* ---- find_max_beside.c ---- */

/* ---- find_max_look.c ---- */

/* A job of the result: the one that is varied. NULL: it did not run. */
const struct job_result *find_result(const struct find_max *f, const struct run_result *r);

bool find_is_au(const struct requirement *q);
/* The value of the option that a number of the search stands for; as text, with its % where it is a
 * share. */
uint64_t find_shown(const struct find_max *f, uint64_t number);
void find_put_shown(struct buf *out, const struct find_max *f, uint64_t number);

/* The least AU that is asked for. NaN: none. */
double find_au_limit(const struct find_max *f);

bool find_trains(const struct find_max *f);
bool find_counts_accelerators(const struct find_max *f);

/* AU holds, but only because epochs are short. */
bool find_is_hidden(const struct find_max *f, const struct metrics_probe *p);

/* Is it in ns? */
bool find_is_time(const struct requirement *q);
/* A figure of that metric, with the unit that people use: "12.40 ms",
 * "14.86 GiB/s", "1286"; NaN is "-". */
#define FIND_FIGURE_BYTES (UNITS_TEXT_BYTES + 8)
const char *find_figure_text(char *out, const struct requirement *q, double v);

/* "94.6%", "-"; `out` holds UNITS_TEXT_BYTES. */
const char *find_au_text(char *out, double au);

/* ---- find_max_table.c ---- */

/* Append "quickstart: most accelerators with au >= 90". */
void find_put_question(struct buf *out, const struct find_max *f);

void find_text_head(struct find_max *f);
void find_text_probe(struct find_max *f, const struct metrics_probe *p);

/* ---- find_max_text.c ---- */

/* After the search: fill f->lines, ANSWER and the lines that explain it. */
void find_lines(struct find_max *f);

/* Print these lines; the first alone with `quiet`. */
void find_text_answer(const struct find_max *f, FILE *to, bool quiet);

/* ---- find_max_mlperf.c ---- */

/* "valid for MLPerf Storage up to 8 accelerators ..."; nothing where the job is none of theirs. */
void find_text_mlperf(struct buf *out, const struct find_max *f);

/* ---- find_max_json.c ---- */

void find_json(const struct find_max *f, FILE *to);

/* ---- which files of a dataset stand for all of them, in memory ---- */

/* How many of the files are enough to be read over and over: some batches of every accelerator,
 * more than caches of a CPU hold, at most `most_bytes`; at least one. */
uint64_t ceiling_files(const struct job_result *j, uint64_t most_bytes);

struct ceiling_warm {
	uint64_t files, bytes; /* whole files that are in memory now */
};

/* Read the first `files`, all their parts, until deadline_ns or until a signal is pending. 0 or
 * -errno with err; -EINTR for a signal. */
int ceiling_warm(struct ceiling_warm *w, const struct dataset *ds, uint64_t files,
		 const struct clock *clock, uint64_t deadline_ns, struct mlgen_err *err);
