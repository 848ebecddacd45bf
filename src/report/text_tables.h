/* SPDX-License-Identifier: Apache-2.0 */
/* text_tables.h - the two tables of the text report: epochs and latencies. */
#pragma once

#include "base/buf.h"
#include "field/fields.h"
#include "report/show.h"
#include "report/text_block.h"
#include "run/results.h"

/*
 * One line per epoch and one for all, under a header. Where that is more than `most_lines`, the
 * first epochs and the last stay, with `...` between them; never less than TEXT_EPOCHS_LEAST lines.
 */
#define TEXT_EPOCHS_LEAST 5
void text_epochs(struct buf *out, const struct job_result *r, const struct rate_unit *unit,
		 unsigned most_lines);

/*
 * One line per operation, sample, stall and step that occurred. Of a long list of percentiles those
 * that fit: the usual ones, then the highest.
 */
void text_latency(struct buf *out, const struct job_result *r, const struct f64_list *percentiles);

/* Name in rows of the unit that a training reads: "sample", or "extent" if it reads several samples
 * at once. */
const char *text_unit_read(const struct ml_result *ml);

/*
 * The same of a plain job, with the least latency, and in microseconds where every mean is below
 * 100 of them: a read from the page cache takes one. Rows without a count are left out. The unit:
 * "ms" or "us".
 */
struct text_latency_row {
	const char *name;
	uint64_t count;
	const struct hist *hist;
};
const char *text_io_latency(struct buf *out, const struct text_latency_row *rows, size_t n,
			    const struct f64_list *percentiles);

/* Such rows in milliseconds, under a title of up to seven letters, in place of `latency`; nothing
 * where none has a count. */
void text_rows_latency(struct buf *out, const char *title, const struct text_latency_row *rows,
		       size_t n, const struct f64_list *percentiles);
