/* SPDX-License-Identifier: Apache-2.0 */
/* flowed.h - compare texts whose lines may break elsewhere: a layout is shown in golden files. */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The text with a single blank for all that stand together; freed with free(). */
static __attribute__((noinline, unused)) char *flowed(const char *text)
{
	char *out = malloc(strlen(text) + 1);
	size_t n = 0;

	for (; out && *text; text++) {
		bool is_blank = isspace((unsigned char)*text);

		if (!is_blank)
			out[n++] = *text;
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	if (out)
		out[n] = '\0';
	return out;
}

static inline bool is_flowed_same(const char *text, const char *other)
{
	char *a = flowed(text), *b = flowed(other);
	bool is_same = a && b && !strcmp(a, b);

	free(a);
	free(b);
	return is_same;
}

static inline bool has_flowed(const char *text, const char *part)
{
	char *a = flowed(text), *b = flowed(part);
	bool has = a && b && strstr(a, b);

	free(a);
	free(b);
	return has;
}
