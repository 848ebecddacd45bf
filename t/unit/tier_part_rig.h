/* SPDX-License-Identifier: Apache-2.0 */
/* tier_part_rig.h - the parts of a cache of all processes, as if each were one. */
#pragma once

#include <string.h>

#include "io/engines.h"
#include "suites.h"
#include "work/train/pipeline/pipeline.h"
#include "work/train/tier/tier_internal.h"

#define PARTS 2u
#define FILES 60u
#define BATCH 5u
#define EPOCHS 4u
#define BYTES 1000u

/* One process: its tier, and how it meets the other. */
struct part {
	unsigned rank;
	struct job job;
	struct dataset dataset;
	struct pass pass;
	struct mlgen_engine_job engine_job;
	struct clock *clock;
	struct tier *tier;
	struct tier_peers *peers;
	struct hosts *hosts;
	uint16_t port;
	int opened; /* what became of tier_peers_open */
	struct mlgen_err err;
	struct part *all;
	void (*does)(struct part *p);
};

static inline void part_make(struct part *p, uint64_t parts, uint64_t accelerators)
{
	static char directory[] = "d";

	p->clock = clock_new_real();
	/* Whose threads have descriptors of their own. */
	p->engine_job = (struct mlgen_engine_job){ .engine = engines_find("psync"),
						   .find = engines_find,
						   .workers = 8 };
	p->job = (struct job){
		.directory = directory,
		.format = FORMAT_RAW,
		.num_files = FILES,
		.samples_per_file = 1,
		.sample_size = { .a = BYTES },
		.scale = 100,
		.accelerators = accelerators,
		.accelerators_before = accelerators * p->rank,
		.accelerators_all = accelerators * parts,
		.place = { .rank = p->rank, .total = parts },
		.shared = true,
		.batch_size = BATCH,
		.read_threads = 1,
		.barrier = BARRIER_STEP,
		.prefetch = 2,
		.epochs = EPOCHS,
		.randseed = 7,
		.drop_last = true,
		.bs = { .read = 4096 },
		.shuffle = { .kind = SHUFFLE_SAMPLE },
		.cache = CACHE_LRU,
		.cache_scope = CACHE_SCOPE_ALL,
		.cache_size = { .percent = 40 },
	};
	ck_assert_int_eq(dataset_init(&p->dataset, &p->job, 0, NULL), 0);
}

static inline void part_open_tier(struct part *p)
{
	struct tier_config cfg = { .job = &p->job,
				   .pass = &p->pass,
				   .clock = p->clock,
				   .engine_job = &p->engine_job,
				   .peers = p->peers };

	ck_assert_int_eq(tier_new(&p->tier, &cfg, &p->err), 0);
}

static inline void part_make_pass(struct part *p)
{
	ck_assert_int_eq(train_pass(&p->pass, &p->job, &p->dataset, false, 0, &p->err), 0);
}

static inline void part_free(struct part *p)
{
	tier_free(p->tier);
	tier_peers_free(p->peers);
	dataset_fini(&p->dataset);
	clock_free(p->clock);
}
