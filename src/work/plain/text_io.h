/* SPDX-License-Identifier: Apache-2.0 */
/* text_io.h - the text report of a plain job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/plan/plan.h"
#include "report/text/text.h"
#include "run/result/result.h"

/* What a kind of plain jobs has of its own in its report. */
struct text_io_kind {
	/* Below the first line. */
	const struct text_line *answer;
	const struct text_line *settings;
	/* Behind these, before the tables of a plain job; NULL = nothing. */
	void (*table)(struct buf *out, const struct text_block *b);
	/* Ahead of the evidence of any; NULL = none. */
	const struct text_line *evidence;
};

/*
 * One block for a job: `n` records of it one after the other, one for each worker, or one for all
 * of them. The answer, one line per direction as fio has it, the settings, the workers where there
 * are several records, the latencies and the evidence.
 */
void text_io_report(FILE *to, const struct run_result *run, const struct job_result *records,
		    size_t n, enum detail detail);

/* The same of such a kind. */
void text_io_print(FILE *to, const struct run_result *run, const struct job_result *records,
		   size_t n, enum detail detail, const struct text_io_kind *kind);

/* Over which bytes and operations are counted. */
double text_io_seconds(const struct job_result *r);

/* ---- the parts of a plain job's report below its answer ---- */

/* Lines of the settings: how many workers do it and by what means, of which the engine is the first
 * part; so many files, which lie `where` their directory is, "in" or "below". */
void text_io_put_engine(struct buf *text, const struct text_block *b);
void text_io_put_workers(struct buf *text, const struct text_block *b);
void text_io_put_files(struct buf *text, const struct text_block *b, const char *where);

/* What ran, on what: job, workers, files, storage, host. */
extern const struct text_line text_io_settings[];

/* Where time and bytes went. */
extern const struct text_line text_io_evidence[];

/* ---- when the figures of a plain job are not those of the storage ---- */

/*
 * Only two verdicts, by the limits of text.h; where neither holds there is none, since such a
 * job has no demand that could be missed:
 *   memory   reads that did not come from storage, without direct=1
 *   host     the CPUs are busy for 90 % or more
 * Fills io.verdict; its strings belong to the result.
 */
void verdict_fill_io(const struct run_result *run, struct job_result *j);
