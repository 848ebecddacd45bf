/* SPDX-License-Identifier: Apache-2.0 */
/* torch_pickle.h - data.pkl of an archive: the dict of tensors, as Python's pickler writes it. */
#pragma once

#include "data/state/shard.h"
#include "data/state/window.h"

/*
 * What torch 1.13's torch.save({name: tensor, ...}) pickles: protocol 2, with every object
 * memoized; a tensor is its storage's key (its number), type and length. Tensors have one
 * dimension; their type follows from value_bytes.
 */
void torch_pickle(const struct shard *f, struct window *w);
