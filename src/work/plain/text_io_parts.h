/* SPDX-License-Identifier: Apache-2.0 */
/* text_io_parts.h - the parts of a plain job's report below its answer. */
#pragma once

#include "report/text_block.h"

/* Lines of the settings: how many workers do it and by what means, of which the engine is the first
 * part; so many files, which lie `where` their directory is, "in" or "below". */
void text_io_put_engine(struct buf *text, const struct text_block *b);
void text_io_put_workers(struct buf *text, const struct text_block *b);
void text_io_put_files(struct buf *text, const struct text_block *b, const char *where);

/* What ran, on what: job, workers, files, storage, host. */
extern const struct text_line text_io_settings[];

/*
 * A line for each worker of a job that has a record of each; of more than eight the slowest, the
 * median and the fastest. `unit` of the latencies is "ms" or "us". Nothing for one record.
 */
void text_io_workers(struct buf *out, const struct text_block *b, const struct job_result *records,
		     size_t n, const char *unit);

/* Where time and bytes went. */
extern const struct text_line text_io_evidence[];
