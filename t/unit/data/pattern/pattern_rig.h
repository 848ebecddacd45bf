/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_rig.h - the requests of a plain job, until there are no more. */
#pragma once

#include <check.h>
#include <string.h>

#include "data/pattern/pattern.h"

#define KI UINT64_C(1024)
#define MI (1024 * KI)

static inline struct job job_of(int rw, uint64_t read, uint64_t write)
{
	return (struct job){ .rw = rw,
			     .bs = { read, write },
			     .rwmixread = 50,
			     .loops = 1,
			     .numjobs = 1,
			     .kb_base = 1024,
			     .randseed = 1 };
}

static inline struct pattern *pattern_of(const struct job *job,
					 const struct pattern_region *regions, unsigned count,
					 uint64_t worker)
{
	struct mlgen_err err = { 0 };
	struct pattern *p = NULL;
	struct pattern_config cfg = {
		.job = job, .regions = regions, .count = count, .worker = worker
	};

	ck_assert_msg(pattern_new(&p, &cfg, &err) == 0, "%s", err.text);
	return p;
}

static inline struct pattern *one_file(const struct job *job, uint64_t bytes)
{
	struct pattern_region whole = { 0, bytes };

	return pattern_of(job, &whole, 1, 0);
}

struct sums {
	uint64_t ops, bytes, writes;
};

static inline struct sums run_out(struct pattern *p)
{
	struct sums s = { 0, 0, 0 };
	struct pattern_op op;

	while (pattern_next(p, &op)) {
		s.ops++;
		s.bytes += op.len_bytes;
		s.writes += op.is_write;
		if (s.ops > 1000000)
			ck_abort_msg("no end");
	}
	ck_assert(!pattern_next(p, &op));
	return s;
}
