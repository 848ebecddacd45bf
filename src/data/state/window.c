/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - any part of something that is made from its front: what lies before and behind is left
 * out. */
#include "data/state/state_internal.h"

#include <string.h>
#include <zlib.h>

void window_put(struct window *w, const void *data, size_t bytes)
{
	uint64_t from = w->from > w->at ? w->from : w->at;
	uint64_t until = w->at + bytes < w->end ? w->at + bytes : w->end;

	if (w->to == NULL)
		w->crc32 = (uint32_t)crc32_z(w->crc32, data, bytes);
	else if (from < until)
		memcpy(w->to + (from - w->from), (const uint8_t *)data + (from - w->at),
		       until - from);
	w->at += bytes;
}

void window_text(struct window *w, const char *text)
{
	window_put(w, text, strlen(text));
}

void window_number(struct window *w, unsigned bytes, uint64_t v)
{
	uint8_t at[8];

	for (unsigned i = 0; i < bytes; i++, v >>= 8)
		at[i] = (uint8_t)v;
	window_put(w, at, bytes);
}
