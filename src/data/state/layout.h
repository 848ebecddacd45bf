/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - how the state of a rank becomes files: one row of functions a layout. */
#pragma once

#include "data/state/shard.h"

/* What shard.h declares is the same of all layouts, or asks their row. */
struct layout {
	const char *name;
	uint64_t (*files)(const struct shard_set *set, uint64_t rank);
	/* Which groups f has: first_group, groups. */
	void (*groups)(struct shard *f);
	/* Then its bytes; NULL = those of its tensors. */
	void (*init)(struct shard *f);
	void (*name_of)(const struct shard *f, char *to, size_t bytes);
	/* All that name_of can give, # for a number; NULL ends them. */
	const char *const *names;
	bool (*next)(const struct shard *f, struct shard_piece *p);
	/* Of pieces that are no tensors; NULL = there are none. */
	void (*meta)(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		     uint64_t bytes);
	void (*describe)(const struct shard *f, const struct shard_piece *p, char *to,
			 size_t bytes);
	/* access=framework. */
	bool (*write_next)(const struct shard *f, struct shard_write *w);
	bool (*read_next)(const struct shard *f, struct shard_read *r);
	/* Python's open() asks for a file's size; C++'s does not. */
	bool stats_to_write, stats_to_read;
	/* Its runs, cut from the file's first byte on; 0 = from a piece's. */
	uint64_t run_bytes;
	uint64_t buffer_bytes; /* the most of a head besides one piece */
};

extern const struct layout layout_torch, layout_deepspeed, layout_stream, layout_pattern;

/* A piece that is no tensor, but longer than this, is written in several calls, so that the
 * writers' scratch buffers stay small. */
#define LAYOUT_META_BYTES (UINT64_C(1) << 20)

/* Rows of layout_deepspeed that others have, too: DLIO's files and names. */
uint64_t deepspeed_files(const struct shard_set *set, uint64_t rank);
void deepspeed_groups(struct shard *f);
void deepspeed_name(const struct shard *f, char *to, size_t bytes);
extern const char *const deepspeed_names[];

/* One file with all groups of a rank, if it has any. */
uint64_t layout_one_file(const struct shard_set *set, uint64_t rank);
void layout_all_groups(struct shard *f);
