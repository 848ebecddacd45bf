/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the operations by which an extent is read, one after the other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "data/dataset.h"

struct plan_config {
	const struct dataset *dataset;
	enum job_access access;
	uint64_t bs_bytes;
	uint64_t align_bytes; /* of direct=1; 0 = buffered */
};

struct plan_op {
	enum mlgen_op op;
	bool after;  /* only when all earlier ones are complete */
	bool eof_ok; /* READ rounded up past the end of the file */
	uint64_t off, len_bytes;
};

/* An iterator; a plain struct, no memory behind it. */
struct plan {
	const struct plan_config *config;
	uint64_t off, end; /* still to read */
	uint64_t file_bytes;
	unsigned step;
};

/* access=plain: open; the whole file (one sample per file) or the samples'
 * bytes in bs requests, rounded to align_bytes; close. */
void plan_init(struct plan *p, const struct plan_config *config,
	       const struct extent *x);

/* The next operation, or false when there is none. */
bool plan_next(struct plan *p, struct plan_op *op);

/* Counts per sample for the dry run: operations by kind and bytes. */
struct plan_counts {
	uint64_t ops[MLGEN_OPS];
	uint64_t io_bytes;
};
void plan_count(const struct plan_config *config, const struct extent *x,
		struct plan_counts *c);
