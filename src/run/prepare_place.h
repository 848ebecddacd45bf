/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_place.h - is there room for the files of a dataset, and may they be written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/dataset.h"
#include "run/filemaker.h"

/* What is to be written, and what is there. */
struct prepare_need {
	const struct dataset *dataset;
	const struct filemaker *maker; /* of those to evaluate with, too */
	bool readonly, allow_fill;
	uint64_t eval_bytes;  /* of files to evaluate with, all of them */
	uint64_t freed_bytes; /* of what is removed first */
};

/* 0, or -EROFS with err. */
int prepare_check_readonly(const struct prepare_need *n, struct mlgen_err *err);

/* Half of what is free is enough, or all of it with allow_fill. 0, -ENOSPC with
 * err, which says how many files would fit, or -errno. */
int prepare_check_space(const struct prepare_need *n, struct mlgen_err *err);

/* What would fit into room->free_bytes, in whole files with those that are there,
 * or where else it would: way_out, which is `out`, and or_fill. */
#define PREPARE_WAY_OUT_BYTES 64
void prepare_put_way_out(char out[PREPARE_WAY_OUT_BYTES],
			 struct filemaker_room *room, const struct dataset *ds,
			 uint64_t present_bytes, uint64_t eval_bytes);

/* With those above it. 0 or -errno with err. */
int prepare_make_directory(const char *directory, struct mlgen_err *err);
