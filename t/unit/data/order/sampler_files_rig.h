/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_files_rig.h - a sampler and the extents that it gives. */
#pragma once

#include <check.h>

#include "data/order/order.h"
#include "work/workloads.h"

/* What one case is made of. */
struct setting {
	uint64_t files, per_file, extent_samples, ranks, batch, lanes;
	int shard, shuffle;
	bool drop_last, is_eval;
};

static inline void make_dataset(struct dataset *ds, const struct setting *c)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_RAW,
				 .phase = PHASE_PREPARE,
				 .num_files = c->files,
				 .samples_per_file = c->per_file,
				 .sample_size = { .a = 1 },
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
	ds->extent_samples = c->extent_samples;
}

static inline int make(struct sampler *s, struct dataset *ds, const struct setting *c,
		       struct mlgen_err *err)
{
	const struct sampler_config cfg = { .ranks = c->ranks,
					    .batch = c->batch,
					    .lanes = c->lanes,
					    .seed = 7,
					    .shuffle = { .kind = c->shuffle, .number = 9 },
					    .shard = c->shard,
					    .drop_last = c->drop_last,
					    .is_eval = c->is_eval };

	make_dataset(ds, c);
	return sampler_init(s, &cfg, ds, err);
}

static inline const char *name_of(const struct setting *c)
{
	static char text[200];

	snprintf(text, sizeof(text),
		 "files %lu of %lu by %lu, ranks %lu, batch %lu, lanes %lu, shard %d, shuffle %d, "
		 "drop_last %d",
		 (unsigned long)c->files, (unsigned long)c->per_file,
		 (unsigned long)c->extent_samples, (unsigned long)c->ranks, (unsigned long)c->batch,
		 (unsigned long)c->lanes, c->shard, c->shuffle, c->drop_last);
	return text;
}
