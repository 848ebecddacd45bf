/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - any part of something that is made from its front: what lies before and behind is left
 * out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * What makes it puts all of it; `to` gets bytes [from, end). With `to` NULL nothing is kept: `at`
 * is how long it is then, and `crc32` its checksum.
 */
struct window {
	uint64_t at; /* bytes put so far */
	uint64_t from, end;
	uint8_t *to;
	uint32_t crc32;
};

void window_put(struct window *w, const void *data, size_t bytes);
/* A string, without its NUL. */
void window_text(struct window *w, const char *text);
/* Little-endian, so many bytes wide. */
void window_number(struct window *w, unsigned bytes, uint64_t v);
