/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_rig.h - a small job whose files and samples are counted. */
#pragma once

#include <check.h>

#include "base/dist.h"
#include "data/file/file.h"

/* 28 files of one 1000-byte sample, one accelerator, batch 7. */
static inline struct job plain_job(void)
{
	static char directory[] = "/data/set/";

	return (struct job){ .directory = directory,
			     .format = FORMAT_RAW,
			     .num_files = 28,
			     .samples_per_file = 1,
			     .sample_size = { .kind = DIST_CONST, .a = 1000 },
			     .scale = 100,
			     .accelerators = 1,
			     .batch_size = 7,
			     .drop_last = true };
}

static inline void sized(struct job *job, const char *text)
{
	ck_assert_int_eq(dist_parse(&job->sample_size, text, DIST_BYTES, NULL, 1024, NULL), 0);
}
