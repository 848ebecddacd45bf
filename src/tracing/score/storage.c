/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - which of the filesystems that a trace names held what was read and written. */
#include "tracing/score/storage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"

/* A log beside the data, or a setting that is read, is no storage. */
#define COUNTS_PART 100

/* "\040" is a blank, as in /proc/self/mountinfo. */
static bool is_escape(const char *at)
{
	return at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
	       at[3] >= '0' && at[3] <= '7';
}

/* The second word. */
static char *point_of(const char *text)
{
	struct buf point = { 0 };
	const char *at = text + strcspn(text, " ");

	at += strspn(at, " ");
	while (*at && *at != ' ') {
		bool escaped = is_escape(at);

		buf_addc(&point,
			 escaped ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'))
				 : *at);
		at += escaped ? 4 : 1;
	}
	/* That of all others ends with the slash that paths begin with. */
	if (strcmp(buf_str(&point), "/") == 0)
		buf_reset(&point);
	return buf_take(&point);
}

void storage_add(struct storage *s, const char *text)
{
	if (s->count == STORAGE_MOUNTS)
		return;
	s->at[s->count++] = (struct storage_mount){
		.text = mem_strdup(text),
		.point = point_of(text),
	};
}

size_t storage_of(const struct storage *s, const char *path)
{
	size_t found = 0, longest = 0;

	if (*path != '/')
		return 0;
	for (size_t i = 0; i < s->count; i++) {
		size_t length = strlen(s->at[i].point);

		if (length >= longest && strncmp(path, s->at[i].point, length) == 0 &&
		    path[length] == '/') {
			longest = length;
			found = i + 1;
		}
	}
	return found;
}

void storage_moved(struct storage *s, size_t mount, uint64_t bytes)
{
	if (mount)
		s->at[mount - 1].bytes += bytes;
}

char *storage_text(const struct storage *s)
{
	const char *texts[STORAGE_MOUNTS] = { NULL };
	struct buf text = { 0 };
	uint64_t bytes = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		bytes += s->at[i].bytes;
	for (size_t i = 0; i < s->count; i++)
		if (s->at[i].bytes >= (bytes + COUNTS_PART - 1) / COUNTS_PART)
			texts[n++] = s->at[i].text;
	qsort(texts, n, sizeof(*texts), text_compare);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(texts[i], texts[i - 1]) != 0)
			buf_addf(&text, "%s%s", text.len ? ", " : "", texts[i]);
	if (text.len)
		return buf_take(&text);
	buf_fini(&text);
	return NULL;
}

void storage_fini(struct storage *s)
{
	for (size_t i = 0; i < s->count; i++) {
		mem_free(s->at[i].text);
		mem_free(s->at[i].point);
	}
	*s = (struct storage){ 0 };
}
