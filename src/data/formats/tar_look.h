/* SPDX-License-Identifier: Apache-2.0 */
/* tar_look.h - tar files of samples that somebody else has written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/format.h"

/* format->look, look_beside and found_range. */
int tar_look(struct look *l);
bool tar_beside(const char *path, unsigned i, char *out, size_t size);
void tar_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		     uint64_t *len);

/* How far a reader has to go that has delivered the first n samples, n > 0: it knows that one is
 * complete when it has read the first member of the next, or the end mark. */
uint64_t tar_found_needed(const struct file_shape *shape, uint64_t n);
