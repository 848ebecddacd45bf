/* SPDX-License-Identifier: Apache-2.0 */
/* order_followed.h - the reads of a training's samples, one after the other: what their order comes
 * to. */
#pragma once

#include <stdint.h>

#include "distil/distil_inside.h"
#include "distil/neighbours.h"
#include "distil/ordering.h"

/* How files are numbered: by their whole path, or by their name in its directory and then by
 * path. */
enum order_names { ORDER_BY_PATH, ORDER_BY_BASENAME };

struct order_followed {
	uint64_t *visits;      /* of samples, by stage */
	uint32_t files, every; /* looked at: one in so many */
	uint64_t all_files;
	uint32_t directories; /* of files that are looked at; 2 = several */
	uint32_t ranks;
	struct ordered is;      /* by files, which are numbered by name */
	struct ordered samples; /* where files have several: the same of each,
				 * by where in its file it is read; reads 0 =
				 * files have one */
	struct neighbourly near;
};

/* Two walks over the visits. No files = nothing was read for its samples. 0, or -errno with err as
 * visits_next; to be finished in any case. */
int order_follow(struct order_followed *to, const struct distil *d, uint32_t party,
		 enum order_names names, struct mlgen_err *err);
void order_followed_fini(struct order_followed *f); /* takes a zeroed one */

/* At least one. */
uint64_t order_samples_per_file(const struct distil *d, uint32_t party);
