/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - files that are read from their beginning to their end. */
#pragma once

#include <stdint.h>

#include "data/file/format.h"

/*
 * A file that is read from its beginning to its end holds samples one behind the other. How far
 * into it has a reader gone that has delivered the first n of them, 0 < n <= all?
 */
uint64_t tfrecord_needed(const struct file_shape *shape, uint64_t n);
uint64_t tar_needed(const struct file_shape *shape, uint64_t n);

/*
 * How many samples to read together: the largest divisor of samples_per_file whose records stay
 * within one buffer of TensorFlow's, at least 1. Most extents then take a request, none takes many.
 */
uint64_t forward_extent_samples(uint64_t samples_per_file, uint64_t record_bytes);
