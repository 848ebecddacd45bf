/* SPDX-License-Identifier: Apache-2.0 */
/* plan_rig.h - plans and their operations, for the tests of both. */
#pragma once

#include <check.h>

#include "data/file/file.h"

static inline void make(struct dataset *ds, int format, uint64_t per_file, double bytes)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = format,
				 .num_files = 10,
				 .samples_per_file = per_file,
				 .sample_size = { .a = bytes },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
}

static inline void add(struct plan_counts *c, const struct plan_op *op)
{
	c->ops[op->op]++;
	if (op->op == MLGEN_READ)
		sizes_add(&c->reads, op->len_bytes, 1);
	c->io_bytes += op->got_bytes;
}
