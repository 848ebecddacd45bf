/* SPDX-License-Identifier: Apache-2.0 */
/* text_io.h - the text report of a plain job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/detail.h"
#include "report/text_block.h"
#include "run/results.h"

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
