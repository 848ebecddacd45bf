/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_writer.h - writes the blocks of a job file from a DLIO configuration. */
#pragma once

#include "import/dlio/dlio_config.h"

/* Collects a block: options with their comments, and the keys whose values are DLIO's defaults. The
 * block gets its heading when it ends. */
struct dlio_writer {
	struct dlio_config *c;
	const char *file; /* name of the YAML file without folders */
	const char *name; /* the job's name; valid as the name of a section and in a path */
	struct buf *out;
	struct buf block, defaults;
};

/* Return the value of a key and mark the value as used. A default is listed in the block's comment.
 * Use dlio_get_quietly(), which lists nothing, for a default that changes nothing. */
const struct dlio_value *dlio_get(struct dlio_writer *w, const char *path);
const struct dlio_value *dlio_get_quietly(struct dlio_writer *w, const char *path);

/* Write the option of this key, with the value that its row converts. */
void dlio_option_from(struct dlio_writer *w, const char *path);

/* Write the option of this key with another value: (w, "train.seed", "%d", 3). */
__attribute__((format(printf, 3, 4))) void dlio_option_set(struct dlio_writer *w, const char *path,
							   const char *fmt, ...);

/* Write an option that belongs to no key: "barrier=step". */
__attribute__((format(printf, 2, 3))) void dlio_option(struct dlio_writer *w, const char *fmt, ...);

/* Write NAME=TEXT. Writes nothing and returns false if a line of a job file cannot contain TEXT. */
bool dlio_option_text(struct dlio_writer *w, const char *name, const char *text);

/* Write a comment, wrapped into lines. */
__attribute__((format(printf, 2, 3))) void dlio_comment(struct dlio_writer *w, const char *fmt,
							...);

/* Format 1024 as "1,024", for a comment. */
struct dlio_digits {
	char s[48];
};
struct dlio_digits dlio_digits(double whole);

/* End the block and append it to the output under a heading; NULL = no heading. */
void dlio_block(struct dlio_writer *w, const char *heading);

void dlio_writer_fini(struct dlio_writer *w);

/* ---- blocks ---- */

/* dlio_job.c: write the option for a directory that the YAML names. */
void dlio_write_directory(struct dlio_writer *w, const char *option, const char *path);

/* dlio_dataset.c: write the files and samples, the evaluation, and how the dataset is read.
 * `saves`: the training job saves checkpoints. */
void dlio_write_dataset(struct dlio_writer *w);
void dlio_write_evaluation(struct dlio_writer *w);
void dlio_write_reader(struct dlio_writer *w, bool saves);

/* dlio_checkpoint.c: write the checkpoints of a training job, and the sections [save] and
 * [restore]. */
void dlio_write_saving(struct dlio_writer *w);
void dlio_write_checkpoints(struct dlio_writer *w);
