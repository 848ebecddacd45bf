/* SPDX-License-Identifier: Apache-2.0 */
/* bom.h - the byte order mark that some editors begin UTF-8 text with. */
#pragma once

#include <stddef.h>
#include <string.h>

#define BOM "\xef\xbb\xbf"
enum { BOM_BYTES = sizeof(BOM) - 1 };

/* Bytes of the mark that a text begins with; 0 where it has none. */
static inline size_t bom_bytes(const void *text, size_t bytes)
{
	return bytes >= BOM_BYTES && memcmp(text, BOM, BOM_BYTES) == 0 ? BOM_BYTES : 0;
}
