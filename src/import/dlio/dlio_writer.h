/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_writer.h - the lines of a job file that is made of DLIO's configuration, and its blocks. */
#pragma once

#include "import/dlio/dlio_config.h"

/*
 * Options and what there is to say of them are gathered in a block, which gets its heading when it
 * is done, and beside that the names of the keys whose values are DLIO's defaults.
 */
struct dlio_writer {
	struct dlio_config *c;
	const char *file; /* the YAML's, without its folders */
	const char *name; /* of the job; fit for a section and a path */
	struct buf *out;
	struct buf block, defaults;
};

/* The value of a key that an option follows from now; use: and where a default changes nothing, so
 * that it need not be told. */
const struct dlio_value *dlio_take(struct dlio_writer *w, const char *path);
const struct dlio_value *dlio_use(struct dlio_writer *w, const char *path);

/* The option that this key becomes, as its row converts the value. */
void dlio_option_of(struct dlio_writer *w, const char *path);

/* The same of a value that other keys bear on: (w, "train.seed", "%d", 3). */
__attribute__((format(printf, 3, 4))) void dlio_option_as(struct dlio_writer *w, const char *path,
							  const char *fmt, ...);

/* One that no key stands for: "barrier=step". */
__attribute__((format(printf, 2, 3))) void dlio_option(struct dlio_writer *w, const char *fmt, ...);

/* NAME=TEXT; false where no line of a job file can hold it, and then nothing is written. */
bool dlio_option_text(struct dlio_writer *w, const char *name, const char *text);

/* A comment, in lines of readable length. */
__attribute__((format(printf, 2, 3))) void dlio_say(struct dlio_writer *w, const char *fmt, ...);

/* 1024 as "1,024", for a comment. */
struct dlio_digits {
	char s[48];
};
struct dlio_digits dlio_digits(double whole);

/* The block is done: it stands under this heading; NULL = none. */
void dlio_block(struct dlio_writer *w, const char *heading);

void dlio_writer_fini(struct dlio_writer *w);

/* ---- blocks ---- */

/* dlio_job.c: a directory that the YAML names. */
void dlio_write_directory(struct dlio_writer *w, const char *option, const char *path);

/* dlio_dataset.c: files and samples, those of the evaluation, and how the dataset is read; `saves`:
 * with checkpoints between. */
void dlio_write_dataset(struct dlio_writer *w);
void dlio_write_evaluation(struct dlio_writer *w);
void dlio_write_reader(struct dlio_writer *w, bool saves);

/* dlio_checkpoint.c: checkpoints of a training, and as sections [save] and [restore]. */
void dlio_write_saving(struct dlio_writer *w);
void dlio_write_checkpoints(struct dlio_writer *w);
