/* SPDX-License-Identifier: Apache-2.0 */
/* text_block.h - one job's part of the text report, and how its lines are laid out. */
#pragma once

#include <stdio.h>

#include "base/buf.h"
#include "report/detail.h"
#include "report/show.h"
#include "report/template.h"
#include "run/results.h"

#define TEXT_ANSWER_INDENT 18
#define TEXT_SETTING_INDENT 10
#define TEXT_EVIDENCE_INDENT 19

/* What the report of one job is made from. */
struct text_block {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;                   /* a training, else empty */
	const struct io_result *io;                   /* a plain job, else empty */
	const struct checkpoints_result *checkpoints; /* those it is for */
	/* The ones of either. */
	const struct cache_result *cache; /* of a training */
	const struct storage_result *storage;
	const struct window_result *window;
	const struct host_result *host;
	const struct network_result *network;
	const struct numa_result *numa;
	const struct verdict_result *verdict;
	struct rate_unit unit;
	struct show_shares time, loader;
	/* Threads that read: of one accelerator, of all. */
	uint64_t readers_each, readers;
	enum detail detail;
	bool is_first; /* of the run: the host and the command stand in it */
};

/* All but unit and shares, from a result, which must outlive it. */
void text_block_init(struct text_block *b, const struct run_result *run,
		     const struct job_result *result, enum detail detail);

/* Why a job ended early; NULL = it did not. */
const char *text_early_end(const struct text_block *b);

/* Did memory deliver, and not storage? */
bool text_is_memory(const struct text_block *b);

/* What failed of a job belongs into its first line: "ERRORS: 100 of 128 samples failed; " before
 * its figures, or "; 1 of 128 samples failed" behind them where they stand all the same. Nothing
 * where nothing failed. */
void text_errors(struct buf *out, const struct text_block *b);
void text_allowed_errors(struct buf *out, const struct text_block *b);

/* A first line that is too long in its shortest form goes on in a second one. */
void text_wrap_answer(struct buf *line);

/* A label, then text in as many lines as it takes, `indent` from the left. */
void text_put(struct buf *out, const char *label, size_t indent, const char *text);
/* The same, and frees the text; nothing without any. */
void text_end(struct buf *out, const char *label, size_t indent, struct buf *text);

/*
 * A line of a report: `put` appends what stands behind the label, and there is no line where that
 * is nothing. Without a label it makes whole lines by itself.
 */
struct text_line {
	const char *label;
	void (*put)(struct buf *text, const struct text_block *b);
};

/* All of a list, which ends with a zeroed row. */
void text_put_list(struct buf *out, const struct text_line *lines, size_t indent,
		   const struct text_block *b);

/* Append a template. Its keys are options of the job, the rows of its result, and behind
 * `checkpoints.` and `storage.` those of the ones above. */
#define text_say(out, b, text) text_template(out, TEMPLATE(text_scopes, text), b)
extern const struct template_scope text_scopes[];
void text_template(struct buf *out, const struct template *t, const struct text_block *b);

/* "  read: IOPS=8181, BW=63.9MiB/s (67.0MB/s)(22.4MiB/350msec)", as fio has it,
 * and one of writes: what moved at all. Scripts take their figures from there. */
void text_fio_lines(struct buf *out, const struct text_block *b);

/* The latencies of reads, or of writes where there are more, in one line. */
void text_one_latency(struct buf *out, const struct text_block *b);

/* The verdict and the figures that decide it, as far as there is one. */
void text_verdict(struct buf *out, const struct text_block *b);

/* "compute 62.8%  stall 33.9%  ...  = 100%" behind its label. */
void text_shares(struct buf *out, const char *label, const struct show_shares *s);

unsigned text_lines(const struct buf *b);

/* Names come from users: no control character reaches a terminal. */
void text_print(FILE *to, const struct buf *b);
