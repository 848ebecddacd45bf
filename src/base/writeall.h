/* SPDX-License-Identifier: Apache-2.0 */
/* writeall.h - write all of a text to a descriptor. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In as many calls as it takes, signals or not. 0, or -errno of the call that failed, after which
 * nobody knows how much was written. */
int writeall(int fd, const char *text, size_t bytes);

/* The same to a place in a file, bytes from its beginning; where the descriptor stands is left
 * alone. */
int writeall_at(int fd, const void *from, size_t bytes, uint64_t at);
