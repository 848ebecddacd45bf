/* SPDX-License-Identifier: Apache-2.0 */
/* interleave.h - tf.data in order: how far each thread may be ahead of what was delivered. */
#pragma once

#include "run/train.h"

/*
 * What TFRecordDataset(num_parallel_reads=W) is made of (TensorFlow 2,
 * parallel_interleave_dataset_op.cc; its arguments in readers.py): 3W threads, a file each. Of W
 * files a record is delivered in turn; the next 2W have been opened, and their beginning read. A
 * thread has two records in its buffer and a third in its hand: it reads a fourth once the first
 * was delivered. It opens its next file, 3W files on, when all of this one was delivered and the
 * turn comes to it again. An epoch begins when the one before was delivered.
 *
 * Delivered means taken by what is behind it, a batch that is being made: as far as the accelerator
 * has batches ahead (rank->limit), and as all before it was read. A record is an extent here where
 * an extent has one; of larger ones the first record counts, since the rest comes with it. Of row
 * groups that differ a thread has one more than was delivered of its file.
 *
 * That is a pure function of a position, and nothing is kept per file: a number a loader of what it
 * has read, and one of the rank, which whoever reads what is next moves on for all. A thread that
 * need not wait looks at one number more for it, and changes two.
 */

/* What an extent waits for. */
struct interleave_turn {
	uint64_t batch;     /* of the stage: that may be read */
	uint64_t delivered; /* extents, of all stages */
};

/* For what is at this position of a stage. */
void interleave_turn(struct interleave_turn *turn, const struct stage *at,
		     struct sampler_epoch *order, uint64_t rank, uint64_t position);

/* Extents of one file that a thread may have read beyond what was delivered. */
uint64_t interleave_extents(const struct sampler *s);

/* By the loader: it has read what is at this position of a stage. Wakes those whose turn it is. */
void interleave_deliver(struct loader *l, const struct stage *at, struct sampler_epoch *order,
			uint64_t position);
