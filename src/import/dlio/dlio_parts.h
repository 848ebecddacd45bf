/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_parts.h - the blocks of which dlio_job.c makes a job file. */
#pragma once

#include "import/dlio/dlio_writer.h"

/* dlio_job.c: a directory that the YAML names. */
void dlio_write_directory(struct dlio_writer *w, const char *option, const char *path);

/* dlio_dataset.c: files and samples, and those of the evaluation. */
void dlio_write_dataset(struct dlio_writer *w);
void dlio_write_evaluation(struct dlio_writer *w);

/* dlio_columns.c: what a Parquet file is made of; the bytes of a row, 0 where the YAML names no
 * columns. */
double dlio_write_columns(struct dlio_writer *w);

/* dlio_reader.c: how the dataset is read; `saves`: with checkpoints between. */
void dlio_write_reader(struct dlio_writer *w, bool saves);

/* dlio_state.c: what a rank saves, and which ranks; in the block at hand. */
void dlio_write_state(struct dlio_writer *w, bool trains);

/* dlio_checkpoint.c: of a training, and as sections [save] and [restore]. */
void dlio_write_saving(struct dlio_writer *w);
void dlio_write_checkpoints(struct dlio_writer *w);

/* dlio_unused.c: all of the YAML that nothing became of. */
void dlio_write_unused(struct dlio_writer *w);
