/* SPDX-License-Identifier: Apache-2.0 */
/* look.h - what a scan reads of one file (header, index, directory), so that its samples can be
 * found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/scan/scan.h"

struct format_options;

/* Numbers of a file that stay in memory; what they mean is the format's. */
#define LOOK_FACTS 6

/* The most that look_at gives at once. */
#define LOOK_BYTES 65536

/* So many places of a file that were read are remembered one by one. */
#define LOOK_RANGES 8

/*
 * One open file, of one thread. A format's `look` (format.h) reads what it needs by look_at, and
 * says how many samples there are, and where: by a few facts, and where those are not enough by
 * words, which go to a file without a name, so that memory does not grow with samples.
 *
 * The kernel is told not to read ahead, and what was read leaves the page cache again: nothing of
 * what is then measured was warmed.
 */
struct look {
	/* The file. */
	const char *path; /* for messages */
	int fd;
	uint64_t file_bytes;
	const struct format_options *options; /* the job's */
	struct mlgen_err *err;

	/* What is found; zero before. */
	uint64_t samples;
	uint64_t sample_bytes; /* payload of all of them */
	uint64_t facts[LOOK_FACTS];
	uint64_t word_count;
	uint64_t packed_most; /* of reads of compressed bytes, the largest */
	uint64_t words_at;    /* in their file: where its first word is */
	/* Of its index (look_index.h), where that is not as the file is: what is wrong with it. The
	 * file itself is looked at then. */
	struct mlgen_err note;

	/* look.c's own. */
	struct namefile *words;
	uint8_t *window; /* LOOK_BYTES */
	uint64_t window_off, read_bytes;
	size_t window_bytes;
	struct {
		uint64_t off, end;
	} ranges[LOOK_RANGES];
	unsigned range_count;
};

/* Its window and words are there for the files of one thread: 0, or -errno with err. look_fini
 * takes one that failed, and leaves the words. */
int look_init(struct look *l, struct namefile *words, struct mlgen_err *err);
void look_fini(struct look *l);

/* Opens a file of so many bytes, relative to a directory that is open; 0 or -errno with err. */
int look_open(struct look *l, int dir_fd, const char *name, const char *path, uint64_t file_bytes);
void look_close(struct look *l);

/*
 * So many bytes (at most LOOK_BYTES) at `off`, which are there until the next call; NULL with err
 * where the file ends before (-EINVAL, "cut off") or cannot be read (-errno): the code is in
 * err->code.
 */
const uint8_t *look_at(struct look *l, uint64_t off, size_t bytes);

/* The same of what does not fit, into the caller's memory: 0 or -errno. */
int look_copy(struct look *l, uint64_t off, void *to, uint64_t bytes);

/* One more word of this file: 0, or -errno with err. */
int look_word(struct look *l, uint64_t word);

/* What was found is forgotten, as after look_open. */
void look_again(struct look *l);

/* "PATH: at byte OFF: ...": what is wrong, and what would be right. -EINVAL. */
__attribute__((format(printf, 3, 4))) int look_fail(struct look *l, uint64_t off, const char *fmt,
						    ...);

/* Little-endian numbers in a file. */
static inline uint64_t look_le(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | at[bytes];
	return v;
}

static inline uint64_t look_be(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}
