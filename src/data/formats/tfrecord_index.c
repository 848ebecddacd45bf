/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_index.c - the records of a TFRecord file by the index that lies beside it. */
#include "data/formats/formats.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "data/file/file.h"

/*
 * A line "OFFSET LENGTH" for each record, with all that is around its data, as DALI's tfrecord2idx
 * and DLIO write it: FILE.idx, or FILE with .idx for its suffix, or of DIR/train/FILE
 * DIR/index/train/FILE.idx. One that does not follow the file from its first byte to its last is of
 * another file; then the file itself is gone through.
 */
enum { FRAME_BYTES = 16, HEAD_BYTES = 12, WAYS = 3 };

/* Of the way that a path leads: so many of its last names. */
static const char *last_names(const char *path, unsigned count)
{
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || --count > 0))
		at--;
	return at;
}

static bool name_index(char *out, size_t size, const char *path, unsigned way)
{
	const char *name = last_names(path, 1), *dot = strrchr(name, '.');
	const char *folder = last_names(path, 2);
	int n;

	if (way == 0)
		n = snprintf(out, size, "%s.idx", path);
	else if (way == 1)
		n = dot ? snprintf(out, size, "%.*s.idx", (int)(dot - path), path) : -1;
	else
		n = snprintf(out, size, "%.*sindex/%s.idx", (int)(folder - path), path, folder);
	return n > 0 && (size_t)n < size;
}

bool tfrecord_beside(const char *path, unsigned i, char *out, size_t size)
{
	if (i < WAYS && !name_index(out, size, path, i))
		*out = '\0';
	return i < WAYS;
}

/* True: the lines follow the file, and `take` has had the end of each record. */
static bool tfrecord_index_follow(struct look *l, FILE *f,
				  int (*take)(struct look *l, uint64_t end))
{
	uint64_t at = 0, off, bytes;

	while (fscanf(f, "%" SCNu64 " %" SCNu64, &off, &bytes) == 2) {
		if (off != at || bytes <= FRAME_BYTES || bytes > l->file_bytes - at)
			return false;
		at += bytes;
		if (take && take(l, at) != 0)
			return true; /* with an error, which is told */
	}
	return at == l->file_bytes && !ferror(f);
}

static int take_record(struct look *l, uint64_t end)
{
	l->samples++;
	return look_word(l, end);
}

/* The lengths of the first record in both. */
static bool is_of_file(struct look *l, FILE *f)
{
	const uint8_t *head = look_at(l, 0, HEAD_BYTES);
	uint64_t off, bytes;

	return head && tfrecord_is_length(head) &&
	       fscanf(f, "%" SCNu64 " %" SCNu64, &off, &bytes) == 2 && off == 0 &&
	       bytes == look_le(head, 8) + FRAME_BYTES;
}

bool tfrecord_by_index(struct look *l)
{
	char path[PATH_MAX];
	FILE *f = l->file_bytes > HEAD_BYTES ? look_index_open(l, tfrecord_beside, path) : NULL;
	bool follows;

	if (!f)
		return false;
	follows = is_of_file(l, f);
	rewind(f);
	follows = follows && tfrecord_index_follow(l, f, NULL);
	rewind(f);
	if (follows && tfrecord_index_follow(l, f, take_record))
		l->sample_bytes = l->file_bytes - l->samples * FRAME_BYTES;
	look_index_close(l, f);
	if (!follows)
		look_index_note(l, path, "does not follow %s from its first byte to its last",
				l->path);
	return follows;
}
