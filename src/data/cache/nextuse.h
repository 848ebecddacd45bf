/* SPDX-License-Identifier: Apache-2.0 */
/* nextuse.h - when what is accessed now is accessed next: what belady has to know. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "data/order/order.h"

/*
 * Accesses are counted in the order of the plan (orderwalk.h), from 0 on over all epochs. What an
 * access of one epoch is told is found in this epoch and those that follow, until each unit has
 * come again: of permutations that is one, and where samples are drawn with replacement, or by
 * weights, a few more. A unit that NEXTUSE_EPOCHS have not is as far away as one that never comes
 * again.
 *
 * 4 bytes an access of an epoch and 4 a unit. Written by nextuse_epoch and nextuse_look_first,
 * which one thread calls; then any may read.
 */
struct nextuse;

#define NEXTUSE_NEVER UINT64_MAX
/* An epoch with replacement leaves out 37 % of the units, so many of 10^7 about one. */
#define NEXTUSE_EPOCHS 16u

struct nextuse_config {
	const struct sampler *sampler; /* borrowed */
	uint64_t first_rank, end_rank; /* whose accesses they are */
	uint64_t epochs;               /* that there will be */
	uint64_t units;
	/* Of an extent; NULL = each is one. */
	uint64_t (*unit_of)(const void *arg, uint64_t extent);
	const void *arg;
};

/* 0; -EINVAL with err where the order of the next epoch is not known before it begins, or has more
 * accesses than can be counted. */
int nextuse_new(struct nextuse **out, const struct nextuse_config *cfg, struct mlgen_err *err);
void nextuse_free(struct nextuse *n); /* NULL is fine */

/* To an epoch (from 0); the first, or the one behind the last that was. */
void nextuse_epoch(struct nextuse *n, uint64_t epoch);

/* The accesses of this epoch. */
uint64_t nextuse_accesses(const struct nextuse *n);

/* When the unit of the epoch's access `index` (from 0) is accessed next, of all accesses of all
 * epochs; NEXTUSE_NEVER. */
uint64_t nextuse_at(const struct nextuse *n, uint64_t index);

/* The first access of a unit from the beginning of this epoch on, likewise. To be asked between
 * nextuse_look_first and the next nextuse_epoch. */
void nextuse_look_first(struct nextuse *n);
uint64_t nextuse_first(const struct nextuse *n, uint64_t unit);

uint64_t nextuse_state_bytes(const struct nextuse_config *cfg);
