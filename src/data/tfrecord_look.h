/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_look.h - TFRecord files that somebody else has written. */
#pragma once

#include <stdint.h>

#include "data/format.h"

/* format->look and format->found_range. */
int tfrecord_look(struct look *l);
void tfrecord_found_range(const struct file_shape *shape, uint64_t first,
			  uint64_t n, uint64_t *off, uint64_t *len);

/* Where the first n records end, n > 0. */
uint64_t tfrecord_found_end(const struct file_shape *shape, uint64_t n);
