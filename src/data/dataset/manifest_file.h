/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_file.h - the JSON document that is a dataset's manifest: read, replace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

/* As in job_fields; what is at its default is not written. */
#define MANIFEST_ROW_GROUP_SIZE 1024

/* The parameters as they are written; zeroed before use. */
struct manifest {
	uint64_t num_files, samples_per_file, subfolders, eval_files;
	uint64_t label_size, row_group_size;
	char format[32];
	char sample_size[128];
	char *sizes;   /* what sample_size=file:PATH had; owned, or NULL */
	char *columns; /* owned; NULL = none given */
	bool complete;
};

void manifest_fini(struct manifest *m);

/* 0, -ENOENT without err, or another -errno with it. */
int manifest_load(const char *directory, struct manifest *m, struct mlgen_err *err);

/* Replaced as a whole, and synced. 0 or -errno with err. */
int manifest_store(const char *directory, const struct manifest *m, struct mlgen_err *err);

/* The same in a directory that is held (below.h), and through no link of the manifest's name;
 * `directory` is for messages. */
int manifest_load_at(int dir_fd, const char *directory, struct manifest *m, struct mlgen_err *err);
int manifest_store_at(int dir_fd, const char *directory, const struct manifest *m,
		      struct mlgen_err *err);
