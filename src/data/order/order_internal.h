/* SPDX-License-Identifier: Apache-2.0 */
/* order_internal.h - what the samplers share. */
#pragma once

#include "data/order/order.h"

bool sampler_shards_files(const struct sampler *s);
/* The rank's n-th file in the order of the files. */
uint64_t sampler_file_index(const struct sampler *s, uint64_t rank, uint64_t n);

/* Of a sampler that is_uneven: what order.h says of sampler_lane_at, sampler_lane_position,
 * sampler_file_extents and sampler_at. */
struct sampler_lane sampler_uneven_at(struct sampler_epoch *e, uint64_t rank, uint64_t position);
uint64_t sampler_uneven_position(struct sampler_epoch *e, uint64_t rank, uint64_t file,
				 uint64_t extent);
uint64_t sampler_uneven_extents(const struct sampler_epoch *e, uint64_t rank, uint64_t file);
uint64_t sampler_uneven_id(struct sampler_epoch *e, uint64_t rank, uint64_t position);

/* shuffle=pages and chunks: the extent at a place of the epoch's order. */
void sampler_runs_epoch(struct sampler_epoch *e, uint64_t epoch);
uint64_t sampler_runs_at(struct sampler_epoch *e, uint64_t at);

/* shuffle=replacement and weighted: the same. The weights are held by who made them; -EINVAL with
 * err where no order can be drawn by them. */
int sampler_weights_init(struct sampler *s, const struct dist *weights, struct mlgen_err *err);
void sampler_drawn_epoch(struct sampler_epoch *e, uint64_t epoch);
uint64_t sampler_drawn_at(const struct sampler_epoch *e, uint64_t at);

/* Of a sampler that is_sized: sampler_samples_before, and the other way round the first position
 * before which there are so many. */
uint64_t sampler_sized_before(struct sampler_epoch *e, uint64_t rank, uint64_t position);
uint64_t sampler_sized_position(struct sampler_epoch *e, uint64_t rank, uint64_t samples);
