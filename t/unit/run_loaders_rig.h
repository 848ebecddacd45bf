/* SPDX-License-Identifier: Apache-2.0 */
/* run_loaders_rig.h - trainings with loaders, on the virtual clock. */
#pragma once

#include "train_rig.h"

static inline struct job *tfdata_job(uint64_t files, uint64_t per_file)
{
	struct job *j = new_job();

	j->loader = LOADER_TFDATA;
	j->shuffle.kind = SHUFFLE_NONE;
	j->num_files = files;
	j->samples_per_file = per_file;
	return j;
}

/* All went well: so many steps and samples of a rank, so many reads. */
static inline void check_counts(struct rig *r, uint64_t steps, uint64_t samples, uint64_t of_reads)
{
	const struct rank_count *c = &rig_rank(r)->count;

	ck_assert_msg(r->err.code == 0, "%s", r->err.text);
	ck_assert_uint_eq(count_get(&c->steps), steps);
	ck_assert_uint_eq(count_get(&c->samples), samples);
	ck_assert_uint_eq(atomic_load(&reads), of_reads);
}

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))
