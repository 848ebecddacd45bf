/* SPDX-License-Identifier: Apache-2.0 */
/* layout_pattern.c - checkpoint_layout=pattern: the mix of write sizes that was measured of a
 * framework. */
#include "data/state/state_internal.h"

#include "base/dist.h"
#include "base/rng.h"
#include "base/util.h"
#include "job/job.h"

/* A small write and a large one in turn, until all is written: McGill's storage benchmark, of its
 * traces. A large one has at least so many bytes. */
/* clang-format off */
static const struct pattern {
	uint64_t small_bytes;
	struct dist large;
	uint64_t least_bytes;
} patterns[] = {
	[PATTERN_UNET3D] = { 1280, { DIST_NORMAL, 2170231, 4459727 }, 64 },
	[PATTERN_BERT] = { 4096, { DIST_CONST, 8384512, 0 }, 0 },
	[PATTERN_DLRM] = { 7348, { DIST_NORMAL, 517653535, 841116648 }, 98 },
};
/* clang-format on */

/* Every rank has sizes of its own, the same in each checkpoint. */
static uint64_t write_bytes(const struct shard *f, uint64_t order)
{
	const struct job *j = f->set->state->job;
	const struct pattern *p = &patterns[j->checkpoint_pattern];
	uint64_t bytes;

	if (order % 2 == 0)
		return p->small_bytes;
	bytes = dist_draw(&p->large, j->randseed + f->rank, RNG_REQUEST, order / 2);
	return bytes < p->least_bytes ? p->least_bytes : bytes;
}

/* A piece is a write, and all of them are of one tensor. */
static bool pattern_next(const struct shard *f, struct shard_piece *p)
{
	uint64_t off = p->off + p->bytes;
	uint64_t order = p->bytes ? p->order + 1 : 0;

	if (off == f->bytes)
		return false;
	*p = (struct shard_piece){
		.off = off,
		.bytes = u64_min(write_bytes(f, order), f->bytes - off),
		.is_tensor = true,
		.order = order,
	};
	return true;
}

static bool pattern_write_next(const struct shard *f, struct shard_write *w)
{
	w->off += w->bytes;
	if (w->left == 0) {
		if (!pattern_next(f, &w->at)) {
			w->bytes = 0;
			return false;
		}
		w->left = w->at.bytes;
	}
	w->bytes = u64_min(w->left, shard_most_run(f->set));
	w->left -= w->bytes;
	return true;
}

/* As it was written. */
static bool pattern_read_next(const struct shard *f, struct shard_read *r)
{
	struct shard_write w = { .off = r->off, .bytes = r->bytes, .at = r->at, .left = r->left };

	if (!pattern_write_next(f, &w))
		return false;
	r->off = w.off;
	r->bytes = w.bytes;
	r->got_bytes = w.bytes;
	r->at = w.at;
	r->left = w.left;
	return true;
}

const struct layout layout_pattern = {
	.name = "pattern",
	.files = layout_one_file,
	.groups = layout_all_groups,
	.name_of = deepspeed_name,
	.names = deepspeed_names,
	.next = pattern_next,
	.write_next = pattern_write_next,
	.read_next = pattern_read_next,
};
