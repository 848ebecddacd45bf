/* SPDX-License-Identifier: Apache-2.0 */
/* namepair.c - the names of two files that are one: FROM:TO. */
#include "data/scan/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool namepair_is_none(const char *text)
{
	return strcmp(text, "none") == 0;
}

bool namepair_parse(struct namepair *p, const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1] || strchr(colon + 1, ':'))
		return false;
	p->from = text;
	p->from_bytes = (size_t)(colon - text);
	p->to = colon + 1;
	return strlen(p->to) != p->from_bytes || memcmp(p->from, p->to, p->from_bytes) != 0;
}

/* Where the last of them begins; NULL = there is none. */
static const char *last_of(const char *path, const char *what, size_t bytes)
{
	size_t n = strlen(path);

	for (; n >= bytes; n--)
		if (memcmp(path + n - bytes, what, bytes) == 0)
			return path + n - bytes;
	return NULL;
}

enum namepair_role namepair_role(const struct namepair *p, const char *path)
{
	size_t to_bytes = strlen(p->to);
	const char *from = last_of(path, p->from, p->from_bytes);
	const char *to = last_of(path, p->to, to_bytes);

	if (!from || !to)
		return from ? NAMEPAIR_FIRST : to ? NAMEPAIR_TWIN : NAMEPAIR_NEITHER;
	if (from + p->from_bytes == to + to_bytes)
		return p->from_bytes > to_bytes ? NAMEPAIR_FIRST : NAMEPAIR_TWIN;
	return from + p->from_bytes > to + to_bytes ? NAMEPAIR_FIRST : NAMEPAIR_TWIN;
}

int namepair_twin(const struct namepair *p, const char *path, char *out, size_t size)
{
	const char *from = last_of(path, p->from, p->from_bytes);
	int n;

	if (!from)
		return -EINVAL;
	n = snprintf(out, size, "%.*s%s%s", (int)(from - path), path, p->to, from + p->from_bytes);
	return n >= 0 && (size_t)n < size ? n : -ENAMETOOLONG;
}
