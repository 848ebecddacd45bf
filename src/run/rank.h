/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one simulated accelerator: take a batch, compute, wait for the others. */
#pragma once

#include "run/train.h"

/*
 * Ring those of its loaders that wait for a batch below `limit`; UINT64_MAX is all of them. The
 * others sleep on: a wake that finds nothing to do takes the CPU from an accelerator that wakes at
 * the same moment. Any thread.
 */
void rank_call(struct rank *r, uint64_t limit);

/* The accelerator's thread. */
void *rank_main(void *arg);
