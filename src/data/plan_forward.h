/* SPDX-License-Identifier: Apache-2.0 */
/* plan_forward.h - what plan_forward has to know of the formats that it reads. */
#pragma once

#include <stdint.h>

#include "data/dataset.h"
#include "data/format.h"

/*
 * A file that is read from its beginning to its end holds records of one size,
 * a sample each, one behind the other. A reader has delivered samples 0 .. n-1
 * when it has gone n x record_bytes and a little further into the file.
 */
struct records {
	uint64_t record_bytes;
	uint64_t ahead_bytes; /* of the next record, before it delivers one */
	uint64_t end_bytes;   /* behind the last record, before it closes */
};

void tfrecord_records(const struct file_shape *shape, struct records *r);
void tar_records(const struct file_shape *shape, struct records *r);

/*
 * How many samples to read together: the largest divisor of samples_per_file
 * whose records stay within one buffer of TensorFlow's, at least 1. Most
 * extents then take a request, none takes many.
 */
uint64_t forward_extent_samples(uint64_t samples_per_file,
				uint64_t record_bytes);
