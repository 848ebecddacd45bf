/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_rig.h - a dataset directory, and what tests make in it. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/dist.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "temp.h"
#include "work/workloads.h"

static __attribute__((unused)) char directory[TEMP_BYTES], manifest_path[TEMP_BELOW];

static inline void set_up(void)
{
	temp_folder(directory);
	snprintf(manifest_path, sizeof(manifest_path), "%s/%s", directory, MANIFEST_NAME);
}

static inline void tear_down(void)
{
	temp_remove(directory);
}

static inline void make(struct dataset *ds, const char *size, uint64_t files)
{
	struct job job = { .directory = directory,
			   .format = FORMAT_RAW,
			   .phase = PHASE_PREPARE,
			   .num_files = files,
			   .samples_per_file = 2,
			   .subfolders = 3,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	ck_assert_int_eq(dist_parse(&job.sample_size, size, DIST_BYTES, NULL, 1024, NULL), 0);
	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

static inline void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static inline void expect_state(struct dataset *ds, enum manifest_state want)
{
	struct mlgen_err err = { 0 };
	enum manifest_state state;
	int r = manifest_read(ds, &state, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_int_eq(state, want);
}
