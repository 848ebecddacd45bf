/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_look.h - TFRecord files that somebody else has written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/format.h"

/* format->look and format->found_range. */
int tfrecord_look(struct look *l);
void tfrecord_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
			  uint64_t *len);

/* TFRecordDataset reads as much at a time, by default. */
#define TFRECORD_READ_BYTES 262144

/* Is this a record's length and its checksum? True without ISA-L. */
bool tfrecord_is_length(const uint8_t *head);
/* What tfrecord_look does with a compressed file: its words are how far a reader has gone into
 * it. */
int tfrecord_inflate(struct look *l);

/* By the index beside it: true where there is one that is of this file. Words are those of
 * tfrecord_look; l->err says where one could not be put. */
bool tfrecord_by_index(struct look *l);

/* format->look_beside: where it may lie. */
bool tfrecord_beside(const char *path, unsigned i, char *out, size_t size);

bool tfrecord_found_is_compressed(const struct file_shape *shape);
/* Where the first n records end, n > 0. */
uint64_t tfrecord_found_end(const struct file_shape *shape, uint64_t n);
